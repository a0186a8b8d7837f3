package sparse

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// isScalar reports whether an operand is one value for all entries.
func isScalar(t *tensor.Tensor) bool { return !isSparse(t) && t.Dim() == 0 }

// matchEntryDims returns a scalar operand for the entries of t. For a zero-dim t it has one dimension, so that its dtype counts in
// promotion as much as that of the entries.
func matchEntryDims(b *build.Builder, t, number *tensor.Tensor) *tensor.Tensor {
	if t.Dim() > 0 || number.IsWrappedNumber() {
		return number
	}
	return b.AsShape(number, 1)
}

// makeAddition returns the kernel of add or sub: self + alpha*other or self - alpha*other.
func makeAddition(
	op string, apply func(c dispatch.Context, out, self, other *tensor.Tensor, alpha dtype.Scalar) (*tensor.Tensor, error),
) func(dispatch.Context, *tensor.Tensor, *tensor.Tensor, *tensor.Tensor, dtype.Scalar) (*tensor.Tensor, error) {
	return func(c dispatch.Context, out, self, other *tensor.Tensor, alpha dtype.Scalar) (_ *tensor.Tensor, err error) {
		b := build.New(c, op)
		defer b.Close(&err)
		if self.DType() == dtype.Bool || other.DType() == dtype.Bool { // operators that do not support bool also reject it without entries
			x, y := makeBroadcastZero(b, self, self.DType()), makeBroadcastZero(b, other, other.DType())
			b.Track(apply(c, nil, x, y, alpha))
		}
		if isSparse(self) && isSparse(other) {
			return writeResult(b, out, addSparse(b, self, other, func(zero, v *tensor.Tensor) *tensor.Tensor {
				return b.Track(apply(c, nil, zero, v, alpha))
			}))
		}
		switch {
		case isSparse(self) && isScalar(other):
			b.Failf("adding a scalar to a sparse tensor is not supported, because the result is dense; convert with to_dense()")
		case isSparse(out):
			b.Failf("the sum of a sparse and a strided tensor is strided, and cannot be written to a tensor of layout %v", out.Layout())
		}
		if d, err := c.ResultType(self, other); err == nil && !isSparse(self) && denseDim(other) < other.Dim() &&
			slices.Equal(self.Sizes(), other.Sizes()) && (out == nil || out == self && self.DType() == d) {
			return addToStrided(b, out, self, other, d, func(zero, v *tensor.Tensor) *tensor.Tensor {
				return b.Track(apply(c, nil, zero, v, alpha))
			})
		}
		x, y := asDense(b, self), asDense(b, other)
		return b.ReturnNew(apply(c, out, x, y, alpha))
	}
}

// addToStrided returns the strided tensor self in dtype d plus the entries of the sparse tensor other, to which scaled applies alpha. out
// is nil or self.
func addToStrided(b *build.Builder, out, self, other *tensor.Tensor, d dtype.DType,
	scaled func(zero, v *tensor.Tensor) *tensor.Tensor) (*tensor.Tensor, error) {
	y := castCoordinates(b, coalesceCoordinates(b, coordinatesOf(b, other)), d)
	at := checkIndexBounds(b, y.indices, y.sizes[:y.sparseDim()])
	values := scaled(makeBroadcastZero(b, y.values, d), y.values)
	indices := make([]*tensor.Tensor, y.sparseDim())
	for i := range indices {
		indices[i] = b.Select(at, 0, int64(i))
	}
	self = b.CastTo(self, d)
	return b.ReturnNew(b.C.IndexPut(out, self, indices, values, true))
}

// makeBroadcastZero returns a zero of a dtype that broadcasts to values.
func makeBroadcastZero(b *build.Builder, values *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	return b.CastTo(makeZeros(b, values, slices.Repeat([]int64{1}, values.Dim())...), d)
}

// addSparse returns the sum of two sparse tensors. sum adds, in the common dtype, two entries at one position, or zero and an entry of
// right.
func addSparse(b *build.Builder, left, right *tensor.Tensor, sum func(v, w *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	if hasSameIndices(b, left, right) {
		return mapValues(b, left, func(v *tensor.Tensor) *tensor.Tensor { return sum(v, right.Components().Values) })
	}
	// with the dimension split of the operand that has entries
	if left.Layout() == tensor.COO && right.Layout() == tensor.COO && countEntries(left) == 0 && slices.Equal(left.Sizes(), right.Sizes()) {
		left = asForm(b, left, formOf(right))
	}
	if isCompressedMatrix(left) && isSparse(right) && formOf(right).dense == 0 && slices.Equal(left.Sizes(), right.Sizes()) &&
		backend.Known(left.Components().Values) {
		return addCompressed(b, left, asForm(b, right, formOf(left)), sum)
	}
	x, y, d := matchCoordinates(b, left, right)
	x, y = castCoordinates(b, x, d), castCoordinates(b, y, d)
	values, f := b.Cat([]*tensor.Tensor{x.values, sum(makeBroadcastZero(b, x.values, d), y.values)}, 0), formOf(left)
	if f.layout != tensor.COO || x.coalesced && y.coalesced {
		return assembleForm(b, groupEntries(b, values, x.sizes, x.sparseDim(), x.indices, y.indices), f)
	}
	return assembleForm(b, coordinates{b.Cat([]*tensor.Tensor{asInt64(b, x.indices), asInt64(b, y.indices)}, 1), values, x.sizes, false}, f)
}

// isCompressedMatrix reports whether t is a matrix in the layout CSR or CSC.
func isCompressedMatrix(t *tensor.Tensor) bool {
	return t.Dim() == 2 && (t.Layout() == tensor.CSR || t.Layout() == tensor.CSC)
}

// addCompressed adds two matrices of the same form, line by line.
func addCompressed(b *build.Builder, left, right *tensor.Tensor, sum func(v, w *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	p, q := left.Components(), right.Components()
	d, err := b.C.ResultType(p.Values, q.Values)
	b.Check(err)
	v, w := b.CastTo(p.Values, d), sum(makeBroadcastZero(b, q.Values, d), b.CastTo(q.Values, d))
	minor := left.Sizes()[1]
	if left.Layout() == tensor.CSC {
		minor = left.Sizes()[0]
	}
	compressed, plain, values, err := b.C.CsrSpadd(p.Indices[0], p.Indices[1], v, q.Indices[0], q.Indices[1], w, minor)
	compressed, plain, values = b.Track(compressed, err), b.Track(plain, nil), b.Track(values, nil)
	if index := p.Indices[0].DType(); index == q.Indices[0].DType() && plain.Numel() <= math.MaxInt32 {
		compressed, plain = b.CastTo(compressed, index), b.CastTo(plain, index)
	}
	return assembleCompressed(b, left.Layout(), left.Sizes(), compressed, plain, values)
}

// matchCoordinates returns the coordinates of two tensors of the same sizes, with as many dense dimensions, and their common dtype.
func matchCoordinates(b *build.Builder, left, right *tensor.Tensor) (x, y coordinates, d dtype.DType) {
	if !slices.Equal(left.Sizes(), right.Sizes()) {
		b.Failf("the sizes of sparse tensors must be the same, but got %v and %v", left.Sizes(), right.Sizes())
	}
	x = coordinatesOf(b, left)
	y = changeDenseDim(b, coordinatesOf(b, right), denseDim(left))
	return x, y, b.ResultType(x.values, y.values)
}

// applyToValues applies an operator to the values of a sparse tensor; the result has dtype d.
func applyToValues(b *build.Builder, out, self *tensor.Tensor, d dtype.DType,
	each func(out, v *tensor.Tensor) (*tensor.Tensor, error)) (*tensor.Tensor, error) {
	if out == self {
		v := self.Components().Values
		_, err := each(v, v)
		b.Check(err)
		return self, nil
	}
	return writeResult(b, out, mapValues(b, coalesceToCast(b, self, d), func(v *tensor.Tensor) *tensor.Tensor {
		return b.Track(each(nil, v))
	}))
}

// mul multiplies entries: where both operands have one, of sparse tensors, and where the sparse one has, of another.
func mul(c dispatch.Context, out, self, other *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "mul")
	defer b.Close(&err)
	switch {
	case !isSparse(self) && !isSparse(other):
		return nil, stridedOperandsError(b.Op, out)
	case isSparse(self) && self.Dim() == 0 && other.Dim() > 0:
		if out == self {
			b.Failf("the output is 0-dimensional, but the result has sizes %v", other.Sizes())
		}
		return mul(c, out, other, self)
	case isSparse(self) && isSparse(other) && self.Dim() == 0 && other.Dim() == 0 && countEntries(self) < countEntries(other) && out != self:
		return mul(c, out, other, self)
	case isSparse(other) && other.Dim() == 0 && (isSparse(self) || self.Dim() > 0):
		return mulSparseScalar(b, out, self, other)
	case isSparse(self) && isScalar(other):
		d, err := c.ResultType(self, other)
		b.Check(err)
		number := matchEntryDims(b, self, other)
		return applyToValues(b, out, self, d, func(to, v *tensor.Tensor) (*tensor.Tensor, error) { return c.Mul(to, v, number) })
	case isSparse(other) && isScalar(self):
		d, err := c.ResultType(self, other)
		b.Check(err)
		number := matchEntryDims(b, other, self)
		return writeResult(b, out, mapValues(b, coalesceToCast(b, other, d), func(v *tensor.Tensor) *tensor.Tensor { return b.Mul(number, v) }))
	}
	return mulBroadcast(b, out, self, other)
}

// mulSparseScalar multiplies self by other, a sparse tensor without dimensions. The result is sparse.
func mulSparseScalar(b *build.Builder, out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	number := asDense(b, other)
	switch {
	case isSparse(self):
		return mul(b.C, out, self, number)
	case out != nil && !isSparse(out):
		return b.C.Mul(out, self, number)
	}
	return writeResult(b, out, b.Mul(asForm(b, self, form{tensor.COO, [2]int64{1, 1}, 0}), number))
}

// mulBroadcast multiplies tensors, of which at least one is sparse, with broadcasting.
func mulBroadcast(b *build.Builder, out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	sizes := self.Sizes()
	if !slices.Equal(sizes, other.Sizes()) {
		both, err := shape.Broadcast(b.Op, sizes, other.Sizes())
		b.Check(err)
		if out == self && !slices.Equal(both, sizes) {
			b.Failf("the output has sizes %v, but the result has sizes %v", sizes, both)
		}
		sizes = both
	}
	if isSparse(self) && isSparse(other) {
		return writeResult(b, out, mulSparse(b, broadcastTo(b, self, sizes), broadcastTo(b, other, sizes)))
	}
	t := mulStrided(b, self, other, sizes)
	if out != nil && !isSparse(out) {
		t = asDense(b, t)
	}
	return writeResult(b, out, t)
}

// mulSparse returns the products of the entries at positions that both tensors have.
func mulSparse(b *build.Builder, left, right *tensor.Tensor) *tensor.Tensor {
	if hasSameIndices(b, left, right) {
		return mapValues(b, left, func(v *tensor.Tensor) *tensor.Tensor { return b.Mul(v, right.Components().Values) })
	}
	x, y, _ := matchCoordinates(b, left, right)
	x, y = coalesceCoordinates(b, x), coalesceCoordinates(b, y)
	f := formOf(left)
	sizes := x.sizes[:x.sparseDim()]
	in, of := intersectSorted(b, flattenIndices(b, x.indices, sizes), flattenIndices(b, y.indices, sizes))
	product := coordinates{b.IndexSelect(x.indices, 1, in), b.Mul(b.IndexSelect(x.values, 0, in), b.IndexSelect(y.values, 0, of)), x.sizes,
		true}
	return assembleForm(b, product, f)
}

// intersectSorted returns the positions of the common elements of two strictly increasing vectors.
func intersectSorted(b *build.Builder, left, right *tensor.Tensor) (in, of *tensor.Tensor) {
	if right.Numel() == 0 {
		none := makeRange(b, 0, left.Device())
		return none, none
	}
	at := b.Searchsorted(right, left)
	last := b.IntNumber(right.Numel() - 1)
	at = b.Minimum(at, last)
	in = b.AsShape(b.Nonzero(b.Eq(b.IndexSelect(right, 0, at), left)), -1)
	return in, b.IndexSelect(at, 0, in)
}

// mulStrided returns the products of a sparse tensor's entries and the elements of a dense one at their positions. Both expand to sizes.
func mulStrided(b *build.Builder, left, right *tensor.Tensor, sizes []int64) *tensor.Tensor {
	t, other := left, right
	if !isSparse(left) {
		t, other = right, left
	}
	t = broadcastTo(b, t, sizes)
	x := coordinatesOf(b, t)
	d, err := b.C.ResultType(x.values, other)
	b.Check(err)
	x = castCoordinates(b, x, d)
	at := gatherElements(b, other, x)
	f := formOf(t)
	x.values = b.Mul(x.values, at)
	return assembleForm(b, x, f)
}

// gatherElements returns the elements of a dense tensor, broadcast to the sizes of x, at the positions of x's entries.
func gatherElements(b *build.Builder, t *tensor.Tensor, x coordinates) *tensor.Tensor {
	sizes := make([]int64, len(x.sizes))
	pad := len(sizes) - t.Dim()
	for i := range sizes {
		sizes[i] = 1
		if i >= pad {
			sizes[i] = t.Sizes()[i-pad]
		}
	}
	sparse, indices := x.sparseDim(), asInt64(b, x.indices)
	key := makeZeros(b, indices, x.nnz())
	for d := range sparse { // dimensions that broadcast have one place
		key = mulInt(b, key, sizes[d])
		if sizes[d] != 1 {
			key = b.Add(key, b.Select(indices, 0, int64(d)))
		}
	}
	flat := b.AsShape(t, append([]int64{shape.Product(sizes[:sparse])}, sizes[sparse:]...)...)
	return b.IndexSelect(flat, 0, key)
}

// div divides the entries by a number.
func div(c dispatch.Context, out, self, other *tensor.Tensor, rounding string) (_ *tensor.Tensor, err error) {
	b := build.New(c, "div")
	defer b.Close(&err)
	if !isSparse(self) || !isScalar(other) {
		b.Failf("sparse division requires a sparse tensor and a number or zero-dim strided divisor, got shape %v of layout %v for divisor; convert with to_dense()",
			other.Sizes(), other.Layout())
	}
	other = matchEntryDims(b, self, other)
	if rounding == "" {
		return applyToValues(b, out, self, dtype.Float32, func(to, v *tensor.Tensor) (*tensor.Tensor, error) {
			return c.Div(to, v, other, rounding)
		})
	}
	return makeEntrywise(b.Op, func(c dispatch.Context, to, v *tensor.Tensor) (*tensor.Tensor, error) {
		return c.Div(to, v, other, rounding)
	})(c, out, self)
}

// entrywiseMaker is the type of makeEntrywise and makeZeroPreserving.
type entrywiseMaker = func(op string, apply func(c dispatch.Context, out, self *tensor.Tensor) (*tensor.Tensor, error)) func(
	dispatch.Context, *tensor.Tensor, *tensor.Tensor) (*tensor.Tensor, error)

// makeScalarOperator returns the kernel of an operator of a sparse tensor and a scalar that maps 0 to 0.
func makeScalarOperator(op string, apply func(c dispatch.Context, out, self, other *tensor.Tensor) (*tensor.Tensor, error),
	on entrywiseMaker) func(dispatch.Context, *tensor.Tensor, *tensor.Tensor, *tensor.Tensor) (*tensor.Tensor, error) {
	return func(c dispatch.Context, out, self, other *tensor.Tensor) (_ *tensor.Tensor, err error) {
		b := build.New(c, op)
		defer b.Close(&err)
		if !isSparse(self) || !isScalar(other) {
			b.Failf("the other operand must be a scalar or a 0-dim strided tensor, but has shape %v and layout %v; convert with to_dense()",
				other.Sizes(), other.Layout())
		}
		other = matchEntryDims(b, self, other)
		return on(op, func(c dispatch.Context, to, v *tensor.Tensor) (*tensor.Tensor, error) { return apply(c, to, v, other) })(c, out, self)
	}
}

// pow raises the entries to a power, which is positive: others are not 0 at 0.
func pow(c dispatch.Context, out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return makeScalarOperator("pow", func(c dispatch.Context, out, v, other *tensor.Tensor) (*tensor.Tensor, error) {
		return c.Pow(out, v, other)
	}, makeZeroPreserving)(c, out, self, other)
}
