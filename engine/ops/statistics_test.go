package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/tensor"
)

func TestQuantiles(t *testing.T) {
	nan := math.NaN()
	for _, d := range []dtype.DType{dtype.Float32, dtype.Float64} {
		x := given(t, d, []int64{2, 4}, 4, 1, 3, 2, 8, nan, 6, 7)
		q := given(t, d, []int64{2}, 0.5, 1)
		for name, want := range map[string][]float64{"linear": {2.5, 4}, "lower": {2, 4}, "higher": {3, 4}, "nearest": {3, 4},
			"midpoint": {2.5, 4}} {
			got, err := ctx.Quantile(nil, x, q, 1, false, name)
			require.NoError(t, err)
			defer got.Release()
			assert.Equal(t, []int64{2, 2}, got.Sizes())
			assert.Equal(t, []int64{1, 2}, got.Strides())
			all := flat(t, got)
			assert.Equal(t, want, []float64{all[0], all[2]}, name)
			assert.True(t, math.IsNaN(all[1]) && math.IsNaN(all[3]))
		}
		rest, err := ctx.Nanquantile(nil, x, q, 1, true, "linear")
		require.NoError(t, err)
		defer rest.Release()
		assert.Equal(t, []int64{2, 2, 1}, rest.Sizes())
		assert.Equal(t, []float64{2.5, 7, 4, 8}, flat(t, rest))
		number, err := tensor.WrappedNumber(dtype.FloatScalar(0.25))
		require.NoError(t, err)
		defer number.Release()
		single, err := ctx.Nanquantile(nil, x, number, ops.NoInt, false, "lower")
		require.NoError(t, err)
		defer single.Release()
		assert.Empty(t, single.Sizes())
		assert.Equal(t, []float64{2}, flat(t, single))
	}
	x := given(t, dtype.Float32, []int64{2}, 1, 2)
	half := given(t, dtype.Float32, nil, 0.5)
	for text, call := range map[string]func() error{
		"1.5": func() error {
			_, err := ctx.Quantile(nil, x, given(t, dtype.Float32, nil, 1.5), ops.NoInt, false, "linear")
			return err
		},
		"NaN": func() error {
			_, err := ctx.Quantile(nil, x, given(t, dtype.Float32, nil, nan), ops.NoInt, false, "linear")
			return err
		},
		"float64": func() error {
			_, err := ctx.Quantile(nil, x, given(t, dtype.Float64, nil, 0.5), ops.NoInt, false, "linear")
			return err
		},
		"int32": func() error {
			_, err := ctx.Quantile(nil, given(t, dtype.Int32, []int64{1}, 1), half, ops.NoInt, false, "linear")
			return err
		},
		"non-empty": func() error {
			_, err := ctx.Quantile(nil, given(t, dtype.Float32, []int64{0}), half, ops.NoInt, false, "linear")
			return err
		},
		"cubic": func() error { _, err := ctx.Quantile(nil, x, half, ops.NoInt, false, "cubic"); return err },
	} {
		assert.ErrorContains(t, call(), text)
	}
}

// The derivative of a parabola is exact, except at edges of first order.
func TestGradient(t *testing.T) {
	points := given(t, dtype.Float64, []int64{4}, 0, 1, 3, 4)
	parabola := given(t, dtype.Float64, []int64{4, 1}, 0, 1, 9, 16)
	for edge, want := range map[int64][]float64{1: {1, 2, 6, 7}, 2: {0, 2, 6, 8}} {
		got, err := ctx.GradientTensors(parabola, []*tensor.Tensor{points}, []int64{0}, edge)
		require.NoError(t, err)
		defer ops.ReleaseAll(got)
		require.Len(t, got, 1)
		assert.Equal(t, []int64{4, 1}, got[0].Sizes())
		assert.InDeltaSlice(t, want, flat(t, got[0]), 1e-14)
	}
	for edge, want := range map[int64][]float64{1: {0.5, 1, 2, 2.5}, 2: {0, 1, 2, 3}} {
		got, err := ctx.Gradient(given(t, dtype.Int16, []int64{4}, 0, 1, 4, 9), dtype.IntScalar(2), nil, edge)
		require.NoError(t, err)
		defer ops.ReleaseAll(got)
		assert.Equal(t, dtype.Float32, got[0].DType())
		assert.Equal(t, want, flat(t, got[0]))
	}
	x := given(t, dtype.Float32, []int64{2, 2}, 1, 2, 3, 4)
	both, err := ctx.GradientScalars(x, []dtype.Scalar{dtype.IntScalar(1), dtype.FloatScalar(0.5)}, nil, 1)
	require.NoError(t, err)
	defer ops.ReleaseAll(both)
	assert.Equal(t, []float64{2, 2, 2, 2}, flat(t, both[0]))
	assert.Equal(t, []float64{2, 2, 2, 2}, flat(t, both[1]))
	one := dtype.IntScalar(1)
	for text, call := range map[string]func() error{
		"edge_order=2, got 3": func() error { _, err := ctx.Gradient(x, one, nil, 3); return err },
		"edge_order+1":        func() error { _, err := ctx.Gradient(x, one, nil, 2); return err },
		"list of length 1":    func() error { _, err := ctx.GradientScalars(x, []dtype.Scalar{one}, nil, 1); return err },
		"uint8":               func() error { _, err := ctx.Gradient(given(t, dtype.Uint8, []int64{2}, 1, 2), one, nil, 1); return err },
		"shape [4]":           func() error { _, err := ctx.GradientTensors(x, []*tensor.Tensor{points}, []int64{0}, 1); return err },
		"out of range":        func() error { _, err := ctx.Gradient(x, one, []int64{5}, 1); return err },
	} {
		assert.ErrorContains(t, call(), text)
	}
}

func TestRenorm(t *testing.T) {
	for _, d := range []dtype.DType{dtype.Float16, dtype.Float32, dtype.Float64} {
		x := given(t, d, []int64{2, 2}, 3, 4, 0.5, 0)
		got, err := ctx.Renorm(nil, x, dtype.IntScalar(2), -2, dtype.IntScalar(1))
		require.NoError(t, err)
		defer got.Release()
		assert.Equal(t, d, got.DType())
		assert.InDeltaSlice(t, []float64{0.6, 0.8, 0.5, 0}, flat(t, got), 1e-3)
		_, err = ctx.Renorm(x, x, dtype.FloatScalar(math.Inf(1)), 1, dtype.IntScalar(2))
		require.NoError(t, err)
		assert.InDeltaSlice(t, []float64{2, 2, 1. / 3, 0}, flat(t, x), 1e-3)
	}
	x := given(t, dtype.Float32, []int64{1, 1}, 1)
	_, err := ctx.Renorm(nil, x, dtype.IntScalar(0), 0, dtype.IntScalar(1))
	assert.ErrorContains(t, err, "p must be positive, got 0")
	_, err = ctx.Renorm(nil, x, dtype.IntScalar(2), 0, dtype.IntScalar(-1))
	assert.ErrorContains(t, err, "-1")
	_, err = ctx.Renorm(nil, given(t, dtype.Float32, []int64{1}, 1), dtype.IntScalar(2), 0, dtype.IntScalar(1))
	assert.ErrorContains(t, err, "at least 2 dimensions")
}

func TestWindows(t *testing.T) {
	type maker func(length int64, periodic bool, d dtype.DType) (*tensor.Tensor, error)
	host, strided := device.Host, tensor.Strided
	for name, c := range map[string]struct {
		make maker
		want []float64
	}{
		"bartlett": {func(n int64, p bool, d dtype.DType) (*tensor.Tensor, error) {
			return ctx.BartlettWindow(n, p, d, strided, host)
		}, []float64{0, 0.5, 1, 0.5}},
		"hann": {func(n int64, p bool, d dtype.DType) (*tensor.Tensor, error) {
			return ctx.HannWindow(n, p, d, strided, host)
		}, []float64{0, 0.5, 1, 0.5}},
		"hamming": {func(n int64, p bool, d dtype.DType) (*tensor.Tensor, error) {
			return ctx.HammingWindow(n, p, 0.5, 0.25, d, strided, host)
		}, []float64{0.25, 0.5, 0.75, 0.5}},
		"blackman": {func(n int64, p bool, d dtype.DType) (*tensor.Tensor, error) {
			return ctx.BlackmanWindow(n, p, d, strided, host)
		}, []float64{0, 0.34, 1, 0.34}},
		"kaiser": {func(n int64, p bool, d dtype.DType) (*tensor.Tensor, error) {
			return ctx.KaiserWindow(n, p, 2, d, strided, host)
		}, []float64{0.4386762798, 0.8347614334, 1, 0.8347614334}},
	} {
		for _, d := range []dtype.DType{dtype.Float16, dtype.BFloat16, dtype.Float32, dtype.Float64} {
			periodic, err := c.make(4, true, d)
			require.NoError(t, err)
			defer periodic.Release()
			assert.Equal(t, d, periodic.DType())
			assert.InDeltaSlice(t, c.want, flat(t, periodic), 4e-3, "%s %v", name, d)
		}
		whole, err := c.make(5, false, dtype.Float64)
		require.NoError(t, err)
		defer whole.Release()
		assert.InDeltaSlice(t, append(c.want, c.want[0]), flat(t, whole), 1e-8, name)
		single, err := c.make(1, true, dtype.Float32)
		require.NoError(t, err)
		defer single.Release()
		assert.Equal(t, []float64{1}, flat(t, single))
		_, err = c.make(-1, true, dtype.Float32)
		assert.ErrorContains(t, err, "-1")
		_, err = c.make(3, true, dtype.Int32)
		assert.ErrorContains(t, err, "int32")
	}
}

func TestProductsOfPowersAndBlocks(t *testing.T) {
	x := given(t, dtype.Int8, []int64{2}, 2, 3)
	powers, err := ctx.Vander(x, 3, false)
	require.NoError(t, err)
	defer powers.Release()
	assert.Equal(t, dtype.Int64, powers.DType())
	assert.Equal(t, []float64{4, 2, 1, 9, 3, 1}, flat(t, powers))
	none, err := ctx.Vander(x, 0, true)
	require.NoError(t, err)
	defer none.Release()
	assert.Equal(t, []int64{2, 0}, none.Sizes())
	_, err = ctx.Vander(x, -1, true)
	assert.ErrorContains(t, err, "-1")

	product, err := ctx.Kron(nil, given(t, dtype.Int32, []int64{2, 2}, 1, 2, 3, 4), given(t, dtype.Float32, []int64{2}, 1, 0.5))
	require.NoError(t, err)
	defer product.Release()
	assert.Equal(t, []int64{2, 4}, product.Sizes())
	assert.Equal(t, []float64{1, 0.5, 2, 1, 3, 1.5, 4, 2}, flat(t, product))
}

func TestFillDiagonal(t *testing.T) {
	for _, c := range []struct {
		sizes []int64
		wrap  bool
		want  []float64
	}{
		{[]int64{2, 3}, true, []float64{7, 0, 0, 0, 7, 0}},
		{[]int64{5, 2}, false, []float64{7, 0, 0, 7, 0, 0, 0, 0, 0, 0}},
		{[]int64{5, 2}, true, []float64{7, 0, 0, 7, 0, 0, 7, 0, 0, 7}},
		{[]int64{2, 2, 2}, true, []float64{7, 0, 0, 0, 0, 0, 0, 7}},
	} {
		n := int64(1)
		for _, s := range c.sizes {
			n *= s
		}
		x := given(t, dtype.Int16, c.sizes, make([]float64, n)...)
		require.NoError(t, ctx.FillDiagonal(x, dtype.IntScalar(7), c.wrap))
		assert.Equal(t, c.want, flat(t, x), "%v %v", c.sizes, c.wrap)
	}
	assert.ErrorContains(t, ctx.FillDiagonal(given(t, dtype.Int16, []int64{1}, 0), dtype.IntScalar(1), false), "[1]")
	assert.ErrorContains(t, ctx.FillDiagonal(given(t, dtype.Int16, []int64{1, 2, 1}, 0, 0), dtype.IntScalar(1), false), "equal length")
}

func TestStatisticsOfMetaTensors(t *testing.T) {
	meta := func(d dtype.DType, sizes ...int64) *tensor.Tensor {
		x, err := tensor.Empty("test", sizes, d, device.Device{Type: device.Meta, Index: -1})
		require.NoError(t, err)
		t.Cleanup(x.Release)
		return x
	}
	points, edges := meta(dtype.Float32, 4, 2), meta(dtype.Float32, 5)
	listed := func(x *tensor.Tensor, err error) ([]*tensor.Tensor, error) { return []*tensor.Tensor{x}, err }
	paired := func(x, y *tensor.Tensor, err error) ([]*tensor.Tensor, error) { return []*tensor.Tensor{x, y}, err }
	for name, c := range map[string]struct {
		call  func() ([]*tensor.Tensor, error)
		sizes [][]int64
	}{
		"quantile": {func() ([]*tensor.Tensor, error) {
			return listed(ctx.Quantile(nil, points, meta(dtype.Float32, 3), 1, true, "linear"))
		}, [][]int64{{3, 4, 1}}},
		"nanquantile": {func() ([]*tensor.Tensor, error) {
			return listed(ctx.Nanquantile(nil, points, meta(dtype.Float32), 0, false, "nearest"))
		}, [][]int64{{2}}},
		"histogram": {func() ([]*tensor.Tensor, error) { return paired(ctx.Histogram(nil, nil, points, 6, nil, nil, true)) },
			[][]int64{{6}, {7}}},
		"edges": {func() ([]*tensor.Tensor, error) {
			return paired(ctx.HistogramEdges(nil, nil, points, edges, nil, true))
		}, [][]int64{{4}, {5}}},
		"histogramdd": {func() ([]*tensor.Tensor, error) { return ctx.Histogramdd(points, []int64{2, 3}, nil, nil, true) },
			[][]int64{{2, 3}, {3}, {4}}},
		"gradient": {func() ([]*tensor.Tensor, error) {
			return ctx.GradientTensors(points, []*tensor.Tensor{meta(dtype.Float32, 4)}, []int64{0}, 2)
		}, [][]int64{{4, 2}}},
		"window": {func() ([]*tensor.Tensor, error) {
			return listed(ctx.KaiserWindow(5, true, 2, dtype.Float32, tensor.Strided, device.Device{Type: device.Meta}))
		}, [][]int64{{5}}},
	} {
		got, err := c.call()
		require.NoError(t, err, name)
		for i, x := range got {
			assert.Equal(t, c.sizes[i], x.Sizes(), name)
			assert.True(t, x.IsMeta(), name)
			x.Release()
		}
	}
	_, err := ctx.Bincount(meta(dtype.Int64, 3), nil, 0)
	assert.ErrorContains(t, err, "meta")
}

// The variance of complex numbers is the sum of those of their parts, in rows of whole blocks and a rest, at unit and other steps.
func TestVarianceOfComplexNumbers(t *testing.T) {
	re, im := ramp(t, dtype.Float64, 3, 700), ramp(t, dtype.Float64, 3, 700)
	_, err := ctx.Add(im, im, given(t, dtype.Float64, nil, 1e3), dtype.IntScalar(1))
	require.NoError(t, err)
	z, err := ctx.ComplexParts(nil, re, im)
	require.NoError(t, err)
	defer z.Release()
	for dim := range int64(2) {
		got, mean, err := ctx.VarMeanDim(z, []int64{dim}, true, false)
		require.NoError(t, err)
		want := make([]float64, got.Numel())
		for _, part := range []*tensor.Tensor{re, im} {
			v, m, err := ctx.VarMeanDim(part, []int64{dim}, true, false)
			require.NoError(t, err)
			for i, x := range flat(t, v) {
				want[i] += x
			}
			v.Release()
			m.Release()
		}
		assert.InDeltaSlice(t, want, flat(t, got), 1e-9, "dim %d", dim)
		got.Release()
		mean.Release()
	}
}
