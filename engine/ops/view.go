package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// regeometry gives self another geometry over its storage: in a new view, or, in place, in out, which is self.
func regeometry(op string, out, self *tensor.Tensor, sizes, strides []int64, offset int64) (*tensor.Tensor, error) {
	if out != nil {
		return out, out.SetGeometry(op, sizes, strides, offset)
	}
	return self.View(op, sizes, strides, offset)
}

// View gives self another shape without copying.
func View(self *tensor.Tensor, size []int64) (*tensor.Tensor, error) {
	sizes, err := shape.InferSize("view", size, self.Numel())
	if err != nil {
		return nil, err
	}
	strides, ok := shape.ViewStrides(self.Sizes(), self.Strides(), sizes)
	if !ok {
		return nil, status.Runtimef("view: size %v is not compatible with the input tensor's size %v and stride %v (at least one dimension spans across two contiguous subspaces); use reshape()",
			size, self.Sizes(), self.Strides())
	}
	return self.View("view", sizes, strides, self.Offset())
}

// ViewDtype reads the same bytes as elements of another dtype.
func ViewDtype(self *tensor.Tensor, d dtype.DType) (*tensor.Tensor, error) {
	if d == dtype.None {
		return nil, status.Typef("view: a dtype is required")
	}
	from, to := self.DType().Size(), d.Size()
	sizes, strides, offset := slices.Clone(self.Sizes()), slices.Clone(self.Strides()), self.Offset()
	last := len(sizes) - 1
	if from != to {
		switch {
		case last < 0:
			return nil, status.Runtimef("view: self.dim() cannot be 0 to view %v as %v (different element sizes)", self.DType(), d)
		case strides[last] != 1:
			return nil, status.Runtimef("view: self.stride(-1) must be 1 to view %v as %v (different element sizes), but got %d", self.DType(), d, strides[last])
		}
	}
	if from > to {
		ratio := from / to
		for i := range last {
			strides[i] *= ratio
		}
		sizes[last] *= ratio
		offset *= ratio
	} else if from < to {
		ratio := to / from
		if sizes[last]%ratio != 0 {
			return nil, status.Runtimef("view: self.size(-1) must be divisible by %d to view %v as %v (different element sizes), but got %d", ratio, self.DType(), d, sizes[last])
		}
		if offset%ratio != 0 {
			return nil, status.Runtimef("view: self.storage_offset() must be divisible by %d to view %v as %v (different element sizes), but got %d", ratio, self.DType(), d, offset)
		}
		for i := range last {
			if strides[i]%ratio != 0 {
				return nil, status.Runtimef("view: self.stride(%d) must be divisible by %d to view %v as %v (different element sizes), but got %d", i, ratio, self.DType(), d, strides[i])
			}
			strides[i] /= ratio
		}
		sizes[last] /= ratio
		offset /= ratio
	}
	if data := uintptr(self.Storage().Data()); data%uintptr(alignOf(d)) != 0 {
		return nil, status.Runtimef("view: the storage is not aligned to the %d bytes that elements of %v need; clone() it first", alignOf(d), d)
	}
	return tensor.New("view", self.Storage(), d, sizes, strides, offset)
}

// reshape is Reshape for other operators.
func reshape(op string, self *tensor.Tensor, size []int64) (*tensor.Tensor, error) {
	sizes, err := shape.InferSize(op, size, self.Numel())
	if err != nil {
		return nil, err
	}
	if strides, ok := shape.ViewStrides(self.Sizes(), self.Strides(), sizes); ok {
		return self.View(op, sizes, strides, self.Offset())
	}
	flat, err := cloned(op, self, self.DType(), self.Device(), shape.Contiguous)
	if err != nil {
		return nil, err
	}
	return flat, flat.SetGeometry(op, sizes, shape.ContiguousStrides(sizes), 0)
}

// Reshape gives self another shape, copying only where no view has it.
func Reshape(self *tensor.Tensor, size []int64) (*tensor.Tensor, error) {
	return reshape("reshape", self, size)
}

// ReshapeAs is Reshape to the shape of other.
func ReshapeAs(self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return reshape("reshape_as", self, other.Sizes())
}

// ViewAs is View of the shape of other.
func ViewAs(self, other *tensor.Tensor) (*tensor.Tensor, error) { return View(self, other.Sizes()) }

// Detach is another tensor over the same memory.
func Detach(self *tensor.Tensor) (*tensor.Tensor, error) { return self.Alias(), nil }

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
		return reshape("flatten", self, []int64{1})
	}
	if s == e {
		return self.Alias(), nil
	}
	sizes := slices.Concat(self.Sizes()[:s], []int64{shape.Product(self.Sizes()[s : e+1])}, self.Sizes()[e+1:])
	return reshape("flatten", self, sizes)
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
		return nil, status.Runtimef("unflatten: provided sizes %v don't multiply up to the size of dim %d (%d) in the input tensor", sizes, d, self.Sizes()[d])
	}
	return reshape("unflatten", self, slices.Concat(self.Sizes()[:d], inner, self.Sizes()[d+1:]))
}

// Ravel is a contiguous one-dimensional tensor of the elements.
func Ravel(self *tensor.Tensor) (*tensor.Tensor, error) {
	flat, err := Contiguous(self, shape.Contiguous)
	if err != nil {
		return nil, err
	}
	return flat, flat.SetGeometry("ravel", []int64{flat.Numel()}, []int64{1}, flat.Offset())
}

// AsStrided views self's storage with any geometry.
func AsStrided(out, self *tensor.Tensor, size, stride []int64, offset Int) (*tensor.Tensor, error) {
	return regeometry("as_strided", out, self, size, stride, offset.Or(self.Offset()))
}

// expand is Expand for other operators.
func expand(op string, self *tensor.Tensor, size []int64) (*tensor.Tensor, error) {
	if len(size) < self.Dim() {
		return nil, status.Runtimef("%s: the number of sizes provided (%d) must be greater or equal to the number of dimensions in the tensor (%d); sizes %v, tensor %v",
			op, len(size), self.Dim(), size, self.Sizes())
	}
	sizes, strides := slices.Clone(size), make([]int64, len(size))
	shift := len(size) - self.Dim()
	for i := len(size) - 1; i >= 0; i-- {
		have := int64(1)
		if i >= shift {
			have, strides[i] = self.Sizes()[i-shift], self.Strides()[i-shift]
		} else {
			strides[i] = 1
			if i+1 < len(size) {
				strides[i] = sizes[i+1] * strides[i+1]
			}
		}
		switch {
		case size[i] == -1 && i >= shift:
			sizes[i] = have
		case size[i] < 0:
			return nil, status.Runtimef("%s: the expanded size %d isn't allowed in dimension %d of %v; only -1, in an existing dimension, may be negative", op, size[i], i, size)
		case size[i] != have:
			if have != 1 {
				return nil, status.Runtimef("%s: the expanded size of the tensor (%d) must match the existing size (%d) at non-singleton dimension %d; target sizes %v, tensor sizes %v",
					op, size[i], have, i, size, self.Sizes())
			}
			strides[i] = 0
		}
	}
	return self.View(op, sizes, strides, self.Offset())
}

// Expand repeats dimensions of size 1, and adds leading ones, without copying.
func Expand(self *tensor.Tensor, size []int64, _ bool) (*tensor.Tensor, error) {
	return expand("expand", self, size)
}

// ExpandAs is Expand to the shape of other.
func ExpandAs(self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return expand("expand_as", self, other.Sizes())
}

// BroadcastTo is Expand under its array API name.
func BroadcastTo(self *tensor.Tensor, size []int64) (*tensor.Tensor, error) {
	return expand("broadcast_to", self, size)
}

// Squeeze drops all dimensions of size 1.
func Squeeze(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	return squeeze(out, self, func(int) bool { return true })
}

// SqueezeDim drops one dimension if its size is 1.
func SqueezeDim(out, self *tensor.Tensor, dim int64) (*tensor.Tensor, error) {
	d, err := shape.WrapDim("squeeze", dim, self.Dim())
	if err != nil {
		return nil, err
	}
	return squeeze(out, self, func(i int) bool { return i == d })
}

// SqueezeDims drops those of the listed dimensions whose size is 1.
func SqueezeDims(out, self *tensor.Tensor, dims []int64) (*tensor.Tensor, error) {
	mask, err := shape.WrapDims("squeeze", dims, self.Dim(), false)
	if err != nil {
		return nil, err
	}
	return squeeze(out, self, func(i int) bool { return mask[i] })
}

func squeeze(out, self *tensor.Tensor, drop func(int) bool) (*tensor.Tensor, error) {
	var sizes, strides []int64
	for i, s := range self.Sizes() {
		if s != 1 || !drop(i) {
			sizes, strides = append(sizes, s), append(strides, self.Strides()[i])
		}
	}
	return regeometry("squeeze", out, self, sizes, strides, self.Offset())
}

// Unsqueeze inserts a dimension of size 1 at dim.
func Unsqueeze(out, self *tensor.Tensor, dim int64) (*tensor.Tensor, error) {
	d, err := shape.WrapDim("unsqueeze", dim, self.Dim()+1)
	if err != nil {
		return nil, err
	}
	stride := int64(1)
	if d < self.Dim() {
		stride = self.Sizes()[d] * self.Strides()[d]
	}
	return regeometry("unsqueeze", out, self, slices.Insert(slices.Clone(self.Sizes()), d, 1), slices.Insert(slices.Clone(self.Strides()), d, stride), self.Offset())
}
