package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Tensordot multiplies and sums over the last dims dimensions of self and the first of other.
func Tensordot(out, self, other *tensor.Tensor, dims int64) (*tensor.Tensor, error) {
	if dims < 0 || dims > int64(self.Dim()) || dims > int64(other.Dim()) {
		return nil, status.Runtimef("tensordot: dims must be between 0 and the operands' numbers of dimensions, %d and %d, but got %d", self.Dim(), other.Dim(), dims)
	}
	from, to := make([]int64, dims), make([]int64, dims)
	for i := range dims {
		from[i], to[i] = int64(self.Dim())-dims+i, i
	}
	return TensordotDims(out, self, other, from, to)
}

// TensordotDims multiplies and sums over pairs of dimensions of self and other.
func TensordotDims(out, self, other *tensor.Tensor, dimsSelf, dimsOther []int64) (*tensor.Tensor, error) {
	if len(dimsSelf) != len(dimsOther) {
		return nil, status.Runtimef("tensordot: both dimension lists should have same length, got %v and %v", dimsSelf, dimsOther)
	}
	if self.DType() != other.DType() {
		return nil, status.Runtimef("tensordot: both inputs should have same dtype, got %v and %v", self.DType(), other.DType())
	}
	maskA, err := shape.WrapDims("tensordot", dimsSelf, self.Dim(), false)
	if err != nil {
		return nil, err
	}
	maskB, err := shape.WrapDims("tensordot", dimsOther, other.Dim(), false)
	if err != nil {
		return nil, err
	}
	a, b := self, other
	var inA, inB []int
	depth := int64(1)
	aloneA, aloneB := make([]bool, a.Dim()), make([]bool, b.Dim())
	for i := range dimsSelf {
		da, _ := shape.WrapDim("tensordot", dimsSelf[i], a.Dim())
		db, _ := shape.WrapDim("tensordot", dimsOther[i], b.Dim())
		if a.Dim() == 0 || b.Dim() == 0 {
			return nil, status.Indexf("tensordot: dimensions specified as %d of self and %d of other, but a tensor has no dimensions: self has %d, other has %d",
				dimsSelf[i], dimsOther[i], a.Dim(), b.Dim())
		}
		inA, inB = append(inA, da), append(inB, db)
		sa, sb := a.Sizes()[da], b.Sizes()[db]
		switch {
		case sa == sb:
			depth *= sa
		case sa == 1:
			aloneB[db] = true
		case sb == 1:
			aloneA[da] = true
		default:
			return nil, status.Runtimef("tensordot: contracted dimensions need to match, but self has size %d in dim %d and other has size %d in dim %d", sa, da, sb, db)
		}
	}
	s := &scope{op: "tensordot"}
	defer s.close()
	// A size of 1 is broadcast: the other side is summed first.
	a, b = s.keep(sumOut(a, aloneA, a.DType())), s.keep(sumOut(b, aloneB, b.DType()))
	if s.err != nil {
		return nil, s.err
	}
	freeA, sizesA := freeDims(a, maskA)
	freeB, sizesB := freeDims(b, maskB)
	rows, cols := shape.Product(sizesA), shape.Product(sizesB)
	left := s.reshape(s.permute(a, slices.Concat(freeA, inA)...), rows, depth)
	right := s.reshape(s.permute(b, slices.Concat(inB, freeB)...), depth, cols)
	if s.err != nil {
		return nil, s.err
	}
	product := s.keep(matrixProduct("tensordot", nil, nil, left, right, []int64{rows, cols}, unscale, zero))
	return s.result(out, s.reshape(product, slices.Concat(sizesA, sizesB)...))
}

// freeDims lists the dimensions of t outside mask, and their sizes.
func freeDims(t *tensor.Tensor, mask []bool) (dims []int, sizes []int64) {
	for d, s := range t.Sizes() {
		if !mask[d] {
			dims, sizes = append(dims, d), append(sizes, s)
		}
	}
	return dims, sizes
}

// Inner multiplies and sums over the last dimensions of self and other; a zero-dim operand scales the other.
func Inner(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	if self.Dim() == 0 || other.Dim() == 0 {
		return Mul(out, self, other)
	}
	a, b := self.Sizes(), other.Sizes()
	if a[len(a)-1] != b[len(b)-1] {
		return nil, status.Runtimef("inner: the last dimension must match on both input tensors but got shapes %v and %v", a, b)
	}
	return TensordotDims(out, self, other, []int64{-1}, []int64{-1})
}
