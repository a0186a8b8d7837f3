package ops

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// counting makes a tensor of 0, 1, 2, ... that the test releases.
func counting(t *testing.T, d dtype.DType, sizes ...int64) *tensor.Tensor {
	t.Helper()
	flat, err := Arange(nil, dtype.IntScalar(shape.Product(sizes)), d, tensor.NoLayout, device.None)
	require.NoError(t, err)
	require.NoError(t, flat.SetGeometry("test", sizes, shape.ContiguousStrides(sizes), 0))
	t.Cleanup(flat.Release)
	return flat
}

func vectorOf(t *testing.T, values ...int64) *tensor.Tensor {
	t.Helper()
	v, err := tensor.Empty("test", []int64{int64(len(values))}, dtype.Int64, device.Host)
	require.NoError(t, err)
	copy(elements[int64](v), values)
	t.Cleanup(v.Release)
	return v
}

// valuesOf lists a tensor's elements in row-major order, as float64.
func valuesOf(t *testing.T, x *tensor.Tensor) []float64 {
	t.Helper()
	flat, err := cloneTensor("test", x, dtype.Float64, x.Device(), shape.Contiguous)
	require.NoError(t, err)
	defer flat.Release()
	out := make([]float64, flat.Numel())
	if err := flat.SetGeometry("test", []int64{flat.Numel()}, []int64{1}, 0); err != nil {
		t.Fatal(err)
	}
	for i := range out {
		out[i] = flat.At([]int64{int64(i)}).F
	}
	return out
}

func sliceItem(start, stop, step Int) IndexItem {
	return IndexItem{Kind: IndexSlice, Start: int64(start), Stop: int64(stop), Step: int64(step)}
}

func at1(i int64) IndexItem { return IndexItem{Kind: IndexInt, Start: i} }

func with(t *tensor.Tensor) IndexItem { return IndexItem{Kind: IndexTensor, Tensor: t} }

func TestIndexReads(t *testing.T) {
	x := counting(t, dtype.Float32, 2, 3, 4)
	all := sliceItem(NoInt, NoInt, NoInt)
	cases := []struct {
		name   string
		index  []IndexItem
		sizes  []int64
		values []float64
		shares bool
	}{
		{"int", []IndexItem{at1(-1), at1(0)}, []int64{4}, []float64{12, 13, 14, 15}, true},
		{"slice with a step", []IndexItem{at1(0), at1(0), sliceItem(1, NoInt, 2)}, []int64{2}, []float64{1, 3}, true},
		{"ellipsis and new axis", []IndexItem{{Kind: IndexEllipsis}, at1(3), {Kind: IndexNewAxis}}, []int64{2, 3, 1},
			[]float64{3, 7, 11, 15, 19, 23}, true},
		{"tensor", []IndexItem{at1(0), with(vectorOf(t, 2, -3))}, []int64{2, 4}, []float64{8, 9, 10, 11, 0, 1, 2, 3}, false},
		{"tensors together stay in place", []IndexItem{sliceItem(0, 1, 1), with(vectorOf(t, 0, 1)), with(vectorOf(t, 1, 2))}, []int64{1, 2},
			[]float64{1, 6}, false},
		{"tensors apart come first", []IndexItem{with(vectorOf(t, 1)), all, with(vectorOf(t, 0, 3))}, []int64{2, 3},
			[]float64{12, 16, 20, 15, 19, 23}, false},
		{"false selects nothing", []IndexItem{{Kind: IndexBool}}, []int64{0, 2, 3, 4}, []float64{}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := IndexGet(x, c.index)
			require.NoError(t, err)
			defer got.Release()
			assert.Equal(t, c.sizes, append([]int64{}, got.Sizes()...))
			assert.Equal(t, c.values, valuesOf(t, got))
			assert.Equal(t, c.shares, got.Storage() == x.Storage())
		})
	}
}

func TestIndexErrors(t *testing.T) {
	x := counting(t, dtype.Float32, 3, 4)
	for _, c := range []struct {
		index   []IndexItem
		message string
	}{
		{[]IndexItem{at1(5)}, "index 5 is out of bounds for dimension 0 with size 3"},
		{[]IndexItem{with(vectorOf(t, 0, -4))}, "index -4 is out of bounds for dimension 0 with size 3"},
		{[]IndexItem{at1(0), at1(0), at1(0)}, "too many indices for tensor of dimension 2"},
		{[]IndexItem{sliceItem(0, 1, 0)}, "slice step must be positive"},
		{[]IndexItem{with(vectorOf(t, 0, 1)), with(vectorOf(t, 0, 1, 2))}, "could not be broadcast together with shapes [2], [3]"},
	} {
		_, err := IndexGet(x, c.index)
		assert.ErrorContains(t, err, c.message)
	}
	y, err := Clone(x, shape.Preserve)
	require.NoError(t, err)
	defer y.Release()
	one := dtype.FloatScalar(100)
	assert.ErrorContains(t, IndexSetScalar(y, []IndexItem{with(vectorOf(t, 0, 9))}, one), "index 9 is out of bounds")
	assert.Equal(t, valuesOf(t, x), valuesOf(t, y), "nothing is written when one index is out of range")
}

func TestMasksReadAndWrite(t *testing.T) {
	x := counting(t, dtype.Int16, 70, 3000) // several blocks of a mask
	limit, err := tensor.WrappedNumber(dtype.IntScalar(3))
	require.NoError(t, err)
	defer limit.Release()
	rest, err := Remainder(nil, x, limit)
	require.NoError(t, err)
	defer rest.Release()
	mask, err := cloneTensor("test", rest, dtype.Bool, device.Host, shape.Contiguous)
	require.NoError(t, err)
	defer mask.Release()
	picked, err := MaskedSelect(nil, x, mask)
	require.NoError(t, err)
	defer picked.Release()
	where, err := Nonzero(nil, mask)
	require.NoError(t, err)
	defer where.Release()
	assert.Equal(t, picked.Numel(), where.Sizes()[0])
	assert.Equal(t, []int64{1, picked.Numel()}, append([]int64{}, where.Strides()...))
	require.NoError(t, IndexSet(x, []IndexItem{with(mask)}, picked), "writing back what was read")
	require.NoError(t, IndexSetScalar(x, []IndexItem{with(mask)}, dtype.IntScalar(-1)))
	left, err := MaskedSelect(nil, x, mask)
	require.NoError(t, err)
	defer left.Release()
	for _, v := range valuesOf(t, left) {
		require.Equal(t, -1.0, v)
	}
}

func TestScatterKeepsTheOrderOfTheIndex(t *testing.T) {
	zero := counting(t, dtype.Float32, 3)
	require.NoError(t, Zero(zero))
	index, source := vectorOf(t, 1, 1, 2), counting(t, dtype.Float32, 3)
	for _, c := range []struct {
		reduce  string
		include bool
		want    []float64
	}{
		{"sum", true, []float64{0, 1, 2}},
		{"prod", false, []float64{0, 0, 2}},
		{"mean", false, []float64{0, 0.5, 2}},
		{"amax", true, []float64{0, 1, 2}},
		{"amin", false, []float64{0, 0, 2}},
	} {
		got, err := ScatterReduce(nil, zero, 0, index, source, c.reduce, c.include)
		require.NoError(t, err, c.reduce)
		assert.Equal(t, c.want, valuesOf(t, got), c.reduce)
		got.Release()
	}
	last, err := Scatter(nil, zero, 0, index, source)
	require.NoError(t, err)
	defer last.Release()
	assert.Equal(t, []float64{0, 1, 2}, valuesOf(t, last), "the last write to a place stays")
	_, err = Scatter(nil, zero, 0, vectorOf(t, 3), source)
	assert.ErrorContains(t, err, "index 3 is out of bounds for dimension 0 with size 3")
}

func TestMeansOfIntegersDoNotWrapBelow(t *testing.T) {
	for _, d := range []dtype.DType{dtype.Uint8, dtype.Int8, dtype.Int16, dtype.Int32, dtype.Uint16, dtype.Uint32} {
		_, most := d.IntegerRange()
		const n = 300
		zero, err := Full(nil, []int64{2}, dtype.IntScalar(0), d, tensor.NoLayout, device.Host)
		require.NoError(t, err)
		index, err := Full(nil, []int64{n}, dtype.IntScalar(0), dtype.Int64, tensor.NoLayout, device.Host)
		require.NoError(t, err)
		source, err := Full(nil, []int64{n}, dtype.UintScalar(most), d, tensor.NoLayout, device.Host)
		require.NoError(t, err)
		for _, reduce := range []func(out, self *tensor.Tensor, dim int64, index, source *tensor.Tensor, reduce string,
			includeSelf bool) (*tensor.Tensor, error){ScatterReduce, IndexReduce} {
			got, err := reduce(nil, zero, 0, index, source, "mean", false)
			require.NoError(t, err)
			assert.Equal(t, []float64{float64(most), 0}, valuesOf(t, got), d)
			got.Release()
		}
		zero.Release()
		index.Release()
		source.Release()
	}
}

// Rows of adjacent elements, and the same through transposed views with gaps between the elements.
func TestGatherAndScatterAlongTheLastDimension(t *testing.T) {
	for _, n := range []int{50, 64, 65, 193} { // kernels take 64 indices at a time
		gatherAndScatterRows(t, 3, n)
	}
}

func gatherAndScatterRows(t *testing.T, rows, n int) {
	at := make([]float64, rows*n)
	for i := range at {
		at[i] = float64(i * 7 % n)
	}
	shape, turned := []int64{int64(rows), int64(n)}, []int64{int64(n), int64(rows)}
	for _, d := range []dtype.DType{dtype.Uint8, dtype.Float16, dtype.Int32, dtype.Float64, dtype.Complex128} {
		x, index := given(t, d, shape, make([]float64, rows*n)...), given(t, dtype.Int64, shape, at...)
		for i := range int64(len(at)) {
			tensor.Put(elementAt(x, i), d, dtype.IntScalar(i%97))
		}
		transposed := func(t *testing.T, x *tensor.Tensor) *tensor.Tensor {
			v, err := x.View("test", turned, []int64{1, int64(n)}, 0)
			require.NoError(t, err)
			t.Cleanup(v.Release)
			return v
		}
		for name, run := range map[string]func(x *tensor.Tensor, dim int64, index *tensor.Tensor) (*tensor.Tensor, error){
			"gather": func(x *tensor.Tensor, dim int64, i *tensor.Tensor) (*tensor.Tensor, error) {
				return Gather(nil, x, dim, i, false)
			},
			"scatter": func(x *tensor.Tensor, dim int64, i *tensor.Tensor) (*tensor.Tensor, error) {
				return Scatter(nil, x, dim, i, x)
			},
			"scatter_add": func(x *tensor.Tensor, dim int64, i *tensor.Tensor) (*tensor.Tensor, error) {
				return ScatterAdd(nil, x, dim, i, x)
			},
		} {
			want := make([]float64, rows*n)
			for i := range want {
				row, value, to := i/n*n, float64(i%97), int(at[i])
				switch name {
				case "gather":
					want[i] = float64((row + to) % 97)
				case "scatter":
					want[row+to] = value
				default:
					want[i] += value
					want[row+to] += value
				}
			}
			for i := range want {
				if d == dtype.Uint8 {
					want[i] = float64(uint8(want[i]))
				}
			}
			got, err := run(x, 1, index)
			require.NoError(t, err)
			assert.Equal(t, want, flat(t, got), "%s of %v", name, d)
			got.Release()
			got, err = run(transposed(t, x), 0, transposed(t, index))
			require.NoError(t, err)
			back, err := got.View("test", shape, []int64{got.Strides()[1], got.Strides()[0]}, 0)
			require.NoError(t, err)
			assert.Equal(t, want, flat(t, back), "turned %s of %v", name, d)
			back.Release()
			got.Release()
		}
	}
}

// An index of columns is the same for every row: of many rows it is checked once.
func TestColumnsOfFewAndManyRows(t *testing.T) {
	const columns = 300
	picked, wrapped := make([]int64, columns), make([]int64, columns)
	for i := range picked {
		picked[i] = int64(i) * 7 % columns
		wrapped[i] = picked[i] - int64(i%2)*columns
	}
	index, item := vectorOf(t, picked...), []IndexItem{sliceItem(NoInt, NoInt, NoInt), with(vectorOf(t, wrapped...))}
	for _, rows := range []int64{1, 13, 14, 15, 16, 17, 200} {
		x := counting(t, dtype.Int32, rows, columns)
		zero := given(t, dtype.Int32, []int64{rows, columns}, make([]float64, rows*columns)...)
		read, written := make([]float64, rows*columns), make([]float64, rows*columns)
		for i := range read {
			row, column := i/columns*columns, i%columns
			from := row + int(picked[column])
			read[i], written[from] = float64(from), float64(i)
		}
		for name, c := range map[string]struct {
			run  func() (*tensor.Tensor, error)
			want []float64
		}{
			"index":        {func() (*tensor.Tensor, error) { return IndexGet(x, item) }, read},
			"index_select": {func() (*tensor.Tensor, error) { return IndexSelect(nil, x, 1, index) }, read},
			"index_copy":   {func() (*tensor.Tensor, error) { return IndexCopy(nil, zero, 1, index, x) }, written},
			"index_add": {func() (*tensor.Tensor, error) {
				return IndexAdd(nil, zero, 1, index, x, dtype.IntScalar(1))
			}, written},
			"set": {func() (*tensor.Tensor, error) {
				to, err := Clone(zero, shape.Preserve)
				require.NoError(t, err)
				return to, IndexSet(to, item, x)
			}, written},
		} {
			got, err := c.run()
			require.NoError(t, err, name)
			assert.Equal(t, c.want, flat(t, got), "%s of %d rows", name, rows)
			got.Release()
		}
		far := vectorOf(t, append(slices.Clone(picked[1:]), columns)...)
		_, err := IndexSelect(nil, x, 1, far)
		assert.ErrorContains(t, err, "index 300 is out of bounds for dimension 1 with size 300", "%d rows", rows)
	}
}

func TestViewsShareMemoryAndStayInside(t *testing.T) {
	x := counting(t, dtype.Float32, 4, 6)
	for name, view := range map[string]func() (*tensor.Tensor, error){
		"transpose": func() (*tensor.Tensor, error) { return Transpose(nil, x, 0, -1) },
		"reshape":   func() (*tensor.Tensor, error) { return Reshape(x, []int64{-1, 8}) },
		"expand":    func() (*tensor.Tensor, error) { return Expand(x, []int64{2, -1, -1}, false) },
		"unfold":    func() (*tensor.Tensor, error) { return Unfold(x, 1, 2, 2) },
		"diagonal":  func() (*tensor.Tensor, error) { return Diagonal(x, 1, 0, 1) },
	} {
		v, err := view()
		require.NoError(t, err, name)
		assert.Same(t, x.Storage(), v.Storage(), name)
		v.Release()
	}
	_, err := AsStrided(nil, x, []int64{5, 6}, []int64{6, 1}, NoInt)
	assert.ErrorContains(t, err, "need a storage of 120 bytes, but it has 96")
	_, err = AsStrided(nil, x, []int64{2}, []int64{-1}, 3)
	assert.ErrorContains(t, err, "negative")
}

func TestCopiesTurnLayoutsOver(t *testing.T) {
	for _, d := range []dtype.DType{dtype.Uint8, dtype.Int16, dtype.Float32, dtype.Float64} {
		x := counting(t, d, 37, 3, 41)
		turned, err := Permute(x, []int64{2, 1, 0})
		require.NoError(t, err)
		packed, err := Contiguous(turned, shape.NoFormat)
		require.NoError(t, err)
		for _, p := range [][]int64{{0, 0, 0}, {40, 2, 36}, {17, 1, 33}, {8, 0, 7}} {
			assert.Equal(t, x.At([]int64{p[2], p[1], p[0]}), packed.At(p), "%v at %v", d, p)
		}
		packed.Release()
		turned.Release()
	}
}

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		start, end, step dtype.Scalar
		d                dtype.DType
		want             []float64
	}{
		{dtype.IntScalar(1), dtype.IntScalar(6), dtype.IntScalar(2), dtype.Int64, []float64{1, 3, 5}},
		{dtype.FloatScalar(0), dtype.IntScalar(1), dtype.FloatScalar(0.25), dtype.Float32, []float64{0, 0.25, 0.5, 0.75}},
		{dtype.IntScalar(3), dtype.IntScalar(0), dtype.IntScalar(-1), dtype.Int64, []float64{3, 2, 1}},
		{dtype.IntScalar(math.MaxInt64 - 1), dtype.IntScalar(math.MaxInt64), dtype.IntScalar(5), dtype.Int64, []float64{math.MaxInt64 - 1}},
	} {
		got, err := ArangeStartStep(nil, c.start, c.end, c.step, dtype.None, tensor.NoLayout, device.None)
		require.NoError(t, err)
		assert.Equal(t, c.d, got.DType())
		assert.Equal(t, c.want, valuesOf(t, got))
		got.Release()
	}
	_, err := ArangeStartStep(nil, dtype.IntScalar(0), dtype.IntScalar(5), dtype.IntScalar(-1), dtype.None, tensor.NoLayout, device.None)
	assert.ErrorContains(t, err, "inconsistent with step sign")
	_, err = Full(nil, []int64{2}, dtype.IntScalar(300), dtype.Int8, tensor.NoLayout, device.None)
	assert.ErrorContains(t, err, "value 300 cannot be converted to type int8 without overflow")
}

func TestCatPromotesAndPassesOverEmptyVectors(t *testing.T) {
	a, b, none := counting(t, dtype.Int32, 2, 2), counting(t, dtype.Float16, 2, 1), counting(t, dtype.Int64, 0)
	got, err := Cat(nil, []*tensor.Tensor{a, none, b}, 1)
	require.NoError(t, err)
	defer got.Release()
	assert.Equal(t, dtype.Float16, got.DType())
	assert.Equal(t, []float64{0, 1, 0, 2, 3, 1}, valuesOf(t, got))
	_, err = Cat(nil, []*tensor.Tensor{a, b}, 0)
	assert.ErrorContains(t, err, "Expected size 2 in dimension 1 but got size 1 for tensor number 1")
}

func TestManyTensorsAreJoinedInOrder(t *testing.T) {
	var parts []*tensor.Tensor
	var want []float64
	for i := range 300 {
		part := counting(t, dtype.Float64, int64(i%5), 131)
		parts = append(parts, part)
		want = append(want, valuesOf(t, part)...)
	}
	got, err := Cat(nil, parts, 0)
	require.NoError(t, err)
	defer got.Release()
	assert.Equal(t, []int64{600, 131}, got.Sizes())
	assert.Equal(t, want, valuesOf(t, got))
	alike := []*tensor.Tensor{parts[3], parts[8], parts[13]}
	stacked, err := Stack(nil, alike, 0)
	require.NoError(t, err)
	defer stacked.Release()
	assert.Equal(t, []int64{3, 3, 131}, stacked.Sizes())
	rows := valuesOf(t, parts[3])
	assert.Equal(t, slices.Concat(rows, rows, rows), valuesOf(t, stacked))
}

func TestOverlappingCopyGoesThroughATemporary(t *testing.T) {
	x := counting(t, dtype.Int64, 6)
	head, err := Slice(x, 0, 0, 5, 1)
	require.NoError(t, err)
	defer head.Release()
	tail, err := Slice(x, 0, 1, 6, 1)
	require.NoError(t, err)
	defer tail.Release()
	require.NoError(t, Copy(tail, head, false))
	assert.Equal(t, []float64{0, 0, 1, 2, 3, 4}, valuesOf(t, x))
}

// The error of an index out of range names the dimension of the indexed tensor, regardless of preceding items.
func TestIndexErrorNamesDimension(t *testing.T) {
	x := numbers(t, dtype.Float32, 2, 3, 4)
	five, first := IndexItem{Kind: IndexInt, Start: 5}, IndexItem{Kind: IndexInt}
	for _, c := range []struct {
		items []IndexItem
		want  string
	}{
		{[]IndexItem{five}, "index 5 is out of bounds for dimension 0 with size 2"},
		{[]IndexItem{first, five}, "index 5 is out of bounds for dimension 1 with size 3"},
		{[]IndexItem{first, first, five}, "index 5 is out of bounds for dimension 2 with size 4"},
		{[]IndexItem{{Kind: IndexEllipsis}, five}, "index 5 is out of bounds for dimension 2 with size 4"},
		{[]IndexItem{{Kind: IndexNewAxis}, five}, "index 5 is out of bounds for dimension 0 with size 2"},
	} {
		_, err := IndexGet(x, c.items)
		assert.ErrorContains(t, err, c.want)
	}
}

// Operators under other names report errors under these.
func TestOtherNamesInErrors(t *testing.T) {
	x := numbers(t, dtype.Float32, 2, 3)
	row := numbers(t, dtype.Float32, 3)
	for want, call := range map[string]func() error{
		"adjoint: only supported on":        func() error { _, err := Adjoint(row); return err },
		"select_scatter: index 7 is out of": func() error { _, err := SelectScatter(x, row, 0, 7); return err },
	} {
		assert.ErrorContains(t, call(), want)
	}
}

// Sums of uint64 are those of 64 bits: beyond int64 they have no sign.
func TestMeansOfUint64(t *testing.T) {
	zero, err := Full(nil, []int64{1}, dtype.IntScalar(0), dtype.Uint64, tensor.NoLayout, device.Host)
	require.NoError(t, err)
	defer zero.Release()
	index, err := Full(nil, []int64{2}, dtype.IntScalar(0), dtype.Int64, tensor.NoLayout, device.Host)
	require.NoError(t, err)
	defer index.Release()
	source, err := Full(nil, []int64{2}, dtype.UintScalar(1<<62+6), dtype.Uint64, tensor.NoLayout, device.Host)
	require.NoError(t, err)
	defer source.Release()
	for _, reduce := range []func(out, self *tensor.Tensor, dim int64, index, source *tensor.Tensor, reduce string,
		includeSelf bool) (*tensor.Tensor, error){ScatterReduce, IndexReduce} {
		got, err := reduce(nil, zero, 0, index, source, "mean", false)
		require.NoError(t, err)
		assert.Equal(t, dtype.IntScalar(1<<62+6), got.At([]int64{0}))
		got.Release()
	}
}
