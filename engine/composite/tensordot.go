package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Tensordot multiplies and sums over the last dims dimensions of self and the first of other.
func Tensordot(c dispatch.Context, out, self, other *tensor.Tensor, dims int64) (*tensor.Tensor, error) {
	if dims < 0 || dims > int64(self.Dim()) || dims > int64(other.Dim()) {
		return nil, status.Runtimef("tensordot: dims must be between 0 and the operands' numbers of dimensions, %d and %d, but got %d",
			self.Dim(), other.Dim(), dims)
	}
	from, to := make([]int64, dims), make([]int64, dims)
	for i := range dims {
		from[i], to[i] = int64(self.Dim())-dims+i, i
	}
	return c.TensordotDims(out, self, other, from, to)
}

// TensordotDims multiplies and sums over pairs of dimensions of self and other.
func TensordotDims(c dispatch.Context, out, self, other *tensor.Tensor, dimsSelf, dimsOther []int64) (_ *tensor.Tensor, err error) {
	if len(dimsSelf) != len(dimsOther) {
		return nil, status.Runtimef("tensordot: both dimension lists should have same length, got %v and %v", dimsSelf, dimsOther)
	}
	if self.DType() != other.DType() {
		return nil, status.Runtimef("tensordot: both inputs should have same dtype, got %v and %v", self.DType(), other.DType())
	}
	if len(dimsSelf) > 0 && (self.Dim() == 0 || other.Dim() == 0) {
		return nil, status.Indexf("tensordot: dims are %v and %v, but an operand is 0-dimensional", dimsSelf, dimsOther)
	}
	maskA, err := shape.WrapDims("tensordot", dimsSelf, self.Dim(), false)
	if err != nil {
		return nil, err
	}
	maskB, err := shape.WrapDims("tensordot", dimsOther, other.Dim(), false)
	if err != nil {
		return nil, err
	}
	x, y := self, other
	var inA, inB, aloneA, aloneB []int64
	depth := int64(1)
	for i := range dimsSelf {
		da, _ := shape.WrapDim("tensordot", dimsSelf[i], x.Dim())
		db, _ := shape.WrapDim("tensordot", dimsOther[i], y.Dim())
		inA, inB = append(inA, int64(da)), append(inB, int64(db))
		sa, sb := x.Sizes()[da], y.Sizes()[db]
		switch {
		case sa == sb:
			depth *= sa
		case sa == 1:
			aloneB = append(aloneB, int64(db))
		case sb == 1:
			aloneA = append(aloneA, int64(da))
		default:
			return nil,
				status.Runtimef("tensordot: contracted dimensions need to match, but self has size %d in dim %d and other has size %d in dim %d", sa,
					da, sb, db)
		}
	}
	b := build.New(c, "tensordot")
	defer b.Close(&err)
	// A size of 1 is broadcast: the other side is summed first.
	x, y = sumDims(b, x, aloneA, x.DType()), sumDims(b, y, aloneB, y.DType())
	freeA, sizesA := unmaskedDims(x, maskA)
	freeB, sizesB := unmaskedDims(y, maskB)
	rows, cols := shape.Product(sizesA), shape.Product(sizesB)
	left := b.AsShape(b.ReorderDims(x, slices.Concat(freeA, inA)...), rows, depth)
	right := b.AsShape(b.ReorderDims(y, slices.Concat(inB, freeB)...), depth, cols)
	product := b.Mm(left, right)
	return build.WriteResult(b, out, b.AsShape(product, slices.Concat(sizesA, sizesB)...))
}

// Inner multiplies and sums over the last dimensions of self and other; a zero-dim operand scales the other.
func Inner(c dispatch.Context, out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	if self.Dim() == 0 || other.Dim() == 0 {
		return c.Mul(out, self, other)
	}
	a, b := self.Sizes(), other.Sizes()
	if a[len(a)-1] != b[len(b)-1] {
		return nil, status.Runtimef("inner: the last dimension must match on both input tensors but got shapes %v and %v", a, b)
	}
	return c.TensordotDims(out, self, other, []int64{-1}, []int64{-1})
}
