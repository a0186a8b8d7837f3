package sparse

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// sum sums all elements, or those along dimensions. The result is strided if no sparse dimension remains, otherwise COO, or with keepdim
// in the layout of the tensor.
func sum(c dispatch.Context, out, self *tensor.Tensor, dim []int64, keepdim bool, d dtype.DType) (_ *tensor.Tensor, err error) {
	b := build.New(c, "sum")
	defer b.Close(&err)
	return writeResult(b, out, sumDims(b, self, dim, keepdim, d))
}

// sumDims returns the sum along dimensions, with the dtype and layout rules of sum.
func sumDims(b *build.Builder, t *tensor.Tensor, dim []int64, keepdim bool, d dtype.DType) *tensor.Tensor {
	if d == dtype.None && t.DType().Category() < dtype.Floating {
		d = t.DType().Summed()
	}
	mask, err := shape.WrapDims(b.Op, dim, t.Dim(), true)
	b.Check(err)
	t = coalesceToCast(b, t, d)
	if len(dim) == 0 && !keepdim {
		return b.SumWith(t.Components().Values, nil, false, d)
	}
	x := coordinatesOf(b, t)
	x.values = b.CastTo(x.values, d)
	a := splitAxes(x, mask)
	if len(a.inner) > 0 {
		x.values = b.Sum(x.values, a.inner, false)
	}
	var result *tensor.Tensor
	switch {
	case len(a.kept) == x.sparseDim():
		result = assembleCoo(b, coordinates{x.indices, x.values, a.sizes, x.coalesced})
	case len(a.kept) == 0:
		result = b.Sum(x.values, []int64{0}, false)
	default:
		result = assembleCoo(b, coalesceCoordinates(b, coordinates{selectRows(b, x.indices, a.kept), x.values, a.sizes, false}))
	}
	if keepdim {
		result = restoreDims(b, result, t, mask)
	}
	return result
}

// mean returns the sum over the number of elements.
func mean(c dispatch.Context, out, self *tensor.Tensor, dim []int64, keepdim bool, d dtype.DType) (_ *tensor.Tensor, err error) {
	b := build.New(c, "mean")
	defer b.Close(&err)
	if d == dtype.None {
		d = self.DType()
	}
	if d.Category() < dtype.Floating {
		b.Failf("could not infer output dtype: input dtype must be either a floating point or complex dtype. Got: %v", d)
	}
	mask, err := shape.WrapDims(b.Op, dim, self.Dim(), true)
	if err != nil {
		return nil, err
	}
	count := int64(1)
	for i, n := range self.Sizes() {
		if mask[i] || len(dim) == 0 {
			count *= n
		}
	}
	if count == 0 { // all of it is NaN
		x := asDense(b, self)
		return b.ReturnNew(c.Mean(out, x, dim, keepdim, d))
	}
	t := sumDims(b, self, dim, keepdim, d)
	n := b.IntNumber(count)
	return writeResult(b, out, b.Div(t, n))
}

// norm returns the norm of all elements, which zeros do not change.
func norm(c dispatch.Context, out, self *tensor.Tensor, p dtype.Scalar, dim []int64, keepdim bool,
	d dtype.DType) (_ *tensor.Tensor, err error) {
	b := build.New(c, "norm")
	defer b.Close(&err)
	if p.Kind != dtype.KindNone && p.Float() <= 0 || len(dim) != 0 && len(dim) != self.Dim() || keepdim {
		x := asDense(b, self)
		return b.ReturnNew(c.Norm(out, x, p, dim, keepdim, d))
	}
	x := coalesceCoordinates(b, coordinatesOf(b, self))
	return b.ReturnNew(c.Norm(out, x.values, p, nil, false, d))
}

// groupLines returns the group of each entry, where the entries of a group differ along dimension d alone, and the number of groups.
func groupLines(b *build.Builder, x coordinates, d int) (of *tensor.Tensor, count int64) {
	rest := removeRow(b, asInt64(b, x.indices), d)
	sizes := slices.Delete(slices.Clone(x.sizes[:x.sparseDim()]), d, d+1)
	key := flattenIndices(b, rest, sizes)
	_, of, counts := findUnique(b, key)
	return of, counts.Numel()
}

// SparseSoftmax returns the softmax of the entries along a dimension: elements that are not kept count as minus infinity.
func SparseSoftmax(c dispatch.Context, self *tensor.Tensor, dim int64, d dtype.DType) (*tensor.Tensor, error) {
	return softmax(c, "sparse.softmax", self, dim, d, dispatch.Context.Softmax, false)
}

// SparseLogSoftmax returns the logarithm of SparseSoftmax.
func SparseLogSoftmax(c dispatch.Context, self *tensor.Tensor, dim int64, d dtype.DType) (*tensor.Tensor, error) {
	return softmax(c, "sparse.log_softmax", self, dim, d, dispatch.Context.LogSoftmax, true)
}

// softmax implements sparse.softmax and, with log, sparse.log_softmax.
func softmax(c dispatch.Context, op string, self *tensor.Tensor, dim int64, as dtype.DType, dense func(dispatch.Context, *tensor.Tensor,
	*tensor.Tensor, int64, dtype.DType) (*tensor.Tensor, error), log bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	if !isSparse(self) {
		b.Failf("expected a sparse tensor, but got layout %v", self.Layout())
	}
	d, err := shape.WrapDim(op, dim, self.Dim())
	if err != nil {
		return nil, err
	}
	x := coalesceCoordinates(b, coordinatesOf(b, self))
	x.values = b.CastTo(x.values, as)
	f := formOf(self)
	if d >= x.sparseDim() {
		v := x.values
		x.values = b.Track(dense(c, nil, v, int64(d-x.sparseDim()+1), dtype.None))
		return b.Return(assembleForm(b, x, f))
	}
	if x.values.DType().Category() != dtype.Floating {
		b.Failf("expected a floating-point dtype, but the tensor has dtype %v", x.values.DType())
	}
	of, n := groupLines(b, x, d)
	plain := b.Detach(x.values) // the largest cancels out
	low := makeZeros(b, plain, append([]int64{n}, x.values.Sizes()[1:]...)...)
	top := b.IndexReduceWith(low, 0, of, plain, "amax", false)
	shifted := b.Sub(x.values, b.IndexSelect(top, 0, of))
	powers := b.Exp(shifted)
	sums := sumByIndex(b, n, of, powers)
	if log {
		x.values = b.Sub(shifted, b.IndexSelect(b.Log(sums), 0, of))
	} else {
		total := b.IndexSelect(sums, 0, of)
		x.values = b.Div(powers, total)
	}
	return b.Return(assembleForm(b, x, f))
}
