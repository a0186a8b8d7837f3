package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// bags are rows of a matrix in bags: those of crow[i] to crow[i+1] of indices are in bag i. Rows that do not count are not among them.
type bags struct {
	*build.Builder
	weight, indices, values, crow *tensor.Tensor
	counts                        *tensor.Tensor // the rows in each bag
	number                        int64
	each                          int64 // indices in each bag, or 0 if bags differ
}

// checkArguments returns an error for invalid arguments of embedding_bag.
func (b *bags) checkArguments(weight, indices, offsets, values *tensor.Tensor, mode int64, last bool) {
	switch {
	case weight.Dim() != 2:
		b.Failf("weight must be a matrix, but has sizes %v", weight.Sizes())
	case !weight.DType().IsFloatingPoint():
		b.Failf("weight must be of floating point, but is of %v", weight.DType())
	case indices.Dim() != 1 || offsets.Dim() != 1:
		b.Failf("indices and offsets must be vectors, but have sizes %v and %v", indices.Sizes(), offsets.Sizes())
	case mode < 0 || mode > 2:
		b.Failf("mode must be 0 (sum), 1 (mean) or 2 (max), but is %d", mode)
	case values != nil && mode != 0:
		b.Failf("per_sample_weights require mode 0 (sum), but mode is %d", mode)
	case values != nil && (values.DType() != weight.DType() || !slices.Equal(values.Sizes(), indices.Sizes())):
		b.Failf("per_sample_weights must have the sizes of indices, %v, and have the same type as weight, %v, but have %v, of %v",
			indices.Sizes(), weight.DType(), values.Sizes(), values.DType())
	case last && offsets.Numel() == 0:
		b.Failf("offsets must not be empty with include_last_offset")
	}
	b.Check(checkRowIndices(b.Op, "indices", indices))
	b.Check(checkRowIndices(b.Op, "offsets", offsets))
	for i, t := range []*tensor.Tensor{indices, offsets, values} {
		if t != nil && t.Device() != weight.Device() {
			b.Failf("%s must be on the device of weight, %v, but on %v", []string{"indices", "offsets", "per_sample_weights"}[i],
				weight.Device(), t.Device())
		}
	}
	d := dtype.Int64
	if indices.DType() == dtype.Int32 && offsets.DType() == dtype.Int32 {
		d = dtype.Int32
	}
	b.weight, b.indices, b.values, b.crow = weight, b.CastTo(indices, d), values, b.CastTo(offsets, d)
	b.closeOffsets(last)
	b.checkValues()
}

// checkValues returns an error for decreasing offsets and for indices out of range.
func (b *bags) checkValues() {
	if b.number > 0 {
		widths := b.countIndices()
		least, most, known := readRange(b.Builder, widths)
		if known && least < 0 {
			place := b.Argmin(widths, ops.NoInt, false)
			at, _ := b.ReadElement(place)
			before, _ := b.ReadElement(b.Select(b.crow, 0, at.I))
			b.Failf("offsets must not decrease, but offset %d is %d and the next one %d", at.I, before.I, before.I+least)
		}
		if known && least == most && least*b.number == b.indices.Numel() {
			b.each = least
		}
	}
	rows := b.weight.Sizes()[0]
	if least, most, known := readRange(b.Builder, b.indices); known && (least < 0 || most >= rows) {
		if least >= 0 {
			least = most
		}
		b.Failf("Expected idx >= 0 && idx < num_embeddings: an index of input takes value %d which is not in the valid range [0, %d)",
			least, rows)
	}
}

// countIndices returns the number of indices in each bag.
func (b *bags) countIndices() *tensor.Tensor {
	return b.Sub(b.Narrow(b.crow, 0, 1, b.number), b.Narrow(b.crow, 0, 0, b.number))
}

// readRange returns the smallest and the largest element of a vector; known is false for an empty one or one without data.
func readRange(b *build.Builder, t *tensor.Tensor) (least, most int64, known bool) {
	if t.Numel() == 0 || !backend.Known(t) {
		return 0, 0, false
	}
	low, high := b.Aminmax(t)
	first, known := b.ReadElement(low)
	last, _ := b.ReadElement(high)
	return first.I, last.I, known
}

// closeOffsets appends the end of the last bag to crow. It returns an error for offsets that do not begin with 0 or that exceed the number
// of indices.
func (b *bags) closeOffsets(last bool) {
	n := b.indices.Numel()
	if b.crow.Numel() > 0 {
		if first, known := b.ReadElement(b.Select(b.crow, 0, 0)); known && first.I != 0 {
			b.Failf("offsets must begin with 0, but begin with %d", first.I)
		}
		end, known := b.ReadElement(b.Select(b.crow, 0, -1))
		if known && (end.I < 0 || end.I > n) {
			b.Failf("offsets must be from 0 to %d, the number of indices, but the last one is %d", n, end.I)
		}
		if last && known {
			b.truncateIndices(end.I)
		}
	}
	switch {
	case !last:
		b.number = b.crow.Numel()
		end := b.NewFullWith(b.crow, []int64{1}, dtype.IntScalar(n), b.crow.DType(), tensor.NoLayout, b.crow.Device())
		if b.number == 0 { // no bag contains the indices
			end = b.Mul(end, b.IntNumber(0))
			b.truncateIndices(0)
		}
		b.crow = b.Cat([]*tensor.Tensor{b.crow, end}, 0)
	default:
		b.number = b.crow.Numel() - 1
	}
}

// truncateIndices keeps the first n indices; no bag contains the others.
func (b *bags) truncateIndices(n int64) {
	if n == b.indices.Numel() {
		return
	}
	b.indices = b.Narrow(b.indices, 0, 0, n)
	if b.values != nil {
		b.values = b.Narrow(b.values, 0, 0, n)
	}
}

// excludeRow removes the indices of the row `padding`.
func (b *bags) excludeRow(padding int64) {
	b.each = 0
	mask := b.Ne(b.indices, b.IntNumber(padding))
	if !backend.Known(mask) {
		return
	}
	kept := b.Nonzero(mask)
	kept = b.Reshape(kept, -1)
	before := b.CumsumWith(mask, 0, b.crow.DType())
	before = b.Cat([]*tensor.Tensor{b.ZerosBeside(b.crow, b.crow.DType(), 1), before}, 0)
	b.crow, b.indices = b.IndexSelect(before, 0, b.crow), b.IndexSelect(b.indices, 0, kept)
	if b.values != nil {
		b.values = b.IndexSelect(b.values, 0, kept)
	}
}

// rangeTo returns the integers from 0 to n - 1.
func (b *bags) rangeTo(n int64, d dtype.DType) *tensor.Tensor {
	return b.ArangeWith(dtype.IntScalar(n), d, tensor.NoLayout, b.crow.Device())
}

// findBags returns the bag of each of n indices.
func (b *bags) findBags(n int64) *tensor.Tensor {
	if b.each > 0 {
		return b.AsShape(b.Expand(b.Unsqueeze(b.rangeTo(b.number, b.crow.DType()), 1), b.number, b.each), n)
	}
	if !backend.Known(b.crow) {
		return b.rangeTo(n, b.crow.DType())
	}
	return b.RepeatInterleaveWith(b.countIndices(), ops.Int(n))
}

// sumRows returns the sums of the rows of each bag.
func (b *bags) sumRows(byFrequency, sparse bool) *tensor.Tensor {
	return b.NnBag(b.weight, b.crow, b.indices, b.values, byFrequency, sparse)
}

// findMaxima returns the rows of the maxima of each bag and column, and these maxima: 0 for an empty bag.
func (b *bags) findMaxima() (rows, elements *tensor.Tensor) {
	rows = b.NnBagMaxima(b.Detach(b.weight), b.crow, b.indices)
	if b.weight.Sizes()[0] == 0 { // every bag is empty
		return rows, b.sumRows(false, false)
	}
	found := b.Gather(b.weight, 0, b.CastTo(rows, dtype.Int64))
	return rows, b.Where(b.Unsqueeze(b.Eq(b.counts, b.IntNumber(0)), 1), b.IntNumber(0), found)
}

// resolvePadding returns the row to ignore, or -1 for none.
func (b *bags) resolvePadding(weight *tensor.Tensor, padding ops.Int) int64 {
	if padding.IsNone() {
		return -1
	}
	rows, at := weight.Sizes()[0], int64(padding)
	if at < -rows || at >= rows {
		b.Failf("padding_idx must be within the number of embeddings, %d through %d, but got %d", -rows, rows-1, at)
	}
	if at < 0 {
		at += rows
	}
	return at
}

// EmbeddingBag combines rows of a matrix in bags.
func EmbeddingBag(c dispatch.Context, weight, indices, offsets *tensor.Tensor, byFrequency bool, mode int64, sparse bool,
	values *tensor.Tensor, last bool, padding ops.Int) (_, _, _, _ *tensor.Tensor, err error) {
	b := &bags{Builder: build.New(c, "embedding_bag")}
	defer b.Close(&err)
	b.checkArguments(weight, indices, offsets, values, mode, last)
	left := b.resolvePadding(weight, padding)
	var output, owners, sizes, rows *tensor.Tensor
	if mode == 0 && left < 0 && weight.DType() != dtype.Float64 { // as PyTorch, which needs no more
		owners = b.ZerosBeside(b.crow, b.crow.DType(), 0)
	} else {
		owners = b.findBags(b.indices.Numel())
	}
	if left >= 0 {
		b.excludeRow(left)
	}
	b.counts = b.countIndices()
	switch mode {
	case 0:
		output = b.sumRows(byFrequency, sparse)
		sizes = b.ZerosBeside(b.crow, b.crow.DType(), offsets.Numel())
	case 1:
		counts := b.ClampMin(b.counts, b.IntNumber(1))
		output, sizes = b.Div(b.sumRows(byFrequency, sparse), b.Unsqueeze(counts, 1)), b.counts
	default:
		rows, output = b.findMaxima()
		sizes = b.counts
	}
	if rows == nil {
		rows = b.CloneWith(sizes, shape.Preserve)
	}
	list, err := b.ReturnAll([]*tensor.Tensor{output, owners, sizes, rows})
	return list[0], list[1], list[2], list[3], err
}

// NnEmbeddingBag reduces bags of rows of a matrix. With maxNorm, it first renormalizes the rows in place.
func NnEmbeddingBag(c dispatch.Context, self, weight, offsets *tensor.Tensor, maxNorm *float64, normType float64, byFrequency bool,
	mode string, sparse bool, values *tensor.Tensor, last bool, padding ops.Int) (_ *tensor.Tensor, err error) {
	const op = "nn_embedding_bag"
	number := slices.Index([]string{"sum", "mean", "max"}, mode)
	switch {
	case values != nil && !slices.Equal(self.Sizes(), values.Sizes()):
		return nil, status.Valuef("%s: per_sample_weights of shape %v must have the same shape as the input, %v", op, values.Sizes(),
			self.Sizes())
	case weight.Dim() != 2:
		return nil, status.Valuef("%s: weight must be a matrix, but has sizes %v", op, weight.Sizes())
	case self.Dim() != 1 && self.Dim() != 2:
		return nil, status.Valuef("%s: input has to be 1D or 2D Tensor, but has sizes %v", op, self.Sizes())
	case self.Dim() == 2 && offsets != nil:
		return nil, status.Valuef("%s: offsets must be None if self is 2D, but self has sizes %v", op, self.Sizes())
	case self.Dim() == 1 && (offsets == nil || offsets.Dim() != 1):
		return nil, status.Valuef("%s: offsets must be a 1D tensor if self is 1D", op)
	case number < 0:
		return nil, status.Valuef("%s: mode must be sum, mean or max, but is %s", op, mode)
	case mode == "max" && byFrequency:
		return nil, status.Valuef("%s: max mode does not support scaling the gradient by the frequency; mode must be sum or mean", op)
	case mode == "max" && sparse:
		return nil, status.Valuef("%s: max mode does not support sparse weights; mode must be sum or mean", op)
	case values != nil && mode != "sum":
		return nil, status.NotImplementedf("%s: per_sample_weights is only supported for mode='sum', but got mode='%s'", op, mode)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	b.Check(checkRowIndices(op, "indices", self))
	if self.Dim() == 2 {
		rows, width := self.Sizes()[0], self.Sizes()[1]
		indices := b.ArangeWith(dtype.IntScalar(rows), self.DType(), tensor.NoLayout, self.Device())
		offsets = b.Mul(indices, b.IntNumber(width))
		self, last = b.AsShape(self, self.Numel()), false
		if values != nil {
			values = b.AsShape(values, values.Numel())
		}
	}
	if maxNorm != nil {
		bags := &bags{Builder: b} // invalid arguments are rejected before rows change
		bags.checkArguments(weight, self, offsets, values, int64(number), last)
		bags.resolvePadding(weight, padding)
		plain := b.Detach(weight)
		b.EmbeddingRenorm(plain, self, *maxNorm, normType)
	}
	output, owners, sizes, rows, err := c.EmbeddingBag(weight, self, offsets, byFrequency, int64(number), sparse, values, last, padding)
	b.Track(owners, err)
	b.Track(sizes, nil)
	b.Track(rows, nil)
	return build.WriteResult(b, nil, b.Track(output, nil))
}

// NnBag returns a product of a sparse matrix.
func NnBag(c dispatch.Context, weight, crow, col, values *tensor.Tensor, _, _ bool) (*tensor.Tensor, error) {
	t, err := c.CsrSpmm(crow, col, values, weight)
	return wrapError("embedding_bag", t, err)
}
