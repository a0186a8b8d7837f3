package shape_test

import (
	"math"
	"testing"

	"github.com/libtensor/libtensor/engine/shape"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNumel(t *testing.T) {
	for _, c := range []struct {
		sizes []int64
		want  int64
		err   string
	}{
		{nil, 1, ""},
		{[]int64{2, 3}, 6, ""},
		{[]int64{math.MaxInt64, 0, math.MaxInt64}, 0, ""},
		{[]int64{math.MaxInt64, 2}, 0, "more elements than a 64-bit integer counts"},
		{[]int64{3, -1}, 0, "size -1 of dimension 1 is negative"},
	} {
		n, err := shape.Numel("zeros", c.sizes)
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			require.ErrorContains(t, err, "zeros")
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, c.want, n)
	}
}

func TestWrapDim(t *testing.T) {
	d, err := shape.WrapDim("sum", -1, 3)
	require.NoError(t, err)
	assert.Equal(t, 2, d)
	d, err = shape.WrapDim("sum", -1, 0)
	require.NoError(t, err)
	assert.Equal(t, 0, d)
	_, err = shape.WrapDim("sum", 3, 3)
	assert.ErrorContains(t, err, "range of [-3, 2], but got 3")
	_, err = shape.WrapDims("sum", []int64{0, -3}, 3, true)
	assert.ErrorContains(t, err, "dim 0 appears multiple times")
	mask, err := shape.WrapDims("sum", nil, 2, true)
	require.NoError(t, err)
	assert.Equal(t, []bool{true, true}, mask)
}

func TestBroadcast(t *testing.T) {
	out, err := shape.Broadcast("add", []int64{2, 1, 3}, []int64{4, 1})
	require.NoError(t, err)
	assert.Equal(t, []int64{2, 4, 3}, out)
	out, err = shape.Broadcast("add", []int64{0}, []int64{1})
	require.NoError(t, err)
	assert.Equal(t, []int64{0}, out)
	_, err = shape.Broadcast("add", []int64{3}, []int64{4})
	assert.ErrorContains(t, err, "(3)")
	assert.ErrorContains(t, err, "(4)")
}

func TestInferSize(t *testing.T) {
	out, err := shape.InferSize("view", []int64{-1, 3}, 12)
	require.NoError(t, err)
	assert.Equal(t, []int64{4, 3}, out)
	for sizes, text := range map[*[]int64]string{
		{-1, -1}:                       "several -1",
		{-1, 5}:                        "invalid for input of size 12",
		{5}:                            "invalid for input of size 12",
		{math.MaxInt64, math.MaxInt64}: "invalid for input of size 12",
		{-2, 6}:                        "invalid size -2",
	} {
		_, err := shape.InferSize("view", *sizes, 12)
		assert.ErrorContains(t, err, text)
	}
	_, err = shape.InferSize("view", []int64{-1, 0}, 0)
	assert.ErrorContains(t, err, "ambiguous")
}

func TestFormats(t *testing.T) {
	sizes := []int64{2, 3, 4, 5}
	strides, err := shape.FormatStrides("empty", sizes, shape.ChannelsLast)
	require.NoError(t, err)
	assert.Equal(t, []int64{60, 1, 15, 3}, strides)
	assert.True(t, shape.IsFormat(sizes, strides, shape.ChannelsLast))
	assert.False(t, shape.IsContiguous(sizes, strides))
	assert.True(t, shape.IsDense(sizes, strides))
	assert.Equal(t, strides, shape.PreserveStrides(sizes, strides))
	_, err = shape.FormatStrides("empty", sizes[1:], shape.ChannelsLast)
	assert.ErrorContains(t, err, "required rank 4")

	assert.True(t, shape.IsContiguous([]int64{1, 3}, []int64{99, 1}), "the stride of a size 1 does not count")
	assert.True(t, shape.IsContiguous([]int64{2, 0}, []int64{7, 7}), "an empty tensor has no gaps")
	assert.False(t, shape.IsDense([]int64{2, 2}, []int64{4, 1}))
	assert.Equal(t, []int64{1, 2}, shape.PreserveStrides([]int64{2, 3}, []int64{1, 4}), "gaps go, the order stays")
}

func TestViewStrides(t *testing.T) {
	for _, c := range []struct {
		sizes, strides, view, want []int64
	}{
		{[]int64{2, 6}, []int64{6, 1}, []int64{3, 4}, []int64{4, 1}},
		{[]int64{4, 3}, []int64{1, 4}, []int64{2, 2, 3}, []int64{2, 1, 4}},
		{[]int64{4, 3}, []int64{1, 4}, []int64{12}, nil},
		{[]int64{2, 3}, []int64{6, 1}, []int64{6}, nil},
		{[]int64{1, 1}, []int64{5, 7}, []int64{1}, []int64{7}},
		{nil, nil, []int64{1, 1}, []int64{1, 1}},
	} {
		got, ok := shape.ViewStrides(c.sizes, c.strides, c.view)
		assert.Equal(t, c.want != nil, ok, "%v as %v", c.sizes, c.view)
		if ok {
			assert.Equal(t, c.want, got)
		}
	}
}

func TestSpan(t *testing.T) {
	lo, hi, err := shape.Span("as_strided", []int64{2, 3}, []int64{10, 2}, 5)
	require.NoError(t, err)
	assert.Equal(t, []int64{5, 19}, []int64{lo, hi})
	_, _, err = shape.Span("as_strided", []int64{math.MaxInt64}, []int64{4}, 0)
	assert.ErrorContains(t, err, "further than a 64-bit integer counts")
	lo, hi, err = shape.Span("as_strided", []int64{0, 3}, []int64{10, 2}, 5)
	require.NoError(t, err)
	assert.Equal(t, lo-1, hi, "an empty tensor reaches nothing")
}
