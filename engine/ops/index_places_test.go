package ops

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/cpu"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// numbers makes a tensor of 0, 1, 2, ..., as far as dtype d holds them.
func numbers(t *testing.T, d dtype.DType, sizes ...int64) *tensor.Tensor {
	t.Helper()
	x, err := rowMajorCopy("test", counting(t, dtype.Int64, sizes...), d)
	require.NoError(t, err)
	t.Cleanup(x.Release)
	return x
}

// part views x[start:end] along its first dimension.
func part(t *testing.T, x *tensor.Tensor, start, end, step int64) *tensor.Tensor {
	t.Helper()
	v, err := Slice(x, 0, Int(start), Int(end), step)
	require.NoError(t, err)
	t.Cleanup(v.Release)
	return v
}

func permutation(t *testing.T, x *tensor.Tensor, dims ...int64) *tensor.Tensor {
	t.Helper()
	v, err := Permute(x, dims)
	require.NoError(t, err)
	t.Cleanup(v.Release)
	return v
}

// streaming runs f with outputs from `bytes` on written past the caches.
func streaming(bytes int64, f func()) {
	was := cpu.StreamBytes
	cpu.StreamBytes = bytes
	defer func() { cpu.StreamBytes = was }()
	f()
}

type indexedWrite struct {
	name string
	run  func(out, self *tensor.Tensor) (*tensor.Tensor, error)
}

// indexedWrites are the operators that write to some elements of self: rows x columns numbers of any dtype.
func indexedWrites(t *testing.T, d dtype.DType, rows, columns int64) []indexedWrite {
	number := func(v int64) *tensor.Tensor {
		n, err := tensor.WrappedNumber(dtype.IntScalar(v))
		require.NoError(t, err)
		t.Cleanup(n.Release)
		return n
	}
	picked := vectorOf(t, rows-1, 0, rows/2, 0)
	source := numbers(t, d, 4, columns)
	wide := numbers(t, d, rows, columns)
	index := make([]float64, rows*columns)
	mask := make([]float64, rows*columns)
	for i := range index {
		index[i], mask[i] = float64(i*7%int(columns)), float64(i*5%3/2)
	}
	along, set := given(t, dtype.Int64, []int64{rows, columns}, index...), given(t, dtype.Bool, []int64{rows, columns}, mask...)
	down := given(t, dtype.Int64, []int64{rows, columns}, slices.Repeat([]float64{1}, len(index))...)
	every := []*tensor.Tensor{nil, vectorOf(t, 3, 1, columns-1)}
	three := numbers(t, d, rows, 3)
	one := numbers(t, d, 1)
	in := func(f func(self *tensor.Tensor) error) func(out, self *tensor.Tensor) (*tensor.Tensor, error) {
		return func(_, self *tensor.Tensor) (*tensor.Tensor, error) {
			c, err := Clone(self, shape.Preserve)
			if err != nil {
				return nil, err
			}
			return c, f(c)
		}
	}
	return []indexedWrite{
		{"index_add", func(out, x *tensor.Tensor) (*tensor.Tensor, error) {
			return IndexAdd(out, x, 0, picked, source, dtype.IntScalar(1))
		}},
		{"index_copy", func(out, x *tensor.Tensor) (*tensor.Tensor, error) { return IndexCopy(out, x, 0, picked, source) }},
		{"index_fill", func(out, x *tensor.Tensor) (*tensor.Tensor, error) { return IndexFill(out, x, 0, picked, number(1)) }},
		{"index_fill columns", func(out, x *tensor.Tensor) (*tensor.Tensor, error) { return IndexFill(out, x, 1, picked, number(1)) }},
		{"index_put", func(out, x *tensor.Tensor) (*tensor.Tensor, error) {
			return IndexPut(out, x, []*tensor.Tensor{picked}, source, false)
		}},
		{"index_put columns", func(out, x *tensor.Tensor) (*tensor.Tensor, error) { return IndexPut(out, x, every, three, false) }},
		{"index_put accumulate", func(out, x *tensor.Tensor) (*tensor.Tensor, error) {
			return IndexPut(out, x, []*tensor.Tensor{picked}, source, true)
		}},
		{"index_put mask", func(out, x *tensor.Tensor) (*tensor.Tensor, error) {
			return IndexPut(out, x, []*tensor.Tensor{set}, one, false)
		}},
		{"scatter", func(out, x *tensor.Tensor) (*tensor.Tensor, error) { return Scatter(out, x, 1, along, wide) }},
		{"scatter rows", func(out, x *tensor.Tensor) (*tensor.Tensor, error) { return Scatter(out, x, 0, down, wide) }},
		{"scatter value", func(out, x *tensor.Tensor) (*tensor.Tensor, error) {
			return ScatterValue(out, x, 0, down, dtype.IntScalar(1))
		}},
		{"scatter_add", func(out, x *tensor.Tensor) (*tensor.Tensor, error) { return ScatterAdd(out, x, 0, down, wide) }},
		{"put", func(out, x *tensor.Tensor) (*tensor.Tensor, error) { return Put(out, x, along, wide, false) }},
		{"masked_fill", func(out, x *tensor.Tensor) (*tensor.Tensor, error) { return MaskedFill(out, x, set, number(1)) }},
		{"masked_scatter", func(out, x *tensor.Tensor) (*tensor.Tensor, error) { return MaskedScatter(out, x, set, wide) }},
		{"set mask", in(func(c *tensor.Tensor) error { return IndexSetScalar(c, []IndexItem{with(set)}, dtype.IntScalar(1)) })},
		{"set rows", in(func(c *tensor.Tensor) error { return IndexSet(c, []IndexItem{with(picked)}, source) })},
		{"set columns", in(func(c *tensor.Tensor) error {
			return IndexSet(c, []IndexItem{{Kind: IndexEllipsis}, with(every[1])}, three)
		})},
		{"set row", in(func(c *tensor.Tensor) error { return IndexSet(c, []IndexItem{at1(1)}, part(t, source, 2, 3, 1)) })},
		{"set all", in(func(c *tensor.Tensor) error {
			return IndexSetScalar(c, []IndexItem{{Kind: IndexEllipsis}}, dtype.IntScalar(1))
		})},
	}
}

// Writes to some elements have the same result on both sides of the size from which stores bypass the caches, for every element size and
// layout of self, in place and not.
func TestIndexedWritesOfAnySize(t *testing.T) {
	const rows, columns = 9, 1531
	for _, d := range []dtype.DType{dtype.Uint8, dtype.Int16, dtype.BFloat16, dtype.Float32, dtype.Int64, dtype.Complex128} {
		x := numbers(t, d, rows, columns)
		turned := permutation(t, numbers(t, d, columns, rows), 1, 0)
		gaps := part(t, numbers(t, d, 2*rows, columns), 0, 2*rows, 2)
		for layout, self := range map[string]*tensor.Tensor{"rows": x, "columns": turned, "gaps": gaps} {
			for _, op := range indexedWrites(t, d, rows, columns) {
				var want, got, inPlace []float64
				streaming(math.MaxInt64, func() {
					r, err := op.run(nil, self)
					require.NoError(t, err, op.name)
					want = flat(t, r)
					r.Release()
				})
				streaming(0, func() {
					r, err := op.run(nil, self)
					require.NoError(t, err, op.name)
					got = flat(t, r)
					r.Release()
					c, err := Clone(self, shape.Preserve)
					require.NoError(t, err)
					defer c.Release()
					r, err = op.run(c, c)
					require.NoError(t, err, op.name)
					inPlace = flat(t, r)
					if r != c {
						r.Release()
					}
				})
				require.Equal(t, want, got, "%s of %v in %s", op.name, d, layout)
				require.Equal(t, want, inPlace, "%s_ of %v in %s", op.name, d, layout)
			}
		}
	}
}

// Pointwise results are the same past the caches: into fresh tensors, in place, and over views of one storage.
func TestPointwiseOfAnySize(t *testing.T) {
	const n = 3000
	for _, d := range []dtype.DType{dtype.Int8, dtype.Float32, dtype.Complex64} {
		run := func() [][]float64 {
			var all [][]float64
			x := numbers(t, d, 3, n)
			fresh, err := Mul(nil, x, part(t, x, 1, 2, 1))
			require.NoError(t, err)
			defer fresh.Release()
			all = append(all, flat(t, fresh))
			_, err = Mul(x, x, x)
			require.NoError(t, err)
			_, err = Add(part(t, x, 0, 1, 1), part(t, x, 1, 2, 1), part(t, x, 2, 3, 1), dtype.IntScalar(1))
			require.NoError(t, err)
			return append(all, flat(t, x))
		}
		var want, got [][]float64
		streaming(math.MaxInt64, func() { want = run() })
		streaming(0, func() { got = run() })
		assert.Equal(t, want, got, "%v", d)
	}
}

// An index is read from where it starts, whatever storage it is a part of.
func TestIndexThatIsPartOfAnother(t *testing.T) {
	x := numbers(t, dtype.Float32, 5, 4)
	long := vectorOf(t, 4, 4, 4, 0, 2, 1)
	matrix := given(t, dtype.Int64, []int64{2, 3}, 9, 9, 9, 3, 0, 1)
	row := part(t, matrix, 1, 2, 1)
	vector, err := Select(matrix, 0, 1)
	require.NoError(t, err)
	defer vector.Release()
	rows := func(n ...float64) []float64 {
		var values []float64
		for _, r := range n {
			values = append(values, 4*r, 4*r+1, 4*r+2, 4*r+3)
		}
		return values
	}
	for name, c := range map[string]struct {
		items []IndexItem
		want  []float64
	}{
		"tail":           {[]IndexItem{with(part(t, long, 3, 6, 1))}, rows(0, 2, 1)},
		"every other":    {[]IndexItem{with(part(t, long, 1, 6, 2))}, rows(4, 0, 1)},
		"row":            {[]IndexItem{with(vector)}, rows(3, 0, 1)},
		"row of columns": {[]IndexItem{at1(1), with(vector)}, []float64{7, 4, 5}},
		"two":            {[]IndexItem{with(part(t, long, 3, 6, 1)), with(vector)}, []float64{3, 8, 5}},
		"matrix":         {[]IndexItem{at1(1), with(row)}, []float64{7, 4, 5}},
	} {
		got, err := IndexGet(x, c.items)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, flat(t, got), name)
		got.Release()
		c2, err := Clone(x, shape.Preserve)
		require.NoError(t, err)
		require.NoError(t, IndexSetScalar(c2, c.items, dtype.IntScalar(-1)), name)
		set, err := IndexGet(c2, c.items)
		require.NoError(t, err)
		assert.Equal(t, slices.Repeat([]float64{-1}, len(c.want)), flat(t, set), name)
		set.Release()
		c2.Release()
	}
	for name, run := range map[string]func(index *tensor.Tensor) (*tensor.Tensor, error){
		"index_select": func(i *tensor.Tensor) (*tensor.Tensor, error) { return IndexSelect(nil, x, 1, i) },
		"take":         func(i *tensor.Tensor) (*tensor.Tensor, error) { return Take(nil, x, i) },
		"index_fill":   func(i *tensor.Tensor) (*tensor.Tensor, error) { return IndexFill(nil, x, 1, i, long1(t)) },
		"index_add": func(i *tensor.Tensor) (*tensor.Tensor, error) {
			return IndexAdd(nil, x, 1, i, numbers(t, dtype.Float32, 5, 3), dtype.IntScalar(1))
		},
		"put": func(i *tensor.Tensor) (*tensor.Tensor, error) {
			return Put(nil, x, i, numbers(t, dtype.Float32, 3), false)
		},
	} {
		want, err := run(vectorOf(t, 3, 0, 1))
		require.NoError(t, err, name)
		got, err := run(vector)
		require.NoError(t, err, name)
		assert.Equal(t, flat(t, want), flat(t, got), name)
		want.Release()
		got.Release()
	}
}

func long1(t *testing.T) *tensor.Tensor {
	n, err := tensor.WrappedNumber(dtype.IntScalar(1))
	require.NoError(t, err)
	t.Cleanup(n.Release)
	return n
}

// Whatever the layout of source and index, positions count along the dimensions, not the memory.
func TestIndexedReadsOfAnyLayout(t *testing.T) {
	for _, d := range []dtype.DType{dtype.Uint8, dtype.Float16, dtype.Float32, dtype.Float64, dtype.Complex128} {
		flatSource := part(t, numbers(t, d, 100), 1, 100, 3) // 1 4 7 ...
		got, err := Take(nil, flatSource, vectorOf(t, 2, -1, 0))
		require.NoError(t, err)
		assert.Equal(t, []float64{7, 97, 1}, flat(t, got), "take of %v", d)
		got.Release()
		base := numbers(t, d, 3, 70, 80)
		for name, dims := range map[string][]int64{"turned": {0, 2, 1}, "reversed": {2, 1, 0}, "rolled": {1, 2, 0}} {
			x := permutation(t, base, dims...)
			packed, err := Contiguous(x, shape.NoFormat)
			require.NoError(t, err)
			for dim := range int64(3) {
				index := vectorOf(t, x.Sizes()[dim]-1, 0, 1, 1)
				sizes := []int64{1, 1, 1}
				sizes[dim] = 4
				shaped, err := reshapeTensor("test", index, sizes)
				require.NoError(t, err)
				full := slices.Clone(x.Sizes())
				full[dim] = 4
				wide, err := view.Expand("test", shaped, full)
				require.NoError(t, err)
				items := append(slices.Repeat([]IndexItem{sliceItem(NoInt, NoInt, NoInt)}, int(dim)), with(index))
				for op, run := range map[string]func(x *tensor.Tensor) (*tensor.Tensor, error){
					"index_select": func(x *tensor.Tensor) (*tensor.Tensor, error) { return IndexSelect(nil, x, dim, index) },
					"gather":       func(x *tensor.Tensor) (*tensor.Tensor, error) { return Gather(nil, x, dim, wide, false) },
					"index":        func(x *tensor.Tensor) (*tensor.Tensor, error) { return IndexGet(x, items) },
				} {
					want, err := run(packed)
					require.NoError(t, err)
					got, err := run(x)
					require.NoError(t, err)
					require.Equal(t, flat(t, want), flat(t, got), "%s of %v, %s, along %d", op, d, name, dim)
					want.Release()
					got.Release()
				}
				shaped.Release()
				wide.Release()
			}
			packed.Release()
		}
	}
}

// An index that another thread changes after its check is rejected when it is used, and no memory outside is accessed.
func TestIndicesAreCheckedWhereTheyAreUsed(t *testing.T) {
	for _, bad := range []int64{3, -4, math.MaxInt64, math.MinInt64} {
		for _, d := range []dtype.DType{dtype.Int8, dtype.Float16, dtype.Float32, dtype.Int64, dtype.Complex128} {
			memory := numbers(t, d, 9, 4)
			x := part(t, memory, 3, 6, 1)
			for _, sizes := range [][]int64{{2, 4}, {2, 1}} {
				index, err := reshapeTensor("test", vectorOf(t, 1, bad), []int64{2, 1})
				require.NoError(t, err)
				wide, err := view.Expand("test", index, sizes)
				require.NoError(t, err)
				place := newIndexedAlong(x, 0, wide)
				source := numbers(t, d, sizes...)
				out, err := tensor.Zeros("test", sizes, d, device.Host)
				require.NoError(t, err)
				for _, use := range []func(s *scope){
					func(s *scope) { place.readIndexed(s, out, x) },
					func(s *scope) { place.writeIndexed(s, x, source) },
					func(s *scope) { place.combineSource(s, scatterAdd, x, source) },
				} {
					s := newScope("test")
					assert.ErrorContains(t, s.Try(func() { use(s) }), "is out of bounds for size 3")
					s.ReleaseAll()
				}
				out.Release()
				wide.Release()
				index.Release()
			}
			got := flat(t, memory)
			assert.Equal(t, flat(t, numbers(t, d, 9, 4))[:16], got[:16], "nothing before row 4 is written")
			assert.Equal(t, flat(t, numbers(t, d, 9, 4))[20:], got[20:], "nothing after row 4 is written")
		}
	}
}

// An index that is rejected releases its temporaries.
func TestRejectedIndexesLeakNothing(t *testing.T) {
	x := numbers(t, dtype.Float32, 3, 4)
	truth := IndexItem{Kind: IndexBool, Start: 1}
	mask := given(t, dtype.Bool, []int64{3}, 1, 0, 1)
	values := numbers(t, dtype.Float32, 7)
	for _, items := range [][]IndexItem{
		{truth, at1(99)},
		{truth, with(vectorOf(t, 99))},
		{truth, truth, sliceItem(0, 1, 0)},
		{with(mask), with(vectorOf(t, 0, 1, 2))},
		{with(vectorOf(t, 0)), with(values)},
	} {
		held := storage.MemoryStats()
		_, err := IndexGet(x, items)
		assert.Error(t, err)
		assert.Error(t, IndexSet(x, items, values))
		assert.Error(t, IndexSetScalar(x, items, dtype.IntScalar(1)))
		assert.Equal(t, held.InUse, storage.MemoryStats().InUse)
	}
	assert.Error(t, IndexSet(x, []IndexItem{truth}, values))
	assert.Equal(t, flat(t, numbers(t, dtype.Float32, 3, 4)), flat(t, x))
}
