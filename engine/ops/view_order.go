package ops

import (
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
	"github.com/libtensor/libtensor/engine/warning"
)

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
	return view.Permute("permute", self, order...)
}

// Transpose swaps two dimensions.
func Transpose(out, self *tensor.Tensor, dim0, dim1 int64) (*tensor.Tensor, error) {
	return view.Transpose("transpose", out, self, dim0, dim1)
}

// TransposeMatrix swaps the dimensions of a matrix. Tensors of fewer dimensions are returned unchanged.
func TransposeMatrix(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.Dim() > 2 {
		return nil, status.Runtimef("t: expects a tensor with <= 2 dimensions, but self is %dD", self.Dim())
	}
	return view.Transpose("t", out, self, 0, -1)
}

// TransposeAll reverses the order of dimensions.
func TransposeAll(self *tensor.Tensor) (*tensor.Tensor, error) {
	if err := warnNotMatrix("T", self); err != nil {
		return nil, err
	}
	order := make([]int, self.Dim())
	for i := range order {
		order[i] = len(order) - 1 - i
	}
	return view.Permute("T", self, order...)
}

// warnNotMatrix warns of the transposition of a tensor that does not have two dimensions.
func warnNotMatrix(op string, self *tensor.Tensor) error {
	switch self.Dim() {
	case 0:
		instead := "use the tensor itself"
		if op != "T" && op != "mT" {
			instead = "use conj()"
		}
		return warning.TransposeZeroDims.Of(op, "deprecated for 0-dimensional tensors; %s", instead)
	case 2:
		return nil
	}
	return warning.TransposeNotTwo.Of(op, "deprecated for %dD tensors, whose dimensions it reverses; use mT to transpose a batch of matrices, or permute() to reorder dimensions",
		self.Dim())
}

// TransposeLast swaps the last two dimensions.
func TransposeLast(self *tensor.Tensor) (*tensor.Tensor, error) { return matrixTranspose("mT", self) }

// matrixTranspose swaps the last two dimensions. A zero-dim tensor is returned unchanged.
func matrixTranspose(op string, self *tensor.Tensor) (*tensor.Tensor, error) {
	switch self.Dim() {
	case 0:
		if err := warnNotMatrix(op, self); err != nil {
			return nil, err
		}
		return self.View(op, nil, nil, self.Offset())
	case 1:
		return nil, status.Runtimef("%s: only supported on matrices or batches of matrices, got 1-D tensor", op)
	}
	return view.Transpose(op, nil, self, -2, -1)
}

// Adjoint returns the conjugate of TransposeLast.
func Adjoint(self *tensor.Tensor) (*tensor.Tensor, error) { return transposeConjugate("adjoint", self) }

// AdjointMatrix is Adjoint of a matrix; a tensor without dimensions is its own.
func AdjointMatrix(self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.Dim() != 0 && self.Dim() != 2 {
		return nil, status.Runtimef("H: only supported on matrices (2-D tensors), got %d-D tensor; mH takes batches of matrices", self.Dim())
	}
	return transposeConjugate("H", self)
}

func transposeConjugate(op string, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(op)
	defer s.Close(&err)
	turned := s.Track(matrixTranspose(op, self))
	return s.ReturnNew(Conj(turned))
}

// Movedim moves one dimension.
func Movedim(self *tensor.Tensor, source, destination int64) (*tensor.Tensor, error) {
	return view.Movedim("movedim", self, []int64{source}, []int64{destination})
}

// MovedimList moves dimensions to new positions; the others keep their order.
func MovedimList(self *tensor.Tensor, source, destination []int64) (*tensor.Tensor, error) {
	return view.Movedim("movedim", self, source, destination)
}
