package shape

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFormatStrides(t *testing.T) {
	image := []int64{2, 3, 4, 5}
	for _, c := range []struct {
		sizes  []int64
		format MemoryFormat
		want   []int64
	}{
		{image, Contiguous, []int64{60, 20, 5, 1}},
		{image, ChannelsLast, []int64{60, 1, 15, 3}},
		{[]int64{2, 3, 4, 5, 6}, ChannelsLast3d, []int64{360, 1, 90, 18, 3}},
		{[]int64{2, 0, 3}, Contiguous, []int64{3, 3, 1}},
	} {
		got, err := FormatStrides("op", c.sizes, c.format)
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
		assert.True(t, IsFormat(c.sizes, got, c.format))
	}
	_, err := FormatStrides("empty", []int64{2, 3}, ChannelsLast)
	assert.ErrorContains(t, err, "required rank 4")
	assert.False(t, IsFormat(image, ContiguousStrides(image), ChannelsLast))
	assert.False(t, IsFormat([]int64{2, 3}, []int64{3, 1}, ChannelsLast))
}

func TestContiguousAndDense(t *testing.T) {
	for _, c := range []struct {
		sizes, strides    []int64
		contiguous, dense bool
	}{
		{[]int64{2, 3}, []int64{3, 1}, true, true},
		{[]int64{2, 3}, []int64{1, 2}, false, true},
		{[]int64{2, 3}, []int64{4, 1}, false, false},
		{[]int64{2, 3}, []int64{0, 1}, false, false},
		{[]int64{1, 3}, []int64{99, 1}, true, true},
		{[]int64{3, 1}, []int64{1, 99}, true, true},
		{[]int64{3}, []int64{2}, false, false},
		{[]int64{}, []int64{}, true, true},
		{[]int64{2, 0}, []int64{7, 9}, true, false},
	} {
		assert.Equal(t, c.contiguous, IsContiguous(c.sizes, c.strides), c)
		if c.sizes == nil || Product(c.sizes) > 0 {
			assert.Equal(t, c.dense, IsDense(c.sizes, c.strides), c)
		}
	}
}

func TestPreserveStrides(t *testing.T) {
	for _, c := range []struct{ sizes, strides, want []int64 }{
		{[]int64{2, 3}, []int64{3, 1}, []int64{3, 1}},
		{[]int64{2, 3}, []int64{1, 2}, []int64{1, 2}},   // dense, transposed: kept
		{[]int64{2, 3}, []int64{6, 2}, []int64{3, 1}},   // gaps close
		{[]int64{2, 3}, []int64{2, 8}, []int64{1, 2}},   // gaps close, the order stays
		{[]int64{2, 3}, []int64{0, 1}, []int64{3, 1}},   // expanded
		{[]int64{1, 3}, []int64{42, 1}, []int64{42, 1}}, // a free stride is kept
		{[]int64{0, 3}, []int64{7, 2}, []int64{7, 2}},   // so are those of nothing
		{[]int64{2, 3, 4}, []int64{4, 8, 1}, []int64{4, 8, 1}},
	} {
		assert.Equal(t, c.want, PreserveStrides(c.sizes, c.strides), c)
	}
}

func TestSuggestFormat(t *testing.T) {
	sizes := []int64{2, 3, 4, 5}
	assert.Equal(t, ChannelsLast, SuggestFormat(sizes, []int64{60, 1, 15, 3}))
	assert.Equal(t, ChannelsLast, SuggestFormat(sizes, []int64{120, 1, 30, 6}), "gaps do not matter")
	assert.Equal(t, Contiguous, SuggestFormat(sizes, ContiguousStrides(sizes)))
	assert.Equal(t, Contiguous, SuggestFormat([]int64{1, 1, 1, 1}, []int64{1, 1, 1, 1}), "ties are contiguous")
}

func TestViewStrides(t *testing.T) {
	for _, c := range []struct {
		sizes, strides, view, want []int64
	}{
		{[]int64{2, 3}, []int64{3, 1}, []int64{6}, []int64{1}},
		{[]int64{6}, []int64{2}, []int64{2, 3}, []int64{6, 2}},
		{[]int64{2, 3}, []int64{1, 2}, []int64{6}, nil},
		{[]int64{2, 3}, []int64{1, 2}, []int64{2, 3, 1}, []int64{1, 2, 2}},
		{[]int64{4, 3}, []int64{6, 1}, []int64{2, 2, 3}, []int64{12, 6, 1}},
		{[]int64{4, 3}, []int64{6, 1}, []int64{2, 6}, nil},
		{[]int64{2, 3}, []int64{0, 1}, []int64{6}, nil},
		{[]int64{}, []int64{}, []int64{1, 1}, []int64{1, 1}},
		{[]int64{0, 3}, []int64{3, 1}, []int64{3, 0}, []int64{1, 1}},
	} {
		got, ok := ViewStrides(c.sizes, c.strides, c.view)
		assert.Equal(t, c.want != nil, ok, c)
		if ok {
			assert.Equal(t, c.want, got, c)
		}
	}
}

func TestSpan(t *testing.T) {
	for _, c := range []struct {
		sizes, strides []int64
		offset, lo, hi int64
	}{
		{[]int64{2, 3}, []int64{3, 1}, 4, 4, 9},
		{[]int64{2, 3}, []int64{-3, 1}, 4, 1, 6},
		{[]int64{2, 0}, []int64{100, 1}, 4, 4, 3},
		{nil, nil, 7, 7, 7},
	} {
		lo, hi, err := Span("op", c.sizes, c.strides, c.offset)
		require.NoError(t, err)
		assert.Equal(t, []int64{c.lo, c.hi}, []int64{lo, hi})
	}
	for _, c := range []struct{ sizes, strides []int64 }{
		{[]int64{3}, []int64{math.MaxInt64}},
		{[]int64{3}, []int64{math.MinInt64}},
		{[]int64{1 << 40, 2}, []int64{1 << 30, 1}},
		{[]int64{2, 2, 2}, []int64{1 << 61, 1 << 61, 1 << 61}},
	} {
		_, _, err := Span("as_strided", c.sizes, c.strides, 0)
		assert.ErrorContains(t, err, "more elements than a 64-bit integer", c)
	}
}
