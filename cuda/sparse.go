package cuda

import (
	"math"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/tensor"
)

// groupEntries sorts entries by the row-major numbers of their positions.
func groupEntries(op string, w backend.Grouping) (g backend.Grouped, err error) {
	b := &composite{build.New(withoutKeys, op)}
	defer b.Close(&err)
	var lists []*tensor.Tensor
	for _, l := range w.Lists {
		lists = append(lists, b.flattenIndices(l, w.Sizes))
	}
	keys := lists[0]
	if len(lists) > 1 {
		keys = b.Cat(lists, 0)
	} else if b.isIncreasing(keys) {
		return g, nil
	}
	n := keys.Numel()
	sorted, order := b.SortStableWith(keys, ops.True, 0, false)
	starts := b.makeIntegers(keys, n+1)
	if n > 0 {
		first := b.Cat([]*tensor.Tensor{b.OnesBeside(keys, dtype.Bool, 1), b.Ne(b.Narrow(sorted, 0, 1, n-1), b.Narrow(sorted, 0, 0, n-1)),
			b.OnesBeside(keys, dtype.Bool, 1)}, 0)
		starts = b.MaskedSelect(starts, first)
	}
	groups := starts.Numel() - 1
	places := b.EmptyBeside(keys, dtype.Int64, int64(len(w.Sizes)), groups)
	rest := b.IndexSelect(sorted, 0, b.Narrow(starts, 0, 0, groups))
	for d := len(w.Sizes) - 1; d >= 0; d-- {
		size := b.IntNumber(max(w.Sizes[d], 1))
		b.copyResult(b.Select(places, 0, int64(d)), b.Remainder(rest, size))
		rest = b.FloorDivide(rest, size)
	}
	order, _ = b.Return(order)
	places, starts, err = b.ReturnBoth(places, starts)
	return backend.Grouped{Places: places, Order: order, Starts: starts}, err
}

// makeIntegers returns the integers below n, on the device of t.
func (b *composite) makeIntegers(t *tensor.Tensor, n int64) *tensor.Tensor {
	return b.ArangeWith(dtype.IntScalar(n), dtype.Int64, tensor.NoLayout, t.Device())
}

// isTrue waits for the value of a bool.
func (b *composite) isTrue(t *tensor.Tensor) bool {
	v, _ := b.ReadElement(t)
	return v.Bool()
}

// isIncreasing reports whether each number is larger than the one before.
func (b *composite) isIncreasing(t *tensor.Tensor) bool {
	n := t.Numel()
	return n < 2 || b.isTrue(b.All(b.Gt(b.Narrow(t, 0, 1, n-1), b.Narrow(t, 0, 0, n-1)), nil, false))
}

// flattenIndices returns the row-major numbers of positions, a row of which has the indices of a dimension.
func (b *composite) flattenIndices(list *tensor.Tensor, sizes []int64) *tensor.Tensor {
	keys := b.ZerosBeside(list, dtype.Int64, list.Sizes()[1])
	for d, size := range sizes {
		index := b.CastTo(b.Select(list, 0, int64(d)), dtype.Int64)
		b.checkIndices(index, size, func(bad int64) error { return backend.BadPosition(b.Op, bad, int64(d), size) })
		keys = b.Add(b.Mul(keys, b.IntNumber(size)), index)
	}
	return keys
}

// checkIndices returns the error that `explain` makes for the first index out of range.
func (b *composite) checkIndices(index *tensor.Tensor, size int64, explain func(bad int64) error) {
	outside := b.LogicalOr(b.Lt(index, b.IntNumber(0)), b.Ge(index, b.IntNumber(size)))
	if index.Numel() == 0 || !b.isTrue(b.Any(outside, nil, false)) {
		return
	}
	bad, _ := b.ReadElement(b.Select(b.MaskedSelect(index, outside), 0, 0))
	b.Check(explain(bad.Int()))
}

// compressIndices finds where each line begins among sorted ones.
var compressIndices = makeComposite(func(b *composite, w backend.Lines) {
	n := w.From.Numel()
	if n == 0 {
		b.fillTensor(w.To, dtype.IntScalar(0))
		return
	}
	from := b.CastTo(w.From, dtype.Int64)
	size := w.To.Numel() - 1
	b.checkIndices(from, size, func(bad int64) error { return backend.BadLine(b.Op, bad, size) })
	if n > 1 {
		falls := b.Lt(b.Narrow(from, 0, 1, n-1), b.Narrow(from, 0, 0, n-1))
		if b.isTrue(b.Any(falls, nil, false)) {
			bad, _ := b.ReadElement(b.Select(b.MaskedSelect(b.Narrow(from, 0, 1, n-1), falls), 0, 0))
			b.Check(backend.FallingLine(b.Op, bad.Int()))
		}
	}
	b.copyResult(w.To, b.Searchsorted(b.AsContiguous(from), b.makeIntegers(from, size+1)))
})

// expandIndices finds the line of each entry.
var expandIndices = makeComposite(func(b *composite, w backend.Expansion) {
	batches, n, entries := w.From.Sizes()[0], w.From.Sizes()[1]-1, w.To.Sizes()[1]
	if n == 0 || batches == 0 {
		b.fillTensor(w.To, dtype.IntScalar(0))
		return
	}
	for i := range batches {
		b.copyResult(b.Select(w.To, 0, i), b.findEntryRows(b.AsContiguous(b.Select(w.From, 0, i)), n, entries))
	}
})

// findEntryRows returns the line of each entry, of compressed indices, which must increase from 0 to the number of entries.
func (b *composite) findEntryRows(compressed *tensor.Tensor, n, entries int64) *tensor.Tensor {
	compressed = b.CastTo(compressed, dtype.Int64)
	bounds := b.Cat([]*tensor.Tensor{b.ZerosBeside(compressed, dtype.Int64, 1), compressed}, 0)
	after := b.Cat([]*tensor.Tensor{compressed, b.makeInteger(compressed, entries)}, 0)
	wrong := b.Gt(bounds, after)
	wrong = b.LogicalOr(wrong, b.Cat([]*tensor.Tensor{b.Ne(b.Narrow(compressed, 0, 0, 1), b.IntNumber(0)),
		b.ZerosBeside(compressed, dtype.Bool, n),
		b.Ne(b.Narrow(compressed, 0, n, 1), b.IntNumber(entries))}, 0))
	if b.isTrue(b.Any(wrong, nil, false)) {
		at, _ := b.ReadElement(b.Argmax(b.CastTo(wrong, dtype.Uint8), lastDim, false))
		b.Check(backend.BadCompressed(b.Op, max(min(at.Int(), n)-1, 0)))
	}
	found := b.SearchsortedWith(compressed, b.makeIntegers(compressed, entries), false, true, "", nil)
	return b.Sub(found, b.IntNumber(1))
}

// makeInteger returns an integer of the host, on the device of t.
func (b *composite) makeInteger(t *tensor.Tensor, n int64) *tensor.Tensor {
	made := b.EmptyBeside(t, dtype.Int64, 1)
	b.fillTensor(made, dtype.IntScalar(n))
	return made
}

// findEntryIndices returns the rows and columns of the entries of a matrix.
func (b *composite) findEntryIndices(m backend.CSR) (rows, columns *tensor.Tensor) {
	rows = b.findEntryRows(m.Compressed, m.Compressed.Numel()-1, m.Plain.Numel())
	columns = b.CastTo(m.Plain, dtype.Int64)
	b.checkIndices(columns, m.Columns, func(bad int64) error { return backend.BadPlain(b.Op, bad) })
	return rows, columns
}

// multiplySparse adds the rows of B, times the values of the entries of A, to the rows of the entries.
var multiplySparse = makeComposite(func(b *composite, w backend.SparseDense) {
	rows, columns := b.findEntryIndices(w.A)
	if w.Maxima {
		b.writeMaxima(w, rows, columns)
		return
	}
	d := w.To.DType().Compute()
	parts := b.CastTo(b.IndexSelect(w.B, 0, columns), d)
	if w.A.Values != nil {
		parts = b.Mul(parts, b.Unsqueeze(b.CastTo(w.A.Values, d), -1))
	}
	b.copyResult(w.To, b.IndexAdd(b.ZerosBeside(w.To, d, w.To.Sizes()...), 0, rows, parts))
})

// writeMaxima writes which row of B, of those at the entries of a row of A, has the first maximum or NaN.
func (b *composite) writeMaxima(w backend.SparseDense, rows, columns *tensor.Tensor) {
	n, sizes := columns.Numel(), w.To.Sizes()
	if n == 0 {
		b.fillTensor(w.To, dtype.IntScalar(0))
		return
	}
	parts := b.IndexSelect(w.B, 0, columns)
	least := b.EmptyBeside(w.B, w.B.DType(), sizes...)
	b.fillTensor(least, dtype.FloatScalar(math.Inf(-1)))
	most := b.IndexSelect(b.IndexReduce(least, 0, rows, parts, "amax"), 0, rows)
	hit := b.LogicalOr(b.Eq(parts, most), b.Isnan(parts))
	number := b.Where(hit, b.Unsqueeze(b.makeIntegers(columns, n), 1), b.IntNumber(n))
	none := b.EmptyBeside(w.B, dtype.Int64, sizes...)
	b.fillTensor(none, dtype.IntScalar(n))
	first := b.IndexReduce(none, 0, rows, number, "amin")
	all := b.Cat([]*tensor.Tensor{columns, b.ZerosBeside(columns, dtype.Int64, 1)}, 0) // 0 without entries
	b.copyResult(w.To, b.Take(all, first))
}

// sampleProduct computes the elements of a product at the entries of a matrix.
var sampleProduct = makeComposite(func(b *composite, w backend.Sampled) {
	rows, columns := b.findEntryIndices(w.At)
	product := b.Mul(b.IndexSelect(w.A, 0, rows), b.IndexSelect(w.B, 0, columns))
	b.copyResult(w.At.Values, b.SumWith(product, []int64{-1}, false, dtype.None))
})

// addSparse adds two sparse matrices.
func addSparse(op string, w backend.SparseSum) (m backend.CSR, err error) {
	b := &composite{build.New(withoutKeys, op)}
	defer b.Close(&err)
	rowsA, columnsA := b.findEntryIndices(w.A)
	rowsB, columnsB := b.findEntryIndices(w.B)
	join := func(x, y *tensor.Tensor) *tensor.Tensor { return b.Cat([]*tensor.Tensor{x, y}, 0) }
	return b.sumDuplicates(w.A.Compressed.Numel()-1, w.A.Columns, join(rowsA, rowsB), join(columnsA, columnsB), join(w.A.Values, w.B.Values))
}

// multiplySparseMatrices multiplies every entry of A by those of a row of B.
func multiplySparseMatrices(op string, w backend.SparseSparse) (m backend.CSR, err error) {
	b := &composite{build.New(withoutKeys, op)}
	defer b.Close(&err)
	rows, middle := b.findEntryIndices(w.A)
	_, columns := b.findEntryIndices(w.B)
	starts := b.CastTo(w.B.Compressed, dtype.Int64)
	first := b.IndexSelect(starts, 0, middle)
	counts := b.Sub(b.IndexSelect(starts, 0, b.Add(middle, b.IntNumber(1))), first)
	of := b.RepeatInterleaveTensor(b.makeIntegers(rows, rows.Numel()), counts, ops.NoInt) // the entry of A for each product
	before := b.Sub(b.Cumsum(counts, 0), counts)
	at := b.Add(b.Sub(b.makeIntegers(rows, of.Numel()), b.IndexSelect(before, 0, of)), b.IndexSelect(first, 0, of))
	values := b.Mul(b.IndexSelect(w.A.Values, 0, of), b.IndexSelect(w.B.Values, 0, at))
	return b.sumDuplicates(w.A.Compressed.Numel()-1, w.B.Columns, b.IndexSelect(rows, 0, of), b.IndexSelect(columns, 0, at), values)
}

// sumDuplicates returns a matrix of which entries with one position are summed, in their order.
func (b *composite) sumDuplicates(rows, width int64, row, column, values *tensor.Tensor) (m backend.CSR, err error) {
	n := row.Numel()
	keys, order := b.SortStableWith(b.Add(b.Mul(row, b.IntNumber(max(width, 1))), column), ops.True, 0, false)
	first := b.OnesBeside(keys, dtype.Bool, n)
	if n > 1 {
		b.copyResult(b.Narrow(first, 0, 1, n-1), b.Ne(b.Narrow(keys, 0, 1, n-1), b.Narrow(keys, 0, 0, n-1)))
	}
	distinct := b.MaskedSelect(keys, first)
	d := values.DType().Compute()
	sums := b.ZerosBeside(values, d, distinct.Numel())
	place := b.Sub(b.CumsumWith(first, 0, dtype.Int64), b.IntNumber(1))
	sums = b.CastTo(b.IndexAdd(sums, 0, place, b.CastTo(b.IndexSelect(values, 0, order), d)), values.DType())
	size := b.IntNumber(max(width, 1))
	m.Compressed = b.Searchsorted(b.FloorDivide(distinct, size), b.makeIntegers(keys, rows+1))
	m.Plain, m.Values, m.Columns = b.Remainder(distinct, size), sums, width
	m.Values, _ = b.Return(m.Values)
	m.Compressed, m.Plain, err = b.ReturnBoth(m.Compressed, m.Plain)
	return m, err
}
