package shape

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNumel(t *testing.T) {
	for _, c := range []struct {
		sizes   []int64
		want    int64
		problem string
	}{
		{nil, 1, ""},
		{[]int64{2, 3, 4}, 24, ""},
		{[]int64{math.MaxInt64}, math.MaxInt64, ""},
		{[]int64{math.MaxInt64, math.MaxInt64, 0}, 0, ""},
		{[]int64{1 << 32, 1 << 31}, 0, "more elements"},
		{[]int64{1 << 32, 1 << 32, 2}, 0, "more elements"},
		{[]int64{2, -1}, 0, "size -1 of dimension 1 is negative"},
	} {
		n, err := Numel("op", c.sizes)
		if c.problem != "" {
			assert.ErrorContains(t, err, c.problem, c.sizes)
			continue
		}
		require.NoError(t, err, c.sizes)
		assert.Equal(t, c.want, n, c.sizes)
	}
}

func TestWrapDim(t *testing.T) {
	for _, c := range []struct {
		dim, want int64
		ndim      int
	}{{0, 0, 3}, {-1, 2, 3}, {-3, 0, 3}, {2, 2, 3}, {0, 0, 0}, {-1, 0, 0}} {
		d, err := WrapDim("op", c.dim, c.ndim)
		require.NoError(t, err)
		assert.EqualValues(t, c.want, d)
	}
	_, err := WrapDim("sum", 3, 3)
	assert.ErrorContains(t, err, "sum: dimension out of range (expected to be in range of [-3, 2], but got 3)")
	_, err = WrapDim("sum", 1, 0)
	assert.ErrorContains(t, err, "[-1, 0]")
}

func TestWrapDims(t *testing.T) {
	mask, err := WrapDims("op", []int64{-1, 0}, 3, true)
	require.NoError(t, err)
	assert.Equal(t, []bool{true, false, true}, mask)
	mask, err = WrapDims("op", nil, 2, true)
	require.NoError(t, err)
	assert.Equal(t, []bool{true, true}, mask)
	mask, err = WrapDims("op", nil, 2, false)
	require.NoError(t, err)
	assert.Equal(t, []bool{false, false}, mask)
	_, err = WrapDims("op", []int64{0, -2}, 2, true)
	assert.ErrorContains(t, err, "dim 0 appears multiple times")
	_, err = WrapDims("op", nil, MaxReducedDims+1, true)
	assert.ErrorContains(t, err, "up to 64 dims")
}

func TestBroadcast(t *testing.T) {
	for _, c := range []struct{ a, b, want []int64 }{
		{[]int64{2, 3}, []int64{3}, []int64{2, 3}},
		{[]int64{3}, []int64{2, 1}, []int64{2, 3}},
		{[]int64{4, 1, 3}, []int64{2, 1}, []int64{4, 2, 3}},
		{[]int64{0, 3}, []int64{1, 3}, []int64{0, 3}},
		{[]int64{5}, nil, []int64{5}},
	} {
		got, err := Broadcast("op", c.a, c.b)
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
	_, err := Broadcast("add", []int64{2, 3}, []int64{4})
	assert.ErrorContains(t, err, "size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1")
	_, err = Broadcast("add", []int64{0}, []int64{2})
	assert.Error(t, err, "0 is no size that stretches")
}

func TestInferSize(t *testing.T) {
	for _, c := range []struct {
		sizes   []int64
		numel   int64
		want    []int64
		problem string
	}{
		{[]int64{2, -1}, 6, []int64{2, 3}, ""},
		{[]int64{-1}, 0, []int64{0}, ""},
		{[]int64{}, 1, []int64{}, ""},
		{[]int64{-1, -1}, 6, nil, "several -1"},
		{[]int64{4, -1}, 6, nil, "invalid for input of size 6"},
		{[]int64{0, -1}, 0, nil, "ambiguous"},
		{[]int64{-2, 3}, 6, nil, "invalid size -2"},
		{[]int64{1 << 32, 1 << 32, -1}, 6, nil, "invalid for input of size 6"},
		{[]int64{5}, 6, nil, "invalid for input of size 6"},
	} {
		got, err := InferSize("view", c.sizes, c.numel)
		if c.problem != "" {
			assert.ErrorContains(t, err, c.problem, c.sizes)
			continue
		}
		require.NoError(t, err, c.sizes)
		assert.Equal(t, c.want, got)
	}
}
