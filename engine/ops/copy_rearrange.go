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
	"github.com/libtensor/libtensor/engine/view"
)

// Repeat concatenates copies of self along every dimension. It adds leading dimensions if there are more repeats than dimensions.
func Repeat(self *tensor.Tensor, repeats []int64) (*tensor.Tensor, error) {
	return repeatTensor("repeat", self, repeats)
}

func repeatTensor(op string, self *tensor.Tensor, repeats []int64) (_ *tensor.Tensor, err error) {
	lead := len(repeats) - self.Dim()
	if lead < 0 {
		return nil, status.Runtimef("%s: number of dimensions of repeat dims %v can not be smaller than number of dimensions of tensor %v", op,
			repeats, self.Sizes())
	}
	// The copies are written through a view of the result that has a separate dimension for every repeat.
	sizes := make([]int64, len(repeats))
	var split, from []int64
	for i, n := range repeats {
		if n < 0 {
			return nil, status.Runtimef("%s: trying to create tensor with negative dimension: repeats %v", op, repeats)
		}
		size := int64(1)
		if i >= lead {
			size = self.Sizes()[i-lead]
		}
		var err error
		if sizes[i], err = shape.Larger(op, size, n, 0); err != nil {
			return nil, err
		}
		split, from = append(split, n, size), append(from, 1, size)
	}
	if _, err := shape.Numel(op, sizes); err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	out := s.newEmpty(self, self.DType(), sizes...)
	if out.Numel() > 0 {
		s.copyTensor(s.Track(view.Reshape(op, out, split)), s.Track(view.Reshape(op, self, from)))
	}
	return s.Return(out)
}

// RepeatInterleave returns every position of the vector repeats, repeated by the count there.
func RepeatInterleave(repeats *tensor.Tensor, outputSize Int) (_ *tensor.Tensor, err error) {
	const op = "repeat_interleave"
	switch {
	case repeats.Dim() != 1:
		return nil, status.Runtimef("%s: only accept 1D vector as repeat, but got shape %v", op, repeats.Sizes())
	case !repeats.DType().IsIntegral():
		return nil, status.NotImplementedf("%s: repeats must be integers, but have dtype %v", op, repeats.DType())
	}
	s := newScope(op)
	defer s.Close(&err)
	times := s.copyContiguous(repeats, dtype.Int64)
	counts, err := backend.Ints(op, times)
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for _, n := range counts {
		if n < 0 {
			return nil, status.Runtimef("%s: repeats can not be negative, but got %d", op, n)
		}
		if total += n; total < 0 {
			return nil, status.Runtimef("%s: the sum of repeats overflows a 64-bit integer", op)
		}
	}
	if !outputSize.IsNone() && int64(outputSize) != total {
		return nil, status.Runtimef("%s: allocated size %d does not match required size %d", op, int64(outputSize), total)
	}
	index := s.newEmpty(repeats, dtype.Int64, total)
	s.Check(backend.WriteInts(op, index, func(to []int64) {
		for i, n := range counts {
			for k := range to[:n] {
				to[k] = int64(i)
			}
			to = to[n:]
		}
	}))
	if repeats.DType() != dtype.Int64 {
		index = s.copyContiguous(index, repeats.DType())
	}
	return s.Return(index)
}

// Flip reverses the order of positions in the listed dimensions.
func Flip(self *tensor.Tensor, dims []int64) (*tensor.Tensor, error) {
	return flipDims("flip", self, dims)
}

func flipDims(op string, self *tensor.Tensor, dims []int64) (_ *tensor.Tensor, err error) {
	mask, err := shape.WrapDims(op, dims, self.Dim(), false)
	if err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	out := s.Track(emptyLike(op, self, self.DType(), self.Device(), shape.Preserve))
	s.Check(backend.On(out).Copy(op, backend.Copying{To: out, From: self, Flipped: mask}))
	return s.Return(out)
}

// Roll shifts elements along dimensions, by default of the flattened tensor; elements that leave at the end reappear at the start.
func Roll(self *tensor.Tensor, shifts, dims []int64) (_ *tensor.Tensor, err error) {
	s := newScope("roll")
	defer s.Close(&err)
	by, flat, err := RollShifts(self, shifts, dims)
	switch {
	case err != nil:
		return nil, err
	case flat:
		return s.Return(s.reshapeTo(s.rollTensor(s.reshapeTo(self, self.Numel()), by), self.Sizes()...))
	}
	return s.Return(s.rollTensor(self, by))
}

// RollShifts are by how many positions, from 0 on, roll moves each dimension, or the only one of the flattened tensor.
func RollShifts(self *tensor.Tensor, shifts, dims []int64) (by []int64, flat bool, err error) {
	const op = "roll"
	sizes := self.Sizes()
	switch {
	case len(dims) == 0 && len(shifts) == 1:
		sizes, dims, flat = []int64{self.Numel()}, []int64{0}, true
	case len(shifts) == 0 || len(shifts) != len(dims):
		return nil, false, status.Runtimef("%s: shifts and dimensions must align. shifts: %d, dims: %d", op, len(shifts), len(dims))
	case self.Dim() == 0:
		return nil, false, status.Indexf("%s: dimension specified as %d but tensor has no dimensions", op, dims[0])
	}
	by = make([]int64, len(sizes))
	for i, dim := range dims {
		d, err := shape.WrapDim(op, dim, len(sizes))
		if err != nil {
			return nil, false, err
		}
		if n := sizes[d]; n > 0 {
			by[d] = (by[d] + shifts[i]%n + n) % n
		}
	}
	return by, flat, nil
}

// rollTensor returns t shifted along each dimension.
func (s *scope) rollTensor(t *tensor.Tensor, by []int64) *tensor.Tensor {
	strides, err := shape.FormatStrides(s.Op, t.Sizes(), shape.SuggestFormat(t.Sizes(), t.Strides()))
	s.Check(err)
	out := s.Track(tensor.EmptyStrided(s.Op, t.Sizes(), strides, t.DType(), t.Device()))
	if t.Numel() > 0 {
		s.copyRolled(out, t, by)
	}
	return out
}

// copyRolled copies block by block: along each dimension the shifted block, and the block that wraps around to the start.
func (s *scope) copyRolled(to, from *tensor.Tensor, by []int64) {
	d := slices.IndexFunc(by, func(n int64) bool { return n != 0 })
	if d < 0 {
		s.copyTensor(to, from)
		return
	}
	rest := slices.Clone(by)
	rest[d] = 0
	n, first := from.Sizes()[d], by[d]
	s.copyRolled(s.narrowRange(to, d, first, n-first), s.narrowRange(from, d, 0, n-first), rest)
	s.copyRolled(s.narrowRange(to, d, 0, first), s.narrowRange(from, d, n-first, first), rest)
}

// Tril keeps the elements on and below a diagonal of matrices and zeroes the others.
func Tril(out, self *tensor.Tensor, diagonal int64) (*tensor.Tensor, error) {
	return copyTriangle("tril", out, self, diagonal, false)
}

// Triu keeps the elements on and above a diagonal of matrices and zeroes the others.
func Triu(out, self *tensor.Tensor, diagonal int64) (*tensor.Tensor, error) {
	return copyTriangle("triu", out, self, diagonal, true)
}

// copyTriangle copies self and zeroes the elements below a diagonal, or above it.
func copyTriangle(op string, out, self *tensor.Tensor, diagonal int64, below bool) (_ *tensor.Tensor, err error) {
	if self.Dim() < 2 {
		return nil, status.Runtimef("%s: input tensor must have at least 2 dimensions, but got %d", op, self.Dim())
	}
	s := newScope(op)
	defer s.Close(&err)
	if out == self {
		s.Check(tensoriter.Writable(op, out))
	}
	work := self
	if out != self || !out.IsContiguous() {
		work = s.copyContiguous(self, self.DType())
	}
	s.Check(backend.On(work).Triangle(op, backend.Triangle{To: work, Diagonal: diagonal, Below: below}))
	if work == out {
		return out, nil
	}
	return s.writeResult(out, work)
}

// ConstantPadNd adds a border of one value, or crops if a width is negative; widths are pairs, with the last dimension first.
func ConstantPadNd(self *tensor.Tensor, pad []int64, value dtype.Scalar) (_ *tensor.Tensor, err error) {
	const op = "constant_pad_nd"
	if len(pad)%2 != 0 || len(pad) > 2*self.Dim() {
		return nil, status.Runtimef("%s: length of pad must be even and no more than twice the number of dimensions of the input, but got %v for %d dimensions",
			op, pad, self.Dim())
	}
	sizes, grows := slices.Clone(self.Sizes()), false
	inner, offset := slices.Clone(self.Sizes()), self.Offset()
	shift := int64(0) // elements of the result before the first copied one
	begins := make([]int64, self.Dim())
	for i := range len(pad) / 2 {
		d := self.Dim() - 1 - i
		before, after := pad[2*i], pad[2*i+1]
		sizes[d] += before + after
		if sizes[d] < 0 {
			return nil, status.Runtimef("%s: the input size %d, plus negative padding %d and %d, resulted in a negative output size for dimension %d",
				op, self.Sizes()[d], before, after, d)
		}
		inner[d] += min(before, 0) + min(after, 0)
		offset -= min(before, 0) * self.Strides()[d]
		begins[d] = max(before, 0)
		grows = grows || before > 0 || after > 0
	}
	f := shape.SuggestFormat(self.Sizes(), self.Strides())
	strides, err := shape.FormatStrides(op, sizes, f)
	if err = cmp.Or(err, checkFits(op, value, self.DType())); err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	if !grows { // the copy of a part, laid out as that is
		part := s.Track(self.View(op, sizes, self.Strides(), offset))
		return s.ReturnNew(Clone(part, shape.Preserve))
	}
	out := s.Track(tensor.EmptyStrided(op, sizes, strides, self.DType(), self.Device()))
	s.Check(fillWith(out, value))
	if out.Numel() == 0 || slices.ContainsFunc(inner, func(n int64) bool { return n <= 0 }) {
		return s.Return(out)
	}
	for d, begin := range begins {
		shift += begin * strides[d]
	}
	s.copyTensor(s.Track(out.View(op, inner, strides, shift)), s.Track(self.View(op, inner, self.Strides(), offset)))
	return s.Return(out)
}
