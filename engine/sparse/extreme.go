package sparse

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// The largest and the smallest elements along dimensions. Entries are identified by the number of their row; a row with fewer entries than
// elements also has zeros.

// axes describes the dimensions of coordinates in a reduction.
type axes struct {
	kept  []int64 // the sparse dimensions that stay
	inner []int64 // the dimensions of the values that go
	sizes []int64 // of the result
	gone  int64   // the number of positions along the reduced sparse dimensions
}

// splitAxes assigns the dimensions of x to axes by the mask of reduced dimensions.
func splitAxes(x coordinates, mask []bool) axes {
	a := axes{sizes: []int64{}, gone: 1}
	for i, n := range x.sizes {
		sparse := i < x.sparseDim()
		switch {
		case !mask[i] && sparse:
			a.kept = append(a.kept, int64(i))
		case mask[i] && sparse:
			a.gone *= n
		case mask[i]:
			a.inner = append(a.inner, int64(i-x.sparseDim()+1))
		}
		if !mask[i] {
			a.sizes = append(a.sizes, n)
		}
	}
	return a
}

// selectRows returns the given rows of indices.
func selectRows(b *build.Builder, indices *tensor.Tensor, which []int64) *tensor.Tensor {
	list := make([]*tensor.Tensor, len(which))
	for i, at := range which {
		list[i] = b.Select(indices, 0, at)
	}
	return b.Stack(list, 0)
}

// restoreDims inserts dimensions of size 1 for the reduced dimensions in mask, as keepdim requires.
func restoreDims(b *build.Builder, result, t *tensor.Tensor, mask []bool) *tensor.Tensor {
	for i := range mask {
		was, at := result, int64(i)
		switch {
		case !mask[i]:
		case isSparse(was):
			result = b.Track(unsqueeze(b.C, nil, was, at))
		default:
			result = b.Unsqueeze(was, at)
		}
	}
	if f := formOf(t); f.layout != tensor.COO && !hasBlocks(f.layout) {
		result = asForm(b, result, f)
	}
	return result
}

// findUnique returns the distinct elements of a vector in order, the position of each element among them, and their counts.
func findUnique(b *build.Builder, key *tensor.Tensor) (once, of, counts *tensor.Tensor) {
	inOrder, from := sortVector(b, key)
	once, inverse, counts := b.UniqueConsecutive(inOrder, true, true, noDim)
	back := b.Argsort(from, 0, false)
	return once, b.IndexSelect(inverse, 0, back), counts
}

// reduceByIndex returns the maximum or minimum (how is amax or amin) of the entries of source in each of n lines; of has the line of each
// entry.
func reduceByIndex(b *build.Builder, n int64, of, source *tensor.Tensor, how string) *tensor.Tensor {
	to := makeReductionStart(b, source, append([]int64{n}, source.Sizes()[1:]...)...)
	return b.IndexReduceWith(to, 0, of, source, how, false)
}

// makeReductionStart returns the initial values of IndexReduce: NaN for floats, which equals no result, so that no gradient flows to it.
func makeReductionStart(b *build.Builder, like *tensor.Tensor, sizes ...int64) *tensor.Tensor {
	start := dtype.IntScalar(0)
	if like.DType().IsFloatingPoint() {
		start = dtype.FloatScalar(math.NaN())
	}
	return b.NewFull(like, sizes, start)
}

// reduceExtremum returns the maximum or minimum (how is amax or amin) along the dimensions in mask. It is strided if no sparse dimension
// remains.
func reduceExtremum(b *build.Builder, x coordinates, mask []bool, how string) *tensor.Tensor {
	x = coalesceCoordinates(b, x)
	a := splitAxes(x, mask)
	if len(a.inner) > 0 {
		if how == "amin" {
			x.values = b.Amin(x.values, a.inner, false)
		} else {
			x.values = b.Amax(x.values, a.inner, false)
		}
	}
	if len(a.kept) == x.sparseDim() && len(a.kept) > 0 {
		return assembleCoo(b, coordinates{x.indices, x.values, a.sizes, true})
	}
	indices, keptSizes := checkIndexBounds(b, x.indices, x.sizes), a.sizes[:len(a.kept)]
	if x.nnz() == 0 {
		if len(a.kept) == 0 {
			return makeZeros(b, x.values, a.sizes...)
		}
		return assembleCoo(b, coordinates{selectRows(b, indices, a.kept), x.values, a.sizes, true})
	}
	key := makeZeros(b, indices, x.nnz())
	if len(a.kept) > 0 {
		key = flattenIndices(b, selectRows(b, indices, a.kept), keptSizes)
	}
	once, of, counts := findUnique(b, key)
	result := reduceByIndex(b, once.Numel(), of, x.values, how)
	column := append([]int64{once.Numel()}, slices.Repeat([]int64{1}, x.values.Dim()-1)...)
	short := b.AsShape(b.Lt(counts, b.IntNumber(a.gone)), column...)
	zero, found := makeZeros(b, x.values), result
	extreme := b.Maximum
	if how == "amin" {
		extreme = b.Minimum
	}
	withZero := extreme(result, zero)
	result = b.Where(short, withZero, result)
	if x.values.AutogradMeta() != nil {
		result = shareZeroGradient(b, result, found, x.values, of, b.AsShape(b.Sub(b.IntNumber(a.gone), counts), column...))
	}
	if len(a.kept) == 0 {
		return b.AsShape(result, a.sizes...)
	}
	return assembleCoo(b, coordinates{unflattenIndices(b, once, keptSizes), result, a.sizes, true})
}

// shareZeroGradient returns result with another gradient for lines whose extremum is 0: the elements without an entry get an equal share of
// it.
func shareZeroGradient(b *build.Builder, result, most, values, of, without *tensor.Tensor) *tensor.Tensor {
	zeros := b.CastTo(b.Eq(values, b.IntNumber(0)), values.DType())
	kept := sumByIndex(b, most.Sizes()[0], of, zeros)
	all := b.Maximum(b.Add(kept, without), b.IntNumber(1))
	part := b.Div(kept, all)
	is0, zeros := b.Eq(most, b.IntNumber(0)), b.Mul(most, part)
	return b.Where(is0, zeros, result)
}

// makeExtremum returns the kernel of amax or amin (how), or of any or all, which are amax and amin of the mask of nonzero elements.
func makeExtremum(
	op, how string, apply func(dispatch.Context, *tensor.Tensor, *tensor.Tensor, []int64, bool) (*tensor.Tensor, error),
) func(dispatch.Context, *tensor.Tensor, *tensor.Tensor, []int64, bool) (*tensor.Tensor, error) {
	return func(c dispatch.Context, out, self *tensor.Tensor, dim []int64, keepdim bool) (_ *tensor.Tensor, err error) {
		b := build.New(c, op)
		defer b.Close(&err)
		if !isSparse(self) {
			return nil, stridedOperandsError(op, out)
		}
		mask, err := shape.WrapDims(op, dim, self.Dim(), how == op || dim == nil) // any and all along no dimensions leave all
		if err != nil {
			return nil, err
		}
		if shape.Product(self.Sizes()) == 0 { // which the operator may reject
			x := asDense(b, self)
			result := b.Track(apply(c, nil, x, dim, keepdim))
			if result.Dim() > 0 && slices.Contains(mask[:self.Dim()-denseDim(self)], false) {
				result = asForm(b, result, form{layout: tensor.COO, block: [2]int64{1, 1}})
			}
			return writeResult(b, out, result)
		}
		sample := makeZeros(b, self.Components().Values, 1) // determines the dtype, which the operator may not support
		sample = b.Track(apply(c, nil, sample, nil, false))
		x := coalesceCoordinates(b, coordinatesOf(b, self))
		if how != op {
			x.values = b.CastTo(b.Ne(x.values, b.IntNumber(0)), dtype.Uint8)
		} else if x.values.DType() == dtype.Bool {
			x.values = b.CastTo(x.values, dtype.Uint8)
		}
		result := reduceExtremum(b, x, mask, how)
		if keepdim {
			result = restoreDims(b, result, self, mask)
		}
		if result.DType() != sample.DType() {
			result = b.ToOptionsWith(result, sample.DType(), tensor.NoLayout, device.None, false, false, shape.Preserve)
		}
		return writeResult(b, out, result)
	}
}

// makeArgExtremum returns the kernel of argmax or argmin, along a dimension or over all elements. The result is strided.
func makeArgExtremum(
	op, how string, apply func(dispatch.Context, *tensor.Tensor, *tensor.Tensor, ops.Int, bool) (*tensor.Tensor, error),
) func(dispatch.Context, *tensor.Tensor, *tensor.Tensor, ops.Int, bool) (*tensor.Tensor, error) {
	return func(c dispatch.Context, out, self *tensor.Tensor, dim ops.Int, keepdim bool) (_ *tensor.Tensor, err error) {
		b := build.New(c, op)
		defer b.Close(&err)
		if !isSparse(self) {
			return nil, stridedOperandsError(op, out)
		}
		d, err := shape.WrapDim(op, int64(dim.Or(0)), self.Dim())
		if err != nil {
			return nil, err
		}
		if shape.Product(self.Sizes()) == 0 || self.Dim() == 0 {
			x := asDense(b, self)
			return b.ReturnNew(apply(c, out, x, dim, keepdim))
		}
		sample := makeZeros(b, self.Components().Values, 1)
		b.Track(apply(c, nil, sample, ops.NoInt, false)) // rejects dtypes
		x := coalesceCoordinates(b, changeDenseDim(b, coordinatesOf(b, self), 0))
		indices := checkIndexBounds(b, x.indices, x.sizes)
		kept := slices.Delete(slices.Clone(x.sizes), d, d+1)
		at, key := b.Select(indices, 0, int64(d)), makeZeros(b, indices, x.nnz())
		length := x.sizes[d]
		switch {
		case dim.IsNone():
			kept, length, at = []int64{}, shape.Product(x.sizes), flattenIndices(b, indices, x.sizes)
		case len(kept) > 0:
			key = flattenIndices(b, removeRow(b, indices, d), kept)
		}
		once, positions := findFirstExtremes(b, key, at, x.values, length, how)
		result := makeZeros(b, at, shape.Product(kept))
		result = b.IndexCopy(result, 0, once, positions)
		if keepdim && !dim.IsNone() {
			kept = slices.Insert(kept, d, 1)
		} else if keepdim {
			kept = slices.Repeat([]int64{1}, self.Dim())
		}
		return writeResult(b, out, b.AsShape(result, kept...))
	}
}

// findFirstExtremes returns the lines of a length that have entries, and in each the first position of its maximum or minimum: that of an
// entry, or of the first element without one.
func findFirstExtremes(b *build.Builder, key, at, values *tensor.Tensor, length int64, how string) (once, positions *tensor.Tensor) {
	if values.DType() == dtype.Bool {
		values = b.CastTo(values, dtype.Uint8)
	}
	once, of, counts := findUnique(b, key)
	n := once.Numel()
	most := reduceByIndex(b, n, of, values, how)
	best := b.IndexSelect(most, 0, of)
	isBest := b.Eq(values, best)
	if values.DType().IsFloatingPoint() {
		isBest = b.LogicalOr(isBest, b.Isnan(values))
	}
	chosen := b.AsShape(b.Nonzero(isBest), -1)
	entry := reduceByIndex(b, n, b.IndexSelect(of, 0, chosen), b.IndexSelect(at, 0, chosen), "amin")
	// The entries before the first gap of a line are those whose rank in it equals their position.
	inOrder, from := sortVector(b, b.Add(mulInt(b, of, length), at))
	line := b.IndexSelect(of, 0, from)
	ends := b.CumsumWith(counts, 0, int64s)
	start := b.IndexSelect(b.Sub(ends, counts), 0, line)
	before := b.Sub(makeRange(b, inOrder.Numel(), key.Device()), start)
	gap := sumByIndex(b, n, line, b.CastTo(b.Eq(b.IndexSelect(at, 0, from), before), int64s))
	less := b.Lt
	if how == "amin" {
		less = b.Gt
	}
	zero := b.IntNumber(0)
	short := b.Lt(counts, b.IntNumber(length))
	at0 := b.LogicalAnd(short, less(most, zero))
	beside := b.LogicalAnd(short, b.Eq(most, zero))
	return once, b.Where(at0, gap, b.Where(beside, b.Minimum(gap, entry), entry))
}
