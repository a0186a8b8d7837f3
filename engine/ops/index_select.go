package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// fitsBeside refuses an index that is longer than self anywhere but in dimension d, along which it names positions.
func fitsBeside(op string, self, index *tensor.Tensor, d int) error {
	if max(self.Dim(), 1) != max(index.Dim(), 1) {
		return status.Runtimef("%s: index tensor must have the same number of dimensions as input tensor, got %d and %d", op, index.Dim(), self.Dim())
	}
	for i := range index.Sizes() {
		if i != d && index.Sizes()[i] > sizeAt(self, i) {
			return status.Runtimef("%s: size does not match at dimension %d: expected index %v to be no larger than self %v apart from dimension %d", op, i, index.Sizes(), self.Sizes(), d)
		}
	}
	return nil
}

// Gather reads, for every position of index, the element of self at that position but for dimension dim, where the
// index says which.
func Gather(out, self *tensor.Tensor, dim int64, index *tensor.Tensor, _ bool) (*tensor.Tensor, error) {
	return gather("gather", out, self, dim, index, false)
}

// gather is Gather for other operators; wrap lets negative positions count from the end.
func gather(op string, out, self *tensor.Tensor, dim int64, index *tensor.Tensor, wrap bool) (*tensor.Tensor, error) {
	if err := oneDevice(op, self, index); err != nil {
		return nil, err
	}
	d, err := shape.WrapDim(op, dim, self.Dim())
	if err != nil {
		return nil, err
	}
	if index.Numel() > 0 {
		if err := wantIndex(op, index, true); err != nil {
			return nil, err
		}
		if err := fitsBeside(op, self, index, d); err != nil {
			return nil, err
		}
	}
	at, err := positions(op, index, sizeAt(self, d), wrap, runtimeError(op, d, sizeAt(self, d)))
	if err != nil {
		return nil, err
	}
	defer at.Release()
	to, err := target(op, out, index.Sizes(), self.DType(), self.Device(), self, index)
	if err != nil || to.IsMeta() || to.Numel() == 0 {
		return to, err
	}
	return made(to, out, readAlong(op, to, self, d, at))
}

// readAlong gathers along dimension d; index, of the shape of to, holds positions.
func readAlong(op string, to, self *tensor.Tensor, d int, index *tensor.Tensor) error {
	if self.Dim() != index.Dim() { // one of them has no dimensions, the other a single one
		if self.Dim() == 1 {
			one := &indexed{step: self.Strides()[0], size: self.Sizes()[0], index: index}
			return one.read(op, to, self)
		}
		flat, err := view.AtLeast1d(op, self)
		if err != nil {
			return err
		}
		defer flat.Release()
		self = flat
	}
	return placeAlong(self, d, index).read(op, to, self)
}

// vector refuses an index of more than one dimension.
func vector(op string, index *tensor.Tensor) error {
	if index.Dim() > 1 {
		return status.Indexf("%s: index is supposed to be a vector (0 or 1 dimensions), but got shape %v", op, index.Sizes())
	}
	return nil
}

// IndexSelect picks positions of a dimension.
func IndexSelect(out, self *tensor.Tensor, dim int64, index *tensor.Tensor) (*tensor.Tensor, error) {
	const op = "index_select"
	if err := oneDevice(op, self, index); err != nil {
		return nil, err
	}
	d, err := shape.WrapDim(op, dim, self.Dim())
	if err != nil {
		return nil, err
	}
	if err := vector(op, index); err != nil {
		return nil, err
	}
	if err := wantIndex(op, index, true); err != nil {
		return nil, err
	}
	sizes := slices.Clone(self.Sizes())
	if self.Dim() > 0 {
		sizes[d] = index.Numel()
	} else if index.Numel() != 1 {
		return nil, status.Runtimef("%s: index to scalar can have only 1 value, got %d values", op, index.Numel())
	}
	at, err := positions(op, index, sizeAt(self, d), false, indexError(op, d, sizeAt(self, d)))
	if err != nil {
		return nil, err
	}
	defer at.Release()
	full, err := view.Along(op, at, sizes, d)
	if err != nil {
		return nil, err
	}
	defer full.Release()
	to, err := target(op, out, sizes, self.DType(), self.Device(), self, index)
	if err != nil || to.IsMeta() || to.Numel() == 0 {
		return to, err
	}
	return made(to, out, readAlong(op, to, self, d, full))
}

// Take reads elements by their row-major numbers.
func Take(out, self, index *tensor.Tensor) (*tensor.Tensor, error) {
	const op = "take"
	if err := oneDevice(op, self, index); err != nil {
		return nil, err
	}
	if err := wantIndex(op, index, false); err != nil {
		return nil, err
	}
	if self.Numel() == 0 && index.Numel() > 0 {
		return nil, status.Indexf("%s: cannot do a non-empty take() from an empty tensor", op)
	}
	at, err := positions(op, index, self.Numel(), true, func(i int64) error {
		return status.Indexf("%s: out of range: tried to access index %d on a tensor of %d elements", op, i, self.Numel())
	})
	if err != nil {
		return nil, err
	}
	defer at.Release()
	flat, err := reshape(op, self, []int64{self.Numel()})
	if err != nil {
		return nil, err
	}
	defer flat.Release()
	to, err := target(op, out, index.Sizes(), self.DType(), self.Device(), self, index)
	if err != nil || to.IsMeta() {
		return to, err
	}
	return made(to, out, flattened(flat, at).read(op, to, flat))
}

// flattened is indexed for an index of any shape into a one-dimensional tensor.
func flattened(self, index *tensor.Tensor) *indexed {
	return &indexed{sizes: index.Sizes(), strides: make([]int64, index.Dim()), step: self.Strides()[0], size: self.Numel(), index: index}
}

// TakeAlongDim gathers along a dimension with broadcasting; without a dimension from the flattened tensor.
func TakeAlongDim(out, self, indices *tensor.Tensor, dim Int) (*tensor.Tensor, error) {
	const op = "take_along_dim"
	if err := oneDevice(op, self, indices); err != nil {
		return nil, err
	}
	if err := wantIndex(op, indices, false); err != nil {
		return nil, err
	}
	if dim.IsNone() {
		flat, err := reshape(op, self, []int64{self.Numel()})
		if err != nil {
			return nil, err
		}
		defer flat.Release()
		index, err := reshape(op, indices, []int64{indices.Numel()})
		if err != nil {
			return nil, err
		}
		defer index.Release()
		return gather(op, out, flat, 0, index, true)
	}
	if self.Dim() != indices.Dim() {
		return nil, status.Runtimef("%s: input and indices should have the same number of dimensions, but got %d dimensions for input, and %d dimensions for indices", op, self.Dim(), indices.Dim())
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
	from, err := view.Expand(op, self, common)
	if err != nil {
		return nil, err
	}
	defer from.Release()
	common[d] = indices.Sizes()[d]
	index, err := view.Expand(op, indices, common)
	if err != nil {
		return nil, err
	}
	defer index.Release()
	return gather(op, out, from, int64(d), index, true)
}
