package cuda

import (
	"unsafe"

	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// selectionBlock is kPiece of kernels/selecting.h.
const selectionBlock = 128

func countBlocks(n int64) int64 { return (n + selectionBlock - 1) / selectionBlock }

// computePrefixSums replaces each of n int64 numbers by the sum of those before it.
func (s *launchSequence) computePrefixSums(data uintptr, n int64) {
	p := prefix{data: data, n: n}
	if pieces := countBlocks(n); pieces > 1 {
		p.sums = s.allocateTemporary(8 * pieces)
		launchStep(s, kernels.Alone("sum_pieces"), pieces, &p)
		s.computePrefixSums(p.sums, pieces)
	}
	launchStep(s, kernels.Alone("prefix_pieces"), countBlocks(n), &p)
}

// countSelected returns the number of selected elements of a contiguous mask before each of its blocks, and in total.
func (s *launchSequence) countSelected(mask *tensor.Tensor) (m masks, total int64) {
	m = masks{mask: uintptr(mask.Data()), n: mask.Numel()}
	pieces := countBlocks(m.n)
	m.starts = s.allocateTemporary(8 * (pieces + 1))
	s.zeroBytes(m.starts, 8*(pieces+1))
	launchStep(s, kernels.Alone("mask_count"), pieces, &m)
	s.computePrefixSums(m.starts, pieces+1)
	return m, s.readInt64(m.starts + uintptr(8*pieces))
}

// selectMasked takes the elements whose mask is set, or numbers them. It waits for the mask, to know how many there are.
func selectMasked(op string, w backend.Selection) (_ *tensor.Tensor, err error) {
	d, entry := dtype.Int64, kernels.Alone("mask_positions")
	if w.From != nil {
		d = w.From.DType()
		entry = kernels.Wide("mask_take", d.Size())
	}
	if w.Mask.Numel() == 0 {
		return tensor.Empty(op, []int64{0}, d, w.Mask.Device())
	}
	sc := owner.Scope{Op: op}
	defer sc.Close(&err)
	var out *tensor.Tensor
	sc.Check(withLaunches(op, w.Mask.Device(), func(s *launchSequence) {
		m, total := s.countSelected(w.Mask)
		if s.err != nil {
			return
		}
		out = sc.Track(tensor.Empty(op, []int64{total}, d, w.Mask.Device()))
		if total == 0 {
			return
		}
		m.to = uintptr(out.Data())
		if w.From != nil {
			m.from = uintptr(w.From.Data())
		}
		launchStep(s, entry, countBlocks(m.n), &m)
	}))
	return sc.Return(out)
}

// scatterMasked writes values where a mask is set.
func scatterMasked(op string, w backend.Placement) error {
	if w.Mask.Numel() == 0 {
		return w.Fits(0)
	}
	return withLaunches(op, w.To.Device(), func(s *launchSequence) {
		m, total := s.countSelected(w.Mask)
		if s.err == nil {
			s.err = w.Fits(total)
		}
		if s.err != nil || total == 0 {
			return
		}
		m.from, m.to = uintptr(w.Values.Data()), uintptr(w.To.Data())
		launchStep(s, kernels.Wide("mask_give", w.To.DType().Size()), countBlocks(m.n), &m)
	})
}

const maxCoordinates = 64

// unravelIndices turns row-major numbers into coordinates.
func unravelIndices(op string, w backend.Coordinates) error {
	c := coordinates{n: w.Numbers.Numel(), dims: int64(len(w.Sizes)), step: 8, total: shape.Product(w.Sizes)}
	switch {
	case c.n == 0 || c.dims == 0:
		return nil
	case c.dims > maxCoordinates:
		return status.NotImplementedf("%s is not implemented on cuda for more than %d dimensions; move the tensors to the cpu", op,
			maxCoordinates)
	}
	c.numbers = uintptr(w.Numbers.Data())
	copy(c.sizes[:], w.Sizes)
	for d := range w.Sizes {
		if w.To == nil {
			c.columns[d] = uintptr(w.Columns[d].Data())
		} else {
			c.columns[d] = uintptr(w.To.Data()) + uintptr(8*int64(d)*w.To.Strides()[1])
		}
	}
	if w.To != nil {
		c.step = 8 * w.To.Strides()[0]
	}
	return withCurrentStream(op, w.Numbers.Device(), func(m *deviceStream) error {
		return launchEntry(m, op, kernels.Alone("unravel"), c.n, &c)
	})
}

// pointerTo returns where bytes begin.
func pointerTo(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
