package ops

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// View returns self another shape without copying.
func View(self *tensor.Tensor, size []int64) (*tensor.Tensor, error) {
	seen, err := view.Reshape("view", self, size)
	if seen == nil && err == nil {
		return nil, status.Runtimef("view: size %v is not compatible with the input tensor's size %v and stride %v (at least one dimension spans across two contiguous subspaces); use reshape()",
			size, self.Sizes(), self.Strides())
	}
	return seen, err
}

// ViewDtype reads the same bytes as elements of another dtype.
func ViewDtype(self *tensor.Tensor, d dtype.DType) (*tensor.Tensor, error) {
	return view.DType("view", self, d)
}

// Detach returns another tensor over the same memory.
func Detach(self *tensor.Tensor) (*tensor.Tensor, error) {
	t := self.Alias()
	t.SetDetached()
	return t, nil
}

// Reshape returns self another shape, copying only where no view has it.
func Reshape(self *tensor.Tensor, size []int64) (*tensor.Tensor, error) {
	return reshapeTensor("reshape", self, size)
}

// ReshapeAs is Reshape to the shape of other.
func ReshapeAs(self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return reshapeTensor("reshape_as", self, other.Sizes())
}

// Flatten joins dimensions start to end into one.
func Flatten(self *tensor.Tensor, start, end int64) (*tensor.Tensor, error) {
	s, err := shape.WrapDim("flatten", start, self.Dim())
	if err != nil {
		return nil, err
	}
	e, err := shape.WrapDim("flatten", end, self.Dim())
	if err != nil {
		return nil, err
	}
	if s > e {
		return nil, status.Runtimef("flatten: start_dim %d cannot come after end_dim %d", start, end)
	}
	if self.Dim() == 0 {
		return reshapeTensor("flatten", self, []int64{1})
	}
	if s == e {
		return self.Alias(), nil
	}
	flat := int64(1)
	for _, size := range self.Sizes()[s : e+1] {
		if flat, err = shape.Larger("flatten", flat, size, 0); err != nil {
			return nil, err
		}
	}
	sizes := slices.Concat(self.Sizes()[:s], []int64{flat}, self.Sizes()[e+1:])
	return reshapeTensor("flatten", self, sizes)
}

// Unflatten splits dimension dim into several.
func Unflatten(self *tensor.Tensor, dim int64, sizes []int64) (*tensor.Tensor, error) {
	if self.Dim() == 0 {
		return nil, status.Indexf("unflatten: a tensor without dimensions has none to split")
	}
	d, err := shape.WrapDim("unflatten", dim, self.Dim())
	if err != nil {
		return nil, err
	}
	if len(sizes) == 0 {
		return nil, status.Runtimef("unflatten: sizes must be non-empty")
	}
	inner, err := shape.InferSize("unflatten", sizes, self.Sizes()[d])
	if err != nil {
		return nil, status.Runtimef("unflatten: provided sizes %v don't multiply up to the size of dim %d (%d) in the input tensor", sizes, d,
			self.Sizes()[d])
	}
	return reshapeTensor("unflatten", self, slices.Concat(self.Sizes()[:d], inner, self.Sizes()[d+1:]))
}

// Ravel returns a contiguous one-dimensional tensor of the elements.
func Ravel(self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope("ravel")
	defer s.Close(&err)
	ordered := s.castRowMajor(self, self.DType())
	return s.ReturnNew(ordered.View(s.Op, []int64{ordered.Numel()}, []int64{1}, ordered.Offset()))
}

// Expand repeats dimensions of size 1, and adds leading ones, without copying.
func Expand(self *tensor.Tensor, size []int64, _ bool) (*tensor.Tensor, error) {
	return view.Expand("expand", self, size)
}

// BroadcastTo is Expand under its array API name.
func BroadcastTo(self *tensor.Tensor, size []int64) (*tensor.Tensor, error) {
	return view.Expand("broadcast_to", self, size)
}

// Squeeze drops all dimensions of size 1.
func Squeeze(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	return dropDims(out, self, func(int) bool { return true })
}

// SqueezeDim drops one dimension if its size is 1.
func SqueezeDim(out, self *tensor.Tensor, dim int64) (*tensor.Tensor, error) {
	d, err := shape.WrapDim("squeeze", dim, self.Dim())
	if err != nil {
		return nil, err
	}
	return dropDims(out, self, func(i int) bool { return i == d })
}

// SqueezeDims drops those of the listed dimensions whose size is 1.
func SqueezeDims(out, self *tensor.Tensor, dims []int64) (*tensor.Tensor, error) {
	mask, err := shape.WrapDims("squeeze", dims, self.Dim(), false)
	if err != nil {
		return nil, err
	}
	return dropDims(out, self, func(i int) bool { return mask[i] })
}

func dropDims(out, self *tensor.Tensor, drop func(d int) bool) (*tensor.Tensor, error) {
	return view.Squeeze("squeeze", out, self, drop)
}

// Unsqueeze inserts a dimension of size 1 at dim.
func Unsqueeze(out, self *tensor.Tensor, dim int64) (*tensor.Tensor, error) {
	return view.Unsqueeze("unsqueeze", out, self, dim)
}

// Select views one position of a dimension.
func Select(self *tensor.Tensor, dim, index int64) (*tensor.Tensor, error) {
	return view.Select("select", self, dim, index)
}

// Slice views part of a dimension.
func Slice(self *tensor.Tensor, dim int64, start, end Int, step int64) (*tensor.Tensor, error) {
	return view.Slice("slice", self, dim, start.Or(0), end.Or(math.MaxInt64), step)
}

// Narrow views length positions of a dimension from start.
func Narrow(self *tensor.Tensor, dim, start, length int64) (*tensor.Tensor, error) {
	return view.Narrow("narrow", self, dim, start, length)
}

// Unfold views all windows of a dimension; the positions in a window become the last dimension.
func Unfold(self *tensor.Tensor, dim, size, step int64) (*tensor.Tensor, error) {
	return view.Unfold("unfold", self, dim, size, step)
}

// Diagonal views a diagonal of dimensions dim1 and dim2; it becomes the last dimension.
func Diagonal(self *tensor.Tensor, offset, dim1, dim2 int64) (*tensor.Tensor, error) {
	return view.Diagonal("diagonal", self, offset, dim1, dim2)
}

// AsStrided views self's storage with any geometry.
func AsStrided(out, self *tensor.Tensor, size, stride []int64, offset Int) (*tensor.Tensor, error) {
	return view.In("as_strided", out, self, shape.Geometry{Sizes: size, Strides: stride, Offset: offset.Or(self.Offset())})
}
