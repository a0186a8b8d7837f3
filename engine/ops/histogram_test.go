package ops

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

func TestBincount(t *testing.T) {
	for _, d := range []dtype.DType{dtype.Uint8, dtype.Int8, dtype.Int16, dtype.Int32, dtype.Int64, dtype.Uint16, dtype.Uint32, dtype.Uint64} {
		x := given(t, d, []int64{5}, 1, 3, 1, 0, 1)
		counts, err := Bincount(x, nil, 6)
		require.NoError(t, err)
		defer counts.Release()
		assert.Equal(t, dtype.Int64, counts.DType())
		assert.Equal(t, []float64{1, 3, 0, 1, 0, 0}, flat(t, counts), "%v", d)
		for w, result := range map[dtype.DType]dtype.DType{dtype.Float32: dtype.Float32, dtype.Int8: dtype.Float64,
			dtype.Float16: dtype.Float64} {
			sums, err := Bincount(x, given(t, w, []int64{5}, 1, 2, 3, 4, 5), 0)
			require.NoError(t, err)
			defer sums.Release()
			assert.Equal(t, result, sums.DType())
			assert.Equal(t, []float64{4, 9, 0, 2}, flat(t, sums))
		}
	}
	huge := given(t, dtype.Int64, []int64{1}, 0)
	elements[int64](huge)[0] = math.MaxInt64
	for _, c := range []struct {
		x, weights *tensor.Tensor
		least      int64
		text       string
	}{
		{given(t, dtype.Int64, []int64{2}, 1, -2), nil, 0, "-2"},
		{given(t, dtype.Int64, []int64{1, 1}, 1), nil, 0, "[1, 1]"},
		{given(t, dtype.Float32, []int64{1}, 1), nil, 0, "float32"},
		{given(t, dtype.Int64, []int64{1}, 1), nil, -1, "minlength"},
		{given(t, dtype.Int64, []int64{1}, 1), given(t, dtype.Float32, []int64{2}, 1, 2), 0, "same length"},
		{huge, nil, 0, "requires more bins"},
	} {
		_, err := Bincount(c.x, c.weights, c.least)
		assert.ErrorContains(t, err, c.text)
	}
}

func TestHistc(t *testing.T) {
	for _, d := range []dtype.DType{dtype.Float16, dtype.BFloat16, dtype.Float32, dtype.Float64} {
		x := given(t, d, []int64{2, 4}, -1, 0, 0.5, 1, 2, 4, 4.5, math.NaN())
		hist, err := Histc(nil, x, 4, dtype.IntScalar(0), dtype.IntScalar(4))
		require.NoError(t, err)
		defer hist.Release()
		assert.Equal(t, d, hist.DType())
		assert.Equal(t, []float64{2, 1, 1, 1}, flat(t, hist), "the last bin has its upper edge: %v", d)
	}
	x := given(t, dtype.Float32, []int64{3}, 1, 2, 3)
	whole, err := Histc(nil, x, 2, dtype.IntScalar(0), dtype.IntScalar(0))
	require.NoError(t, err)
	defer whole.Release()
	assert.Equal(t, []float64{1, 2}, flat(t, whole))
	equal, err := Histc(nil, given(t, dtype.Float32, []int64{2}, 5, 5), 4, dtype.IntScalar(0), dtype.IntScalar(0))
	require.NoError(t, err)
	defer equal.Release()
	assert.Equal(t, []float64{0, 0, 2, 0}, flat(t, equal))
	_, err = Histc(nil, given(t, dtype.Float32, []int64{1}, math.Inf(1)), 2, dtype.IntScalar(0), dtype.IntScalar(0))
	assert.ErrorContains(t, err, "not finite")
	_, err = Histc(nil, x, 0, dtype.IntScalar(0), dtype.IntScalar(1))
	assert.ErrorContains(t, err, "bins must be > 0")
	_, err = Histc(nil, x, 3, dtype.IntScalar(2), dtype.IntScalar(1))
	assert.ErrorContains(t, err, "min 2 and max 1")
	_, err = Histc(nil, given(t, dtype.Int32, []int64{1}, 1), 3, dtype.IntScalar(0), dtype.IntScalar(1))
	assert.ErrorContains(t, err, "int32")
}

func TestHistogram(t *testing.T) {
	x := given(t, dtype.Float64, []int64{2, 2}, 1, 2, 1, 4)
	weight := given(t, dtype.Float64, []int64{2, 2}, 1, 2, 3, 4)
	hist, edges, err := Histogram(nil, nil, x, 3, nil, weight, true)
	require.NoError(t, err)
	defer hist.Release()
	defer edges.Release()
	assert.Equal(t, []float64{1, 2, 3, 4}, flat(t, edges))
	assert.InDeltaSlice(t, []float64{0.4, 0.2, 0.4}, flat(t, hist), 1e-15, "the integral is 1")
	uneven, same, err := HistogramEdges(nil, nil, x, given(t, dtype.Float64, []int64{3}, 1, 1.5, 4), nil, false)
	require.NoError(t, err)
	defer uneven.Release()
	defer same.Release()
	assert.Equal(t, []float64{2, 2}, flat(t, uneven))
	assert.Equal(t, []float64{1, 1.5, 4}, flat(t, same))
	for text, call := range map[string]func() error{
		"range should have 2 elements, but got 1": func() error { _, _, err := Histogram(nil, nil, x, 3, []float64{1}, nil, false); return err },
		"min 2 max 1": func() error { _, _, err := Histogram(nil, nil, x, 3, []float64{2, 1}, nil, false); return err },
		"weight float32": func() error {
			_, _, err := Histogram(nil, nil, x, 3, nil, given(t, dtype.Float32, []int64{2, 2}, 1, 2, 3, 4), false)
			return err
		},
		"shape [1]": func() error {
			_, _, err := Histogram(nil, nil, x, 3, nil, given(t, dtype.Float64, []int64{1}, 1), false)
			return err
		},
		"at least 2 edges": func() error {
			_, _, err := HistogramEdges(nil, nil, x, given(t, dtype.Float64, []int64{1}, 1), nil, false)
			return err
		},
	} {
		assert.ErrorContains(t, call(), text)
	}
}

func TestHistogramOfPoints(t *testing.T) {
	points := given(t, dtype.Float32, []int64{4, 2}, 0, 0, 1, 2, 1, 0, math.NaN(), 1)
	results, err := Histogramdd(points, []int64{2, 3}, []float64{0, 1, 0, 2}, nil, false)
	require.NoError(t, err)
	defer ReleaseAll(results)
	require.Len(t, results, 3)
	assert.Equal(t, []int64{2, 3}, results[0].Sizes())
	assert.Equal(t, []float64{1, 0, 0, 1, 0, 1}, flat(t, results[0]), "a point with NaN is in no bin")
	assert.Equal(t, []float64{0, 0.5, 1}, flat(t, results[1]))
	_, err = Histogramdd(points, []int64{2}, nil, nil, false)
	assert.ErrorContains(t, err, "innermost dimension of the input, 2")
	_, err = Histogramdd(given(t, dtype.Float32, []int64{1}, 1), []int64{1}, nil, nil, false)
	assert.ErrorContains(t, err, "at least 2 dimensions")
}
