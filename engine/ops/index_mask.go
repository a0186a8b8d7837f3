package ops

import (
	"cmp"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
	"github.com/libtensor/libtensor/engine/warning"
)

// flatNonzero lists the row-major numbers of t's elements that are not zero.
func (s *scope) flatNonzero(t *tensor.Tensor) *tensor.Tensor {
	mask := s.castRowMajor(t, dtype.Bool)
	return s.Track(backend.On(mask).Select(s.Op, backend.Selection{Mask: mask}))
}

// nonzeroColumns lists the positions of t's elements that are not zero, one tensor for each dimension.
func (s *scope) nonzeroColumns(t *tensor.Tensor) []*tensor.Tensor {
	flat := s.flatNonzero(t)
	if t.Dim() == 1 {
		return []*tensor.Tensor{flat}
	}
	columns := make([]*tensor.Tensor, t.Dim())
	for d := range columns {
		columns[d] = s.newEmpty(flat, dtype.Int64, flat.Sizes()...)
	}
	s.Check(backend.On(flat).Unravel(s.Op, backend.Coordinates{Numbers: flat, Sizes: t.Sizes(), Columns: columns}))
	return columns
}

// Nonzero lists the positions of the elements that are not zero, a row for each.
func Nonzero(out, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope("nonzero")
	defer s.Close(&err)
	flat := s.flatNonzero(self)
	// As in PyTorch, the coordinates of one dimension are adjacent in the result.
	rows, sizes, strides := flat, []int64{flat.Numel(), int64(self.Dim())}, []int64{1, flat.Numel()}
	if self.Dim() == 1 {
		s.Check(rows.SetGeometry(s.Op, sizes, strides, 0))
	} else {
		rows = s.Track(tensor.EmptyStrided(s.Op, sizes, strides, dtype.Int64, self.Device()))
		s.Check(backend.On(flat).Unravel(s.Op, backend.Coordinates{Numbers: flat, Sizes: self.Sizes(), To: rows}))
	}
	return s.writeResult(out, rows, self)
}

// NonzeroNumpy lists the positions of the elements that are not zero, a tensor for each dimension.
func NonzeroNumpy(self *tensor.Tensor) (_ []*tensor.Tensor, err error) {
	s := newScope("nonzero")
	defer s.Close(&err)
	places := s.viewVector(self)
	return s.ReturnAll(s.nonzeroColumns(places))
}

// outOfShape is the error of unravel_index.
type outOfShape struct {
	sizes string
	total int64
}

func (e outOfShape) At(i int64) error {
	return status.Valuef("unravel_index: index %d is out of bounds for shape %s with %d elements", i, e.sizes, e.total)
}

// UnravelIndex turns row-major numbers into coordinates, a tensor for each dimension of shape.
func UnravelIndex(indices *tensor.Tensor, sizes []int64) (_ []*tensor.Tensor, err error) {
	const op = "unravel_index"
	if !indices.DType().IsIntegral() {
		return nil, status.Typef("%s: expected integer indices, but got %v", op, indices.DType())
	}
	total, err := shape.Numel(op, sizes)
	if err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	order := shape.Permutation(indices.Sizes(), indices.Strides())
	turned := s.permuteDims(indices, order...)
	flat := s.copyContiguous(turned, dtype.Int64)
	s.Check(backend.On(flat).CheckBounds(op, backend.Bounds{Index: flat, Size: total, Wrap: true,
		OutOfRange: outOfShape{status.Textf("%v", sizes), total}}))
	// As in PyTorch, the coordinates of one index are adjacent, and the indices keep their layout.
	all := s.newEmpty(indices, dtype.Int64, append(slices.Clone(turned.Sizes()), int64(len(sizes)))...)
	rows := s.reshapeTo(all, indices.Numel(), int64(len(sizes)))
	s.Check(backend.On(flat).Unravel(op, backend.Coordinates{Numbers: flat, Sizes: sizes, To: rows}))
	back := make([]int, len(order)+1)
	for at, d := range append(order, len(order)) {
		back[d] = at
	}
	all = s.permuteDims(all, back...)
	return Unbind(all, -1)
}

// selectByMask gathers the elements of self for which mask, of the same shape, is true, in row-major order.
func (s *scope) selectByMask(self, mask *tensor.Tensor) *tensor.Tensor {
	set, from := s.castRowMajor(mask, dtype.Bool), s.castRowMajor(self, self.DType())
	return s.Track(backend.On(from, set).Select(s.Op, backend.Selection{Mask: set, From: from}))
}

// requireBool returns an error for masks of other dtypes than bool.
func requireBool(op string, mask *tensor.Tensor) error {
	if mask.DType() != dtype.Bool {
		return status.Runtimef("%s: only supports boolean masks, but got mask with dtype %v", op, mask.DType())
	}
	return nil
}

// MaskedSelect gathers the elements for which mask is true. The shapes broadcast.
func MaskedSelect(out, self, mask *tensor.Tensor) (_ *tensor.Tensor, err error) {
	const op = "masked_select"
	sizes, err := shape.Broadcast(op, self.Sizes(), mask.Sizes())
	if err = cmp.Or(checkSameDevice(op, self, mask), requireBool(op, mask), err); err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	return s.writeResult(out, s.selectByMask(s.expandTo(self, sizes), s.expandTo(mask, sizes)), self, mask)
}

// fillByMask writes the single element of value where mask, which broadcasts to self, is set.
func (s *scope) fillByMask(self, mask, value *tensor.Tensor) {
	if self.Numel() == 0 || !backend.Known(self) {
		return
	}
	to := s.viewRaw(self, self.Sizes(), self.Strides())
	var p backend.Params
	if value.DType() != self.DType() {
		p.Set(0, self.DType(), s.readItem(value))
	} else {
		bytes, err := backend.On(value).Read(s.Op, value)
		s.Check(err)
		copy(p[:], bytes) // bit for bit
	}
	s.Check(runElementwise(s.Op, maskedFillKernel, to.DType(), &p, to, mask))
}

// warnExpanded warns about an output with overlapping elements, of which only some are to be filled.
func warnExpanded(op string, out *tensor.Tensor) error {
	if !tensoriter.SelfOverlaps(out) {
		return nil
	}
	return warning.Expanded.Of(op+"_", "use of an in-place operator on an expanded tensor is deprecated: several of its elements share memory, so more elements than selected change; clone() the tensor before the operation")
}

// MaskedFill writes value where mask is set, to self in place or to a copy of it.
func MaskedFill(out, self, mask, value *tensor.Tensor) (_ *tensor.Tensor, err error) {
	const op = "masked_fill"
	if err := cmp.Or(checkDevice(op, self, mask), requireBool(op, mask)); err != nil {
		return nil, err
	}
	if value.Dim() != 0 {
		return nil, status.Runtimef("%s: only supports a 0-dimensional value tensor, but got tensor with %d dimension(s)", op, value.Dim())
	}
	v, err := fillValue(op, self, value)
	if err = cmp.Or(err, checkFits(op, v, self.DType())); err != nil {
		return nil, err
	}
	sizes, err := shape.Broadcast(op, self.Sizes(), mask.Sizes())
	if err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	if out == nil {
		to := s.copyContiguous(s.expandTo(self, sizes), self.DType())
		s.fillByMask(to, mask, value)
		return s.Return(to)
	}
	s.Check(cmp.Or(tensoriter.Fits(op, self, sizes), tensoriter.Fillable(op, out)))
	s.Check(warnExpanded(op, out))
	if !tensoriter.SameView(mask, out) {
		s.Check(tensoriter.Disjoint(op, out, mask))
	}
	s.fillByMask(out, mask, value)
	return out, nil
}

// MaskedScatter writes the elements of source, one after another, where mask is set.
func MaskedScatter(out, self, mask, source *tensor.Tensor) (_ *tensor.Tensor, err error) {
	const op = "masked_scatter"
	if err := cmp.Or(checkSameDevice(op, self, mask, source), requireBool(op, mask)); err != nil {
		return nil, err
	}
	if self.DType() != source.DType() {
		return nil, status.Runtimef("%s: expected self and source to have same dtypes but got %v and %v", op, self.DType(), source.DType())
	}
	sizes, err := shape.Broadcast(op, self.Sizes(), mask.Sizes())
	if err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	base := self
	if out == nil {
		base = s.expandTo(self, sizes)
	} else {
		s.Check(tensoriter.Fits(op, self, sizes))
	}
	return s.modifyOutput(out, base, tensoriter.Writable, shape.Contiguous, func(to *tensor.Tensor) {
		s.scatterByMask(to, s.expandTo(mask, sizes), source, func(set int64) error {
			if set > source.Numel() {
				return status.Runtimef("%s: expected mask to select at most the %d elements of source, but it selects %d", op, source.Numel(), set)
			}
			return nil
		})
	})
}

// scatterByMask writes the elements of source, one after another, where a mask of to's shape is set. fits rejects numbers of set elements
// that source is not for.
func (s *scope) scatterByMask(to, mask, source *tensor.Tensor, fits func(set int64) error) {
	set, values := s.castRowMajor(mask, dtype.Bool), s.castRowMajor(source, source.DType())
	work := s.castRowMajor(to, to.DType())
	values = s.copyIfShared(work, values)
	s.Check(backend.On(work).Place(s.Op, backend.Placement{To: work, Mask: set, Values: values, Fits: fits}))
	if work.Storage() != to.Storage() {
		s.copyTensor(to, work)
	}
}
