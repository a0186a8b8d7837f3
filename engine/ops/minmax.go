package ops

import (
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

var (
	amaxOf    = newReducer("amax")
	aminOf    = newReducer("amin")
	aminmaxOf = newReducer("aminmax")
	argmaxOf  = newReducer("argmax")
	argminOf  = newReducer("argmin")
)

// checkNotEmpty refuses to reduce over dimensions without elements: such a reduction has no identity.
func checkNotEmpty(op string, t *tensor.Tensor, mask []bool, all bool) error {
	if t.Numel() != 0 {
		return nil
	}
	if all {
		return status.Runtimef("%s: expected reduction dim to be specified for input.numel() == 0; specify the reduction dim with the 'dim' argument", op)
	}
	for d, reduced := range mask {
		if reduced && t.Sizes()[d] == 0 {
			return status.Indexf("%s: expected reduction dim %d to have non-zero size", op, d)
		}
	}
	return nil
}

// wantOrder is the error for operators that need an order.
func wantOrder(op string, t *tensor.Tensor) error {
	if t.DType().IsComplex() {
		return status.NotImplementedf("%s: not implemented for %v; complex numbers have no order", op, t.DType())
	}
	return nil
}

// extremeDims marks the dimensions that an operator takes extremes over.
func extremeDims(op string, self *tensor.Tensor, dim []int64) ([]bool, error) {
	if err := wantOrder(op, self); err != nil {
		return nil, err
	}
	mask, err := shape.WrapDims(op, dim, self.Dim(), true)
	if err != nil {
		return nil, err
	}
	return mask, checkNotEmpty(op, self, mask, len(dim) == 0)
}

func extreme(op string, r reducer, out, self *tensor.Tensor, dim []int64, keepdim bool) (*tensor.Tensor, error) {
	mask, err := extremeDims(op, self, dim)
	if err != nil {
		return nil, err
	}
	if err := sameDType(op, out, self.DType()); err != nil {
		return nil, err
	}
	return r.reduce(op, out, self, mask, keepdim, self.DType(), self.DType())
}

// Amax is the largest element over dim; NaN where there is one.
func Amax(out, self *tensor.Tensor, dim []int64, keepdim bool) (*tensor.Tensor, error) {
	return extreme("amax", amaxOf, out, self, dim, keepdim)
}

// Amin is the smallest element over dim; NaN where there is one.
func Amin(out, self *tensor.Tensor, dim []int64, keepdim bool) (*tensor.Tensor, error) {
	return extreme("amin", aminOf, out, self, dim, keepdim)
}

// Max is the largest of all elements.
func Max(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	return extreme("max", amaxOf, out, self, nil, false)
}

// Min is the smallest of all elements.
func Min(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	return extreme("min", aminOf, out, self, nil, false)
}

// Aminmax is Amin and Amax over one dimension or all.
func Aminmax(outMin, outMax, self *tensor.Tensor, dim Int, keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	const op = "aminmax"
	var dims []int64
	if !dim.IsNone() {
		dims = []int64{int64(dim)}
	}
	if err := typeOrdered(op, self); err != nil {
		return nil, nil, err
	}
	mask, err := extremeDims(op, self, dims)
	if err != nil {
		return nil, nil, err
	}
	d := self.DType()
	lo, hi, err := pairOutput(op, outMin, outMax, self, reducedSizes(self.Sizes(), mask, keepdim), d)
	if err != nil || lo.IsMeta() {
		return lo, hi, err
	}
	return madeTwo(lo, hi, outMin, outMax, aminmaxOf.run(op, d.Compute(), [2]*tensor.Tensor{lo, hi}, self, mask))
}

// located reduces one dimension to values and the indices where they are.
func located(op string, r reducer, outValues, outIndices, self *tensor.Tensor, dim int64, keepdim bool) (values, indices *tensor.Tensor, err error) {
	if err := typeOrdered(op, self); err != nil {
		return nil, nil, err
	}
	mask, err := oneDim(op, self, Int(dim))
	if err != nil {
		return nil, nil, err
	}
	if err := checkNotEmpty(op, self, mask, false); err != nil {
		return nil, nil, err
	}
	values, indices, err = pairOutput(op, outValues, outIndices, self, reducedSizes(self.Sizes(), mask, keepdim), dtype.Int64)
	if err != nil || values.IsMeta() {
		return values, indices, err
	}
	return madeTwo(values, indices, outValues, outIndices, r.run(op, self.DType().Compute(), [2]*tensor.Tensor{values, indices}, self, mask))
}

// checkPair refuses outputs that cannot take a result of self's dtype and one of dtype d, each of the given sizes.
func checkPair(op string, outFirst, outSecond, self *tensor.Tensor, sizes []int64, d dtype.DType) error {
	if err := sameDType(op, outFirst, self.DType()); err != nil {
		return err
	}
	if err := sameDType(op, outSecond, d); err != nil {
		return err
	}
	return apart(op, outFirst, outSecond, sizes)
}

// pairOutput makes the outputs of an operator that gives one result of self's dtype and one of dtype d.
func pairOutput(op string, outFirst, outSecond, self *tensor.Tensor, sizes []int64, d dtype.DType) (first, second *tensor.Tensor, err error) {
	if err := checkPair(op, outFirst, outSecond, self, sizes, d); err != nil {
		return nil, nil, err
	}
	if err := checkReduction(op, outSecond, sizes, d, self); err != nil {
		return nil, nil, err
	}
	if first, err = reductionOutput(op, outFirst, sizes, self.DType(), self); err != nil {
		return nil, nil, err
	}
	if second, err = reductionOutput(op, outSecond, sizes, d, self); err != nil {
		first, err = made(first, outFirst, err)
	}
	return first, second, err
}

// MaxDim gives the largest elements along dim and the index of the first of each.
func MaxDim(outValues, outIndices, self *tensor.Tensor, dim int64, keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return located("max", argmaxOf, outValues, outIndices, self, dim, keepdim)
}

// MinDim gives the smallest elements along dim and the index of the first of each.
func MinDim(outValues, outIndices, self *tensor.Tensor, dim int64, keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return located("min", argminOf, outValues, outIndices, self, dim, keepdim)
}

func argument(op string, r reducer, out, self *tensor.Tensor, dim Int, keepdim bool) (*tensor.Tensor, error) {
	if self.DType().IsComplex() {
		return nil, status.Typef("%s: does not support complex input, got %v", op, self.DType())
	}
	if self.DType() == dtype.Bool {
		return nil, status.NotImplementedf("%s: does not support bool input", op)
	}
	mask, err := oneDim(op, self, dim)
	if err != nil {
		return nil, err
	}
	if self.Numel() == 0 && dim.IsNone() {
		return nil, status.Indexf("%s: expected reduction dim to be specified for input.numel() == 0", op)
	}
	if err := checkNotEmpty(op, self, mask, false); err != nil {
		return nil, err
	}
	if err := sameDType(op, out, dtype.Int64); err != nil {
		return nil, err
	}
	s := within(op)
	defer s.Close()
	from := self
	if dim.IsNone() {
		from = s.cast(self, self.DType()) // indices count elements in row-major order
	}
	to := s.destination(out, reducedSizes(self.Sizes(), mask, keepdim), dtype.Int64, dtype.Int64, anyStrides, self)
	if s.Err == nil && !self.IsMeta() {
		s.Err = r.run(op, self.DType().Compute(), [2]*tensor.Tensor{nil, to.at}, from, mask)
	}
	return s.deliver(to)
}

// Argmax is the index of the first largest element along dim, or of all elements in row-major order.
func Argmax(out, self *tensor.Tensor, dim Int, keepdim bool) (*tensor.Tensor, error) {
	return argument("argmax", argmaxOf, out, self, dim, keepdim)
}

// Argmin is the index of the first smallest element along dim, or of all elements in row-major order.
func Argmin(out, self *tensor.Tensor, dim Int, keepdim bool) (*tensor.Tensor, error) {
	return argument("argmin", argminOf, out, self, dim, keepdim)
}
