package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// permuted is a view whose dimension i is self's dimension order[i].
func permuted(op string, self *tensor.Tensor, order ...int) (*tensor.Tensor, error) {
	sizes, strides := make([]int64, len(order)), make([]int64, len(order))
	for i, d := range order {
		sizes[i], strides[i] = self.Sizes()[d], self.Strides()[d]
	}
	return self.View(op, sizes, strides, self.Offset())
}

// Permute reorders all dimensions.
func Permute(self *tensor.Tensor, dims []int64) (*tensor.Tensor, error) {
	if len(dims) != self.Dim() {
		return nil, status.Runtimef("permute: the number of dimensions in the tensor input does not match the length of the desired ordering of dimensions, i.e. %d is not equal to %d",
			self.Dim(), len(dims))
	}
	if _, err := shape.WrapDims("permute", dims, self.Dim(), false); err != nil {
		return nil, err
	}
	order := make([]int, len(dims))
	for i, dim := range dims {
		order[i], _ = shape.WrapDim("permute", dim, self.Dim())
	}
	return permuted("permute", self, order...)
}

// Transpose swaps two dimensions.
func Transpose(out, self *tensor.Tensor, dim0, dim1 int64) (*tensor.Tensor, error) {
	a, err := shape.WrapDim("transpose", dim0, self.Dim())
	if err != nil {
		return nil, err
	}
	b, err := shape.WrapDim("transpose", dim1, self.Dim())
	if err != nil {
		return nil, err
	}
	sizes, strides := slices.Clone(self.Sizes()), slices.Clone(self.Strides())
	if len(sizes) > 0 {
		sizes[a], sizes[b] = sizes[b], sizes[a]
		strides[a], strides[b] = strides[b], strides[a]
	}
	return regeometry("transpose", out, self, sizes, strides, self.Offset())
}

// TransposeMatrix swaps the dimensions of a matrix; tensors of fewer dimensions stay as they are.
func TransposeMatrix(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.Dim() > 2 {
		return nil, status.Runtimef("t: expects a tensor with <= 2 dimensions, but self is %dD", self.Dim())
	}
	return Transpose(out, self, 0, -1)
}

// TransposeAll reverses the order of dimensions.
func TransposeAll(self *tensor.Tensor) (*tensor.Tensor, error) {
	order := make([]int, self.Dim())
	for i := range order {
		order[i] = len(order) - 1 - i
	}
	return permuted("T", self, order...)
}

// TransposeLast swaps the last two dimensions.
func TransposeLast(self *tensor.Tensor) (*tensor.Tensor, error) {
	switch self.Dim() {
	case 0:
		return self.Alias(), nil
	case 1:
		return nil, status.Runtimef("mT: only supported on matrices or batches of matrices, got 1-D tensor")
	}
	return Transpose(nil, self, -2, -1)
}

// AdjointLast is the conjugate of TransposeLast; for complex dtypes a copy.
func AdjointLast(self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.Dim() == 1 {
		return nil, status.Runtimef("mH: only supported on matrices or batches of matrices, got 1-D tensor")
	}
	return adjoint(self)
}

// AdjointMatrix is AdjointLast of a matrix; a tensor without dimensions is its own.
func AdjointMatrix(self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.Dim() != 0 && self.Dim() != 2 {
		return nil, status.Runtimef("H: only supported on matrices (2-D tensors), got %d-D tensor", self.Dim())
	}
	return adjoint(self)
}

func adjoint(self *tensor.Tensor) (*tensor.Tensor, error) {
	view := self.Alias()
	if self.Dim() >= 2 {
		view.Release()
		var err error
		if view, err = Transpose(nil, self, -2, -1); err != nil {
			return nil, err
		}
	}
	defer view.Release()
	return Conj(view)
}

// Movedim moves one dimension.
func Movedim(self *tensor.Tensor, source, destination int64) (*tensor.Tensor, error) {
	return MovedimList(self, []int64{source}, []int64{destination})
}

// MovedimList moves dimensions to new places; the others keep their order.
func MovedimList(self *tensor.Tensor, source, destination []int64) (*tensor.Tensor, error) {
	if len(source) != len(destination) {
		return nil, status.Runtimef("movedim: invalid source or destination dims: source (%v) should contain the same number of dims as destination (%v)", source, destination)
	}
	moved, err := shape.WrapDims("movedim", source, self.Dim(), false)
	if err != nil {
		return nil, err
	}
	taken, err := shape.WrapDims("movedim", destination, self.Dim(), false)
	if err != nil {
		return nil, err
	}
	order := make([]int, self.Dim())
	if self.Dim() == 0 {
		return self.Alias(), nil
	}
	for i := range source {
		from, _ := shape.WrapDim("movedim", source[i], self.Dim())
		to, _ := shape.WrapDim("movedim", destination[i], self.Dim())
		order[to] = from
	}
	next := 0
	for d := range order {
		if taken[d] {
			continue
		}
		for moved[next] {
			next++
		}
		order[d] = next
		next++
	}
	return permuted("movedim", self, order...)
}
