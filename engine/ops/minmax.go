package ops

import (
	"cmp"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

var (
	amaxOf    = reducer{kernelapi.Amax}
	aminOf    = reducer{kernelapi.Amin}
	aminmaxOf = reducer{kernelapi.Aminmax}
	argmaxOf  = reducer{kernelapi.Argmax}
	argminOf  = reducer{kernelapi.Argmin}
)

// checkNotEmpty returns an error for to reduce over dimensions without elements: such a reduction has no identity.
func checkNotEmpty(op string, t *tensor.Tensor, mask []bool, all bool) error {
	if t.Numel() != 0 {
		return nil
	}
	if all {
		return status.Runtimef("%s: expected reduction dim to be specified for input.numel() == 0; specify the reduction dim with the 'dim' argument",
			op)
	}
	for d, reduced := range mask {
		if reduced && t.Sizes()[d] == 0 {
			return status.Indexf("%s: expected reduction dim %d to have non-zero size", op, d)
		}
	}
	return nil
}

// requireOrder returns an error for dtypes without an order.
func requireOrder(op string, t *tensor.Tensor) error {
	if t.DType().IsComplex() {
		return status.NotImplementedf("%s: not implemented for %v; use abs() or real() to compare complex numbers", op, t.DType())
	}
	return nil
}

// extremeDims marks the dimensions that an operator takes extremes over.
func extremeDims(op string, self *tensor.Tensor, dim []int64) ([]bool, error) {
	mask, err := shape.WrapDims(op, dim, self.Dim(), true)
	if err = cmp.Or(requireOrder(op, self), err); err != nil {
		return nil, err
	}
	return mask, checkNotEmpty(op, self, mask, len(dim) == 0)
}

func reduceExtreme(op string, r reducer, out, self *tensor.Tensor, dim []int64, keepdim bool) (*tensor.Tensor, error) {
	mask, err := extremeDims(op, self, dim)
	if err = cmp.Or(err, tensoriter.SameDType(op, out, self.DType())); err != nil {
		return nil, err
	}
	return r.reduceOutput(op, out, self, mask, keepdim, self.DType(), self.DType())
}

// Amax returns the largest element over dim, or NaN if any element is NaN.
func Amax(out, self *tensor.Tensor, dim []int64, keepdim bool) (*tensor.Tensor, error) {
	return reduceExtreme("amax", amaxOf, out, self, dim, keepdim)
}

// Amin returns the smallest element over dim, or NaN if any element is NaN.
func Amin(out, self *tensor.Tensor, dim []int64, keepdim bool) (*tensor.Tensor, error) {
	return reduceExtreme("amin", aminOf, out, self, dim, keepdim)
}

// extremeOfAll is extreme over all dimensions, to an out of any dtype that the result can be cast to.
func extremeOfAll(op string, r reducer, out, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	if out == nil || out.DType() == self.DType() {
		return reduceExtreme(op, r, out, self, nil, false)
	}
	s := newScope(op)
	defer s.Close(&err)
	made := s.Track(reduceExtreme(op, r, nil, self, nil, false))
	return DeliverCast(op, out, made)
}

// Max returns the largest of all elements.
func Max(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	return extremeOfAll("max", amaxOf, out, self)
}

// Min returns the smallest of all elements.
func Min(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	return extremeOfAll("min", aminOf, out, self)
}

// Aminmax is Amin and Amax over one dimension or all.
func Aminmax(outMin, outMax, self *tensor.Tensor, dim Int, keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	const op = "aminmax"
	var dims []int64
	if !dim.IsNone() {
		dims = []int64{int64(dim)}
	}
	if err := requireOrderedTypes(op, self); err != nil {
		return nil, nil, err
	}
	mask, err := extremeDims(op, self, dims)
	if err != nil {
		return nil, nil, err
	}
	return reducePair(op, aminmaxOf, [2]string{"min", "max"}, outMin, outMax, self, self.DType(), mask, keepdim)
}

// reducePair reduces to a result of self's dtype and one of dtype d.
func reducePair(op string, r reducer, names [2]string, outFirst, outSecond, self *tensor.Tensor, d dtype.DType, mask []bool,
	keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	first, second, err := openPair(op, names, outFirst, outSecond, self, reducedSizes(self.Sizes(), mask, keepdim), d, tensoriter.Apart)
	if err == nil {
		err = r.runReducer(op, self.DType().Compute(), [2]*tensor.Tensor{first.To, second.To}, self, mask)
	}
	return tensoriter.DoneBoth(&first, &second, err)
}

// valuesIndices names the results of operators that return values and their indices.
var valuesIndices = [2]string{"values", "indices"}

// openPair opens the outputs of an operator that returns one result of self's dtype and one of dtype d.
func openPair(op string, names [2]string, outFirst, outSecond, self *tensor.Tensor, sizes []int64, d dtype.DType,
	sharing tensoriter.Sharing) (first, second tensoriter.Output, err error) {
	first = tensoriter.Output{Op: op, Name: names[0], Out: outFirst, Sizes: sizes, DType: self.DType(), Device: self.Device(), Exact: true,
		Sharing: sharing}
	second = tensoriter.Output{Op: op, Name: names[1], Out: outSecond, Sizes: sizes, DType: d, Device: self.Device(), Exact: true}
	err = tensoriter.OpenBoth(&first, &second, self)
	return first, second, err
}

// reduceLocated reduces one dimension to values and their indices.
func reduceLocated(op string, r reducer, outValues, outIndices, self *tensor.Tensor, dim int64,
	keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	if err := requireOrderedTypes(op, self); err != nil {
		return nil, nil, err
	}
	mask, err := markDim(op, self, Int(dim))
	if err = cmp.Or(err, checkNotEmpty(op, self, mask, false)); err != nil {
		return nil, nil, err
	}
	return reducePair(op, r, valuesIndices, outValues, outIndices, self, dtype.Int64, mask, keepdim)
}

// MaxDim returns the largest elements along dim and the index of the first of each.
func MaxDim(outValues, outIndices, self *tensor.Tensor, dim int64, keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return reduceLocated("max", argmaxOf, outValues, outIndices, self, dim, keepdim)
}

// MinDim returns the smallest elements along dim and the index of the first of each.
func MinDim(outValues, outIndices, self *tensor.Tensor, dim int64, keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return reduceLocated("min", argminOf, outValues, outIndices, self, dim, keepdim)
}

func reduceArgument(op string, r reducer, out, self *tensor.Tensor, dim Int, keepdim bool) (_ *tensor.Tensor, err error) {
	if self.DType().IsComplex() {
		return nil, status.Typef("%s: does not support complex input, got %v", op, self.DType())
	}
	if self.DType() == dtype.Bool {
		return nil, status.NotImplementedf("%s: does not support bool input", op)
	}
	mask, err := markDim(op, self, dim)
	if err != nil {
		return nil, err
	}
	if self.Numel() == 0 && dim.IsNone() {
		return nil, status.Indexf("%s: expected reduction dim to be specified for input.numel() == 0", op)
	}
	if err := checkNotEmpty(op, self, mask, false); err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	from := self
	if dim.IsNone() {
		from = s.castRowMajor(self, self.DType()) // indices count elements in row-major order
	}
	to := tensoriter.Output{Op: op, Out: out, Sizes: reducedSizes(self.Sizes(), mask, keepdim), DType: dtype.Int64, Device: self.Device(),
		Exact: true, Sharing: tensoriter.Beside}
	err = to.Open(self)
	if err == nil {
		err = r.runReducer(op, self.DType().Compute(), [2]*tensor.Tensor{nil, to.To}, from, mask)
	}
	return to.Done(err)
}

// Argmax returns the index of the first largest element along dim, or of all elements in row-major order.
func Argmax(out, self *tensor.Tensor, dim Int, keepdim bool) (*tensor.Tensor, error) {
	return reduceArgument("argmax", argmaxOf, out, self, dim, keepdim)
}

// Argmin returns the index of the first smallest element along dim, or of all elements in row-major order.
func Argmin(out, self *tensor.Tensor, dim Int, keepdim bool) (*tensor.Tensor, error) {
	return reduceArgument("argmin", argminOf, out, self, dim, keepdim)
}
