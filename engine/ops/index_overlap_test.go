package ops

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// allOneElement is a view of n elements that are all the same memory, a zero.
func allOneElement(t *testing.T, n int64) *tensor.Tensor {
	t.Helper()
	v, err := view.Expand("test", given(t, dtype.Float32, []int64{1}, 0), []int64{n})
	require.NoError(t, err)
	t.Cleanup(v.Release)
	return v
}

// One value may be written to elements that share memory, several may not.
func TestWritesToElementsThatShareMemory(t *testing.T) {
	index, all := vectorOf(t, 0, 1), vectorOf(t, 0, 1, 2, 3)
	mask := given(t, dtype.Bool, []int64{4}, 1, 0, 1, 0)
	two, four, three := numbers(t, dtype.Float32, 2), numbers(t, dtype.Float32, 4), numbers(t, dtype.Float32, 4)
	one := given(t, dtype.Float32, nil, 1)
	number := long1(t)
	scalar := dtype.IntScalar(1)
	type write func(x *tensor.Tensor) error
	last := func(_ *tensor.Tensor, err error) error { return err }
	for name, run := range map[string]write{
		"fill_":              func(x *tensor.Tensor) error { return last(Fill(x, x, number)) },
		"x[...] = 1":         func(x *tensor.Tensor) error { return IndexSetScalar(x, []IndexItem{{Kind: IndexEllipsis}}, scalar) },
		"x[1:3] = 1":         func(x *tensor.Tensor) error { return IndexSetScalar(x, []IndexItem{sliceItem(1, 3, 1)}, scalar) },
		"x[index] = 1":       func(x *tensor.Tensor) error { return IndexSetScalar(x, []IndexItem{with(index)}, scalar) },
		"x[mask] = 1":        func(x *tensor.Tensor) error { return IndexSetScalar(x, []IndexItem{with(mask)}, scalar) },
		"masked_fill_":       func(x *tensor.Tensor) error { return last(MaskedFill(x, x, mask, number)) },
		"masked_fill_ of 1":  func(x *tensor.Tensor) error { return last(MaskedFill(x, x, mask, one)) },
		"index_fill_":        func(x *tensor.Tensor) error { return last(IndexFill(x, x, 0, index, number)) },
		"index_put_ of one":  func(x *tensor.Tensor) error { return last(IndexPut(x, x, []*tensor.Tensor{index}, one, false)) },
		"index_put_ by mask": func(x *tensor.Tensor) error { return last(IndexPut(x, x, []*tensor.Tensor{mask}, one, false)) },
	} {
		x := allOneElement(t, 4)
		require.NoError(t, run(x), name)
		assert.Equal(t, []float64{1, 1, 1, 1}, flat(t, x), name)
	}
	x := allOneElement(t, 4)
	require.NoError(t, IndexSetScalar(x, []IndexItem{{Kind: IndexEllipsis}}, scalar))
	require.NoError(t, Zero(x))
	assert.Equal(t, []float64{0, 0, 0, 0}, flat(t, x))
	for name, run := range map[string]write{
		"copy_":            func(x *tensor.Tensor) error { return Copy(x, four, false) },
		"fill_ of a value": func(x *tensor.Tensor) error { return last(Fill(x, x, one)) },
		"x[...] = y":       func(x *tensor.Tensor) error { return IndexSet(x, []IndexItem{{Kind: IndexEllipsis}}, four) },
		"x[index] = y":     func(x *tensor.Tensor) error { return IndexSet(x, []IndexItem{with(index)}, two) },
		"x[mask] = y":      func(x *tensor.Tensor) error { return IndexSet(x, []IndexItem{with(mask)}, two) },
		"index_put_ add":   func(x *tensor.Tensor) error { return last(IndexPut(x, x, []*tensor.Tensor{index}, one, true)) },
		"index_add_":       func(x *tensor.Tensor) error { return last(IndexAdd(x, x, 0, index, two, scalar)) },
		"index_copy_":      func(x *tensor.Tensor) error { return last(IndexCopy(x, x, 0, index, two)) },
		"index_reduce_":    func(x *tensor.Tensor) error { return last(IndexReduce(x, x, 0, index, two, "prod", true)) },
		"put_":             func(x *tensor.Tensor) error { return last(Put(x, x, index, two, false)) },
		"scatter_":         func(x *tensor.Tensor) error { return last(Scatter(x, x, 0, all, four)) },
		"scatter_ value":   func(x *tensor.Tensor) error { return last(ScatterValue(x, x, 0, all, scalar)) },
		"scatter_add_":     func(x *tensor.Tensor) error { return last(ScatterAdd(x, x, 0, all, four)) },
		"scatter_reduce_":  func(x *tensor.Tensor) error { return last(ScatterReduce(x, x, 0, all, four, "sum", true)) },
		"masked_scatter_":  func(x *tensor.Tensor) error { return last(MaskedScatter(x, x, mask, three)) },
		"take out":         func(x *tensor.Tensor) error { return last(Take(x, four, all)) },
		"gather out":       func(x *tensor.Tensor) error { return last(Gather(x, four, 0, all, false)) },
		"index_select out": func(x *tensor.Tensor) error { return last(IndexSelect(x, four, 0, all)) },
	} {
		x := allOneElement(t, 4)
		assert.ErrorContains(t, run(x), "more than one element of the written-to tensor refers to a single memory location", name)
		assert.Equal(t, []float64{0, 0, 0, 0}, flat(t, x), name)
	}
}

// Results of a transposed tensor are contiguous, except for operators that keep its layout.
func TestLayoutsOfIndexedWrites(t *testing.T) {
	const rows, columns = 8, 20
	x := permutation(t, numbers(t, dtype.Float32, columns, rows), 1, 0)
	for _, op := range indexedWrites(t, dtype.Float32, rows, columns) {
		if slices.Contains([]string{"set mask", "set rows", "set columns", "set row", "set all"}, op.name) {
			continue
		}
		got, err := op.run(nil, x)
		require.NoError(t, err)
		keeps := slices.Contains([]string{"index_fill", "index_fill columns", "index_put", "index_put columns", "index_put accumulate",
			"index_put mask", "put"}, op.name)
		want := []int64{columns, 1}
		if keeps {
			want = []int64{1, rows}
		}
		assert.Equal(t, want, got.Strides(), op.name)
		got.Release()
	}
}

// An index or a mask without values is rejected by name.
func TestIndexesWithoutValues(t *testing.T) {
	x := numbers(t, dtype.Float32, 3)
	index, mask := onMeta(t, vectorOf(t, 0, 2)), onMeta(t, given(t, dtype.Bool, []int64{3}, 1, 0, 1))
	one, err := rowMajorCopy("test", given(t, dtype.Int64, nil, 1), dtype.Int64)
	require.NoError(t, err)
	defer one.Release()
	single := onMeta(t, one)
	scalar := dtype.IntScalar(1)
	for name, run := range map[string]func() error{
		"x[index]":       func() error { _, err := IndexGet(x, []IndexItem{with(index)}); return err },
		"x[mask]":        func() error { _, err := IndexGet(x, []IndexItem{with(mask)}); return err },
		"x[one]":         func() error { _, err := IndexGet(x, []IndexItem{with(single)}); return err },
		"x[index] = 1":   func() error { return IndexSetScalar(x, []IndexItem{with(index)}, scalar) },
		"x[mask] = 1":    func() error { return IndexSetScalar(x, []IndexItem{with(mask)}, scalar) },
		"x[mask] = y":    func() error { return IndexSet(x, []IndexItem{with(mask)}, numbers(t, dtype.Float32, 2)) },
		"x[one] = 1":     func() error { return IndexSetScalar(x, []IndexItem{with(single)}, scalar) },
		"masked_fill":    func() error { _, err := MaskedFill(nil, x, mask, long1(t)); return err },
		"masked_scatter": func() error { _, err := MaskedScatter(nil, x, mask, x); return err },
		"masked_select":  func() error { _, err := MaskedSelect(nil, x, mask); return err },
		"take":           func() error { _, err := Take(nil, x, index); return err },
		"put":            func() error { _, err := Put(nil, x, index, numbers(t, dtype.Float32, 2), false); return err },
		"gather":         func() error { _, err := Gather(nil, x, 0, index, false); return err },
		"index_select":   func() error { _, err := IndexSelect(nil, x, 0, index); return err },
		"index_fill":     func() error { _, err := IndexFill(nil, x, 0, index, long1(t)); return err },
		"scatter":        func() error { _, err := ScatterValue(nil, x, 0, index, scalar); return err },
	} {
		err := run()
		require.Error(t, err, name)
		assert.Contains(t, err.Error(), "meta", name)
		assert.NotContains(t, err.Error(), "internal", name)
	}
	assert.Equal(t, []float64{0, 1, 2}, flat(t, x))
	// On the meta device shapes are enough.
	for name, self := range map[string]*tensor.Tensor{"meta": onMeta(t, x)} {
		require.NoError(t, IndexSetScalar(self, []IndexItem{with(index)}, scalar), name)
		require.NoError(t, IndexSetScalar(self, []IndexItem{with(vectorOf(t, 0, 2))}, scalar), name)
		got, err := Take(nil, self, vectorOf(t, 0, 2))
		require.NoError(t, err)
		assert.Equal(t, device.Meta, got.Device().Type)
		got.Release()
	}
}

// Values of no or of too many elements are rejected, and nothing is written.
func TestValuesThatDoNotFit(t *testing.T) {
	x, want := numbers(t, dtype.Float32, 3, 4), flat(t, numbers(t, dtype.Float32, 3, 4))
	mask := given(t, dtype.Bool, []int64{3, 4}, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	row := given(t, dtype.Bool, []int64{3}, 1, 0, 1)
	for _, items := range [][]IndexItem{
		{with(vectorOf(t, 0, 2))}, {with(mask)}, {with(row)}, {at1(1)}, {{Kind: IndexEllipsis}}, {at1(1), at1(1)}, {{Kind: IndexBool, Start: 1}},
		{with(vectorOf(t, 0, 2)), at1(1)},
	} {
		for _, sizes := range [][]int64{{0}, {1, 0}, {0, 4}, {5}, {7, 4}, {2, 2, 2}} {
			assert.Error(t, IndexSet(x, items, numbers(t, dtype.Float32, sizes...)), "%v of shape %v", items, sizes)
			if items[0].Kind == IndexTensor && len(items) == 1 {
				_, err := IndexPut(x, x, []*tensor.Tensor{items[0].Tensor}, numbers(t, dtype.Float32, sizes...), true)
				assert.Error(t, err, "%v of shape %v", items, sizes)
			}
		}
		assert.Equal(t, want, flat(t, x))
	}
	empty, err := Clone(x, shape.Preserve)
	require.NoError(t, err)
	defer empty.Release()
	require.NoError(t, IndexSet(empty, []IndexItem{with(vectorOf(t))}, numbers(t, dtype.Float32, 0, 4)))
	assert.Equal(t, want, flat(t, empty))
}

// The repeated elements of an expanded tensor are checked once, however many they are.
func TestRepeatedElementsAreCheckedOnce(t *testing.T) {
	const many = 1 << 45
	expanded := func(x *tensor.Tensor) *tensor.Tensor {
		wide, err := view.Expand("test", x, []int64{many})
		require.NoError(t, err)
		t.Cleanup(wide.Release)
		return wide
	}
	x, one, two := vectorOf(t, 1, 2, 3), expanded(vectorOf(t, 1)), expanded(vectorOf(t, 2))
	_, err := Gather(nil, x, 0, one, false)
	assert.Equal(t, status.Memory, codeOf(err), "%v", err)
	_, err = Gather(nil, x, 0, expanded(vectorOf(t, 3)), false)
	assert.ErrorContains(t, err, "index 3 is out of bounds for dimension 0 with size 3")
	same, err := Equal(one, one)
	require.NoError(t, err)
	assert.True(t, same)
	same, err = Equal(one, two)
	require.NoError(t, err)
	assert.False(t, same)
	_, err = FloorDivide(nil, one, two)
	assert.Equal(t, status.Memory, codeOf(err), "%v", err)
}
