package view

import (
	"math"
	"testing"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// strided makes a tensor of 64 numbers' storage, seen from element 2 on through the given geometry.
func strided(t *testing.T, d dtype.DType, sizes, strides []int64) *tensor.Tensor {
	t.Helper()
	all, err := tensor.Empty("test", []int64{64}, d, device.Host)
	require.NoError(t, err)
	defer all.Release()
	x, err := all.View("test", sizes, strides, 2)
	require.NoError(t, err)
	t.Cleanup(x.Release)
	return x
}

type list = []int64

func TestViews(t *testing.T) {
	matrix := strided(t, dtype.Float32, list{3, 4}, list{4, 1})
	wide := strided(t, dtype.Float32, list{1, 3, 1, 2}, list{9, 2, 7, 1})
	number := strided(t, dtype.Float32, nil, nil)
	far := strided(t, dtype.Float32, list{0, 3}, list{1, math.MaxInt64 / 2})
	few := func(names ...int) func(int) bool {
		return func(d int) bool { return len(names) == 0 || d == names[0] }
	}
	for _, c := range []struct {
		name           string
		see            func(op string) (*tensor.Tensor, error)
		sizes, strides list
		offset         int64
		err            string
	}{
		{"select", func(op string) (*tensor.Tensor, error) { return Select(op, matrix, -1, -2) }, list{3}, list{4}, 4, ""},
		{"select", func(op string) (*tensor.Tensor, error) { return Select(op, matrix, 0, 3) }, nil, nil, 0,
			"select: index 3 is out of bounds for dimension 0 with size 3"},
		{"select", func(op string) (*tensor.Tensor, error) { return Select(op, matrix, 0, math.MinInt64) }, nil, nil, 0, "out of bounds"},
		{"select", func(op string) (*tensor.Tensor, error) { return Select(op, number, 0, 0) }, nil, nil, 0,
			"select: cannot be applied to a 0-dim tensor"},
		{"slice", func(op string) (*tensor.Tensor, error) { return Slice(op, matrix, 1, -3, math.MaxInt64, 2) }, list{3, 2}, list{4, 2}, 3, ""},
		{"slice", func(op string) (*tensor.Tensor, error) { return Slice(op, matrix, 0, 2, 1, 1) }, list{0, 4}, list{4, 1}, 10, ""},
		{"slice", func(op string) (*tensor.Tensor, error) { return Slice(op, matrix, 0, 1, 9, math.MaxInt64) }, list{1, 4},
			list{math.MaxInt64, 1}, 6, ""},
		{"slice", func(op string) (*tensor.Tensor, error) { return Slice(op, matrix, 0, 0, 3, 0) }, nil, nil, 0,
			"slice: slice step must be positive, but got 0"},
		{"narrow", func(op string) (*tensor.Tensor, error) { return Narrow(op, matrix, 0, -2, 2) }, list{2, 4}, list{4, 1}, 6, ""},
		{"narrow", func(op string) (*tensor.Tensor, error) { return Narrow(op, matrix, 0, 1, 3) }, nil, nil, 0,
			"narrow: start (1) + length (3) exceeds dimension size (3)"},
		{"narrow", func(op string) (*tensor.Tensor, error) { return Narrow(op, matrix, 0, 1, math.MaxInt64) }, nil, nil, 0,
			"exceeds dimension size"},
		{"narrow", func(op string) (*tensor.Tensor, error) { return Narrow(op, matrix, 0, 4, 0) }, nil, nil, 0,
			"narrow: start out of range (expected to be in range of [-3, 3], but got 4)"},
		{"unfold", func(op string) (*tensor.Tensor, error) { return Unfold(op, matrix, 1, 2, 2) }, list{3, 2, 2}, list{4, 2, 1}, 2, ""},
		{"unfold", func(op string) (*tensor.Tensor, error) { return Unfold(op, number, 0, 1, 5) }, list{1}, list{1}, 2, ""},
		{"unfold", func(op string) (*tensor.Tensor, error) { return Unfold(op, matrix, 1, 5, 1) }, nil, nil, 0,
			"unfold: maximum size for tensor at dimension 1 is 4 but size is 5"},
		{"diagonal", func(op string) (*tensor.Tensor, error) { return Diagonal(op, matrix, 2, 0, 1) }, list{2}, list{5}, 4, ""},
		{"diagonal", func(op string) (*tensor.Tensor, error) { return Diagonal(op, matrix, -1, 0, 1) }, list{2}, list{5}, 6, ""},
		{"diagonal", func(op string) (*tensor.Tensor, error) { return Diagonal(op, matrix, math.MinInt64, 0, 1) }, list{0}, list{5}, 2, ""},
		{"diagonal", func(op string) (*tensor.Tensor, error) { return Diagonal(op, wide, 0, -1, 1) }, list{1, 1, 2}, list{9, 7, 3}, 2, ""},
		{"diagonal", func(op string) (*tensor.Tensor, error) { return Diagonal(op, matrix, 0, 1, -1) }, nil, nil, 0,
			"diagonal: diagonal dimensions cannot be identical 1, -1"},
		{"swapaxes", func(op string) (*tensor.Tensor, error) { return Transpose(op, nil, wide, 1, -1) }, list{1, 2, 1, 3}, list{9, 1, 7, 2}, 2,
			""},
		{"swapaxes", func(op string) (*tensor.Tensor, error) { return Transpose(op, nil, number, 0, -1) }, list{}, list{}, 2, ""},
		{"swapaxes", func(op string) (*tensor.Tensor, error) { return Transpose(op, nil, wide, 4, 0) }, nil, nil, 0,
			"swapaxes: dimension out of range (expected to be in range of [-4, 3], but got 4)"},
		{"permute", func(op string) (*tensor.Tensor, error) { return Permute(op, wide, 3, 1, 0, 2) }, list{2, 3, 1, 1}, list{1, 2, 9, 7}, 2, ""},
		{"moveaxis", func(op string) (*tensor.Tensor, error) { return Movedim(op, wide, list{0, 1}, list{-1, 0}) }, list{3, 1, 2, 1},
			list{2, 7, 1, 9}, 2, ""},
		{"moveaxis", func(op string) (*tensor.Tensor, error) { return Movedim(op, wide, list{0}, nil) }, nil, nil,
			0, "moveaxis: invalid source or destination dims"},
		{"unsqueeze", func(op string) (*tensor.Tensor, error) { return Unsqueeze(op, nil, matrix, 1) }, list{3, 1, 4}, list{4, 4, 1}, 2, ""},
		{"unsqueeze", func(op string) (*tensor.Tensor, error) { return Unsqueeze(op, nil, matrix, -1) }, list{3, 4, 1}, list{4, 1, 1}, 2, ""},
		{"unsqueeze", func(op string) (*tensor.Tensor, error) { return Unsqueeze(op, nil, far, 1) }, list{0, 1, 3},
			list{1, math.MaxInt64, math.MaxInt64 / 2}, 2, ""},
		{"squeeze", func(op string) (*tensor.Tensor, error) { return Squeeze(op, nil, wide, few()) }, list{3, 2}, list{2, 1}, 2, ""},
		{"squeeze", func(op string) (*tensor.Tensor, error) { return Squeeze(op, nil, wide, few(2)) }, list{1, 3, 2}, list{9, 2, 1}, 2, ""},
		{"expand", func(op string) (*tensor.Tensor, error) { return Expand(op, wide, list{5, 1, -1, -1, 4, 2}) }, list{5, 1, 1, 3, 4, 2},
			list{0, 9, 9, 2, 0, 1}, 2, ""},
		{"expand", func(op string) (*tensor.Tensor, error) { return Expand(op, matrix, list{3, 5}) }, nil, nil, 0,
			"expand: the expanded size of the tensor (5) must match the existing size (4) at non-singleton dimension 1"},
		{"expand", func(op string) (*tensor.Tensor, error) { return Expand(op, matrix, list{-1, 3, 4}) }, nil, nil, 0,
			"expand: the expanded size -1 isn't allowed in dimension 0"},
		{"expand", func(op string) (*tensor.Tensor, error) { return Expand(op, number, list{math.MaxInt64, 3}) }, nil, nil, 0, "more elements"},
		{"index", func(op string) (*tensor.Tensor, error) {
			return Along(op, strided(t, dtype.Int64, list{3}, list{2}), list{2, 3}, 1)
		}, list{2, 3}, list{0, 2}, 2, ""},
		{"reshape", func(op string) (*tensor.Tensor, error) { return Reshape(op, matrix, list{2, -1, 2}) }, list{2, 3, 2}, list{6, 2, 1}, 2, ""},
		{"reshape", func(op string) (*tensor.Tensor, error) { return Reshape(op, matrix, list{5, -1}) }, nil, nil,
			0, "reshape: shape [5, -1] is invalid for input of size 12"},
		{"as_strided", func(op string) (*tensor.Tensor, error) {
			return As(op, matrix, shape.Geometry{Sizes: list{2}, Strides: list{1}, Offset: 63})
		}, nil, nil, 0, "as_strided: sizes [2], strides [1] and storage offset 63"},
	} {
		v, err := c.see(c.name)
		if c.err != "" {
			assert.ErrorContains(t, err, c.err)
			assert.Nil(t, v)
			continue
		}
		require.NoError(t, err, c.name)
		assert.Equal(t, c.sizes, v.Sizes(), c.name)
		assert.Equal(t, c.strides, v.Strides(), c.name)
		assert.Equal(t, c.offset, v.Offset(), c.name)
		v.Release()
	}
	none, err := Reshape("view", strided(t, dtype.Float32, list{3, 4}, list{5, 1}), list{12})
	assert.NoError(t, err)
	assert.Nil(t, none)
}

// With an out, the tensor itself changes, and nothing changes on an error.
func TestViewsInPlace(t *testing.T) {
	x := strided(t, dtype.Float32, list{3, 4}, list{4, 1})
	y, err := Transpose("transpose_", x, x, 0, 1)
	require.NoError(t, err)
	assert.Same(t, x, y)
	assert.Equal(t, list{1, 4}, x.Strides())
	_, err = Unsqueeze("unsqueeze_", x, x, 5)
	assert.ErrorContains(t, err, "unsqueeze_: dimension out of range")
	assert.Equal(t, list{4, 3}, x.Sizes())
}

func TestViewsOfOtherDTypes(t *testing.T) {
	wide := strided(t, dtype.Float32, list{3, 4}, list{4, 1})
	pairs := strided(t, dtype.Complex64, list{2, 3}, list{3, 1})
	for _, c := range []struct {
		v              *tensor.Tensor
		d              dtype.DType
		sizes, strides list
		offset         int64
	}{
		{must(t)(DType("view", wide, dtype.Int16)), dtype.Int16, list{3, 8}, list{8, 1}, 4},
		{must(t)(DType("view", wide, dtype.Float64)), dtype.Float64, list{3, 2}, list{2, 1}, 1},
		{must(t)(Raw("copy", pairs, list{2}, list{3})), dtype.Int64, list{2}, list{3}, 2},
		{must(t)(Parts("imag", pairs, true)), dtype.Float32, list{2, 3}, list{6, 2}, 5},
		{must(t)(Pairs("view_as_real", pairs)), dtype.Float32, list{2, 3, 2}, list{6, 2, 1}, 4},
		{must(t)(Complex("view_as_complex", strided(t, dtype.Float32, list{3, 2}, list{4, 1}))), dtype.Complex64, list{3}, list{2}, 1},
		{must(t)(Complex("view_as_complex", strided(t, dtype.Float32, list{3, 1, 2}, list{4, 7, 1}))), dtype.Complex64, list{3, 1}, list{2, 3},
			1},
		{must(t)(DType("view", strided(t, dtype.Float32, list{3, 1, 2}, list{4, 7, 1}), dtype.Float64)), dtype.Float64, list{3, 1, 1},
			list{2, 3, 1}, 1},
		{must(t)(DType("view", strided(t, dtype.Float32, list{3, 1}, list{4, 7}), dtype.Int16)), dtype.Int16, list{3, 2}, list{8, 1}, 4},
	} {
		assert.Equal(t, c.d, c.v.DType())
		assert.Equal(t, c.sizes, c.v.Sizes())
		assert.Equal(t, c.strides, c.v.Strides())
		assert.Equal(t, c.offset, c.v.Offset())
		c.v.Release()
	}
	_, err := DType("view", strided(t, dtype.Float32, list{3, 3}, list{4, 1}), dtype.Float64)
	assert.ErrorContains(t, err, "view: self.size(-1) must be divisible by 2 to view float32 as float64")
	_, err = Complex("view_as_complex", wide)
	assert.ErrorContains(t, err, "view_as_complex: self must have a last dimension of size 2, but its sizes are [3, 4]")
}

func must(t *testing.T) func(*tensor.Tensor, error) *tensor.Tensor {
	return func(v *tensor.Tensor, err error) *tensor.Tensor {
		require.NoError(t, err)
		return v
	}
}
