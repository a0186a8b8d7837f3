package ops

import (
	"cmp"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// checkIndexSizes returns an error for an index that is longer than self in a dimension other than d, along which it contains positions.
func checkIndexSizes(op string, self, index *tensor.Tensor, d int) error {
	if max(self.Dim(), 1) != max(index.Dim(), 1) {
		return status.Runtimef("%s: index tensor must have the same number of dimensions as input tensor, got %d and %d", op, index.Dim(),
			self.Dim())
	}
	for i := range index.Sizes() {
		if i != d && index.Sizes()[i] > sizeAt(self, i) {
			return status.Runtimef("%s: size does not match at dimension %d: expected index %v to be no larger than self %v apart from dimension %d",
				op, i, index.Sizes(), self.Sizes(), d)
		}
	}
	return nil
}

// Gather returns, for every position of index, the element of self at that position, with the coordinate in dimension dim replaced by the
// value of index.
func Gather(out, self *tensor.Tensor, dim int64, index *tensor.Tensor, _ bool) (*tensor.Tensor, error) {
	return gatherAlong("gather", out, self, dim, index, false)
}

// gatherAlong is Gather for other operators. With wrap, negative positions count from the end.
func gatherAlong(op string, out, self *tensor.Tensor, dim int64, index *tensor.Tensor, wrap bool) (_ *tensor.Tensor, err error) {
	d, err := shape.WrapDim(op, dim, self.Dim())
	if err = cmp.Or(checkSameDevice(op, self, index), err); err != nil {
		return nil, err
	}
	if index.Numel() > 0 {
		if err := cmp.Or(requireIndex(op, index, true), checkIndexSizes(op, self, index, d)); err != nil {
			return nil, err
		}
	}
	s := newScope(op)
	defer s.Close(&err)
	size, outOfRange := sizeAt(self, d), outOfDimRuntime{op, d, sizeAt(self, d)}
	var at *tensor.Tensor
	var check *backend.Bounds
	// A fresh result may be written to before all of the index has been seen, where it takes no more memory than the index does.
	if out == nil && self.Numel() > 0 && shape.IsDense(index.Sizes(), index.Strides()) {
		at = s.toInt64Index(index)
		check = &backend.Bounds{Index: at, Size: size, Wrap: wrap, OutOfRange: outOfRange}
	} else {
		at, check = s.takePositions(self, index, size, wrap, outOfRange)
	}
	return s.readInto(out, self, index, index.Sizes(), func(to *tensor.Tensor) { s.readAlong(to, self, d, at, check) })
}

// readInto returns the result of fill, which reads from self, in a tensor of the given sizes: out, if it does not overlap self and index,
// or a new one.
func (s *scope) readInto(out, self, index *tensor.Tensor, sizes []int64, fill func(to *tensor.Tensor)) (*tensor.Tensor, error) {
	to := tensoriter.Output{Op: s.Op, Out: out, Sizes: sizes, DType: self.DType(), Device: self.Device(), Exact: true}
	s.Check(to.Open(self, index))
	return to.Done(s.Try(func() { fill(to.To) }))
}

// readAlong gathers along dimension d; index, of the shape of to, holds positions, which check is to be found true of.
func (s *scope) readAlong(to, self *tensor.Tensor, d int, index *tensor.Tensor, check *backend.Bounds) {
	if to.Numel() == 0 {
		return
	}
	if self.Dim() == 1 && index.Dim() != 1 { // which has no dimensions
		one := &indexed{step: self.Strides()[0], size: self.Sizes()[0], index: index, check: check}
		one.readIndexed(s, to, self)
		return
	}
	if self.Dim() != index.Dim() { // self has none, the index a single one
		self = s.viewVector(self)
	}
	at := newIndexedAlong(self, d, index)
	at.check = check
	at.readIndexed(s, to, self)
}

// checkVector returns an error for an index of more than one dimension.
func checkVector(op string, index *tensor.Tensor) error {
	if index.Dim() > 1 {
		return status.Indexf("%s: index is supposed to be a vector (0 or 1 dimensions), but got shape %v", op, index.Sizes())
	}
	return nil
}

// IndexSelect picks positions of a dimension.
func IndexSelect(out, self *tensor.Tensor, dim int64, index *tensor.Tensor) (_ *tensor.Tensor, err error) {
	const op = "index_select"
	if err := checkSameDevice(op, self, index); err != nil {
		return nil, err
	}
	d, err := shape.WrapDim(op, dim, self.Dim())
	if err = cmp.Or(err, checkVector(op, index), requireIndex(op, index, true)); err != nil {
		return nil, err
	}
	sizes := slices.Clone(self.Sizes())
	if self.Dim() > 0 {
		sizes[d] = index.Numel()
	} else if index.Numel() != 1 {
		return nil, status.Runtimef("%s: index to scalar can have only 1 value, got %d values", op, index.Numel())
	}
	s := newScope(op)
	defer s.Close(&err)
	size := sizeAt(self, d)
	at, check := s.takePositions(self, index, size, false, outOfDim{op, d, size})
	full := s.viewAlong(at, sizes, d)
	return s.readInto(out, self, index, sizes, func(to *tensor.Tensor) { s.readAlong(to, self, d, full, check) })
}

// Take reads elements by their row-major numbers.
func Take(out, self, index *tensor.Tensor) (_ *tensor.Tensor, err error) {
	const op = "take"
	if err := cmp.Or(checkSameDevice(op, self, index), requireIndex(op, index, false)); err != nil {
		return nil, err
	}
	if self.Numel() == 0 && index.Numel() > 0 {
		return nil, status.Indexf("%s: cannot do a non-empty take() from an empty tensor", op)
	}
	s := newScope(op)
	defer s.Close(&err)
	at, check := s.takePositions(self, index, self.Numel(), true, outOfElements{op, self.Numel()})
	flat := s.reshapeTo(self, self.Numel())
	return s.readInto(out, self, index, index.Sizes(), func(to *tensor.Tensor) { newFlatIndexed(flat, at, check).readIndexed(s, to, flat) })
}

// newFlatIndexed returns an indexed for an index of any shape into a one-dimensional tensor.
func newFlatIndexed(self, index *tensor.Tensor, check *backend.Bounds) *indexed {
	return &indexed{sizes: index.Sizes(), strides: make([]int64, index.Dim()), step: self.Strides()[0], size: self.Numel(), index: index,
		check: check}
}

// TakeAlongDim gathers along a dimension with broadcasting; without a dimension from the flattened tensor.
func TakeAlongDim(out, self, indices *tensor.Tensor, dim Int) (_ *tensor.Tensor, err error) {
	const op = "take_along_dim"
	if err := cmp.Or(checkSameDevice(op, self, indices), requireIndex(op, indices, false)); err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	if dim.IsNone() {
		flat, index := s.reshapeTo(self, self.Numel()), s.reshapeTo(indices, indices.Numel())
		return s.ReturnNew(gatherAlong(op, out, flat, 0, index, true))
	}
	if self.Dim() != indices.Dim() {
		return nil, status.Runtimef("%s: input and indices should have the same number of dimensions, but got %d dimensions for input, and %d dimensions for indices",
			op, self.Dim(), indices.Dim())
	}
	d, err := shape.WrapDim(op, int64(dim), self.Dim())
	if err != nil {
		return nil, err
	}
	if self.Dim() == 0 {
		return nil, status.Indexf("%s: dimension specified as %d but tensor has no dimensions", op, int64(dim))
	}
	a, b := slices.Clone(self.Sizes()), slices.Clone(indices.Sizes())
	a[d], b[d] = 1, 1
	common, err := shape.Broadcast(op, a, b)
	if err != nil {
		return nil, err
	}
	common[d] = self.Sizes()[d]
	from := s.expandTo(self, common)
	common[d] = indices.Sizes()[d]
	index := s.expandTo(indices, common)
	return s.ReturnNew(gatherAlong(op, out, from, int64(d), index, true))
}
