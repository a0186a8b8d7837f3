package resampling

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// matrix returns the weights of source elements for each element.
func (t *IndexWeights) matrix() map[[2]int64]float64 {
	m := map[[2]int64]float64{}
	for i := range t.Outputs {
		for k := range t.neighborCount(i) {
			weight := 1.0
			if t.Weights != nil {
				weight = t.Weights[k*t.Outputs+i]
			}
			m[[2]int64{i, int64(t.Index[k*t.Outputs+i])}] += weight
		}
	}
	return m
}

// isReadable reports whether the tables meet the kernels' requirements: registers of n elements from a span, and slots for the source
// elements of an output element, one for each neighbor.
func isReadable(t *IndexWeights, channels int64) bool {
	back := int32(t.MaxIndexDecrease())
	for k := range t.Most {
		row := t.Index[k*t.Outputs : (k+1)*t.Outputs]
		if slices.Min(row) < 0 || int64(slices.Max(row)) >= t.Size {
			return false
		}
		for _, n := range []int{2, 4, 8, 16} {
			for i := range len(row) - n + 1 {
				lanes := row[i : i+n]
				if slices.Min(lanes) < lanes[0]-back || slices.Max(lanes) > lanes[n-1]+back {
					return false
				}
			}
		}
	}
	for i := range t.Outputs {
		first, last := t.Size, int64(0)
		for k := range t.neighborCount(i) {
			at := int64(t.Index[k*t.Outputs+i])
			first, last = min(first, at), max(last, at)
		}
		if t.neighborCount(i) > t.Most || (last-first)/channels >= t.Most {
			return false
		}
	}
	return true
}

func TestIndexWeights(t *testing.T) {
	filters := []backend.Resampling{
		{Filter: "nearest"}, {Filter: "nearest-exact"}, {Filter: "linear"}, {Filter: "linear", AlignCorners: true}, {Filter: "cubic"},
		{Filter: "cubic", AlignCorners: true},
		{Filter: "linear", Antialias: true}, {Filter: "cubic", Antialias: true}, {Filter: "lanczos", Antialias: true},
	}
	sizes := []int64{1, 2, 3, 5, 8, 16, 17, 19, 24, 27, 32, 34, 39, 43, 48, 80, 131}
	for _, size := range sizes {
		for _, outputs := range sizes {
			source, err := tensor.Empty("test", []int64{1, 1, 1, size}, dtype.Float32, device.Host)
			require.NoError(t, err)
			made, err := tensor.Empty("test", []int64{1, 1, 1, outputs}, dtype.Float32, device.Host)
			require.NoError(t, err)
			for _, w := range filters {
				for _, scale := range []float64{0, float64(outputs) / float64(size), (float64(outputs) + 0.9) / float64(size)} {
					for _, d := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.BFloat16, dtype.Uint8} {
						there, back := w, w
						there.From, there.To = source, made
						back.From, back.To, back.Transposed = made, source, true
						plain := newIndexWeights(d, there, size, outputs, scale)
						what := []any{"%v %v: %d of %d by %v", w.Filter, d, outputs, size, scale}
						require.True(t, isReadable(&plain, 1), what...)
						channels := plain.RepeatChannels(3)
						require.True(t, isReadable(&channels, 3), what...)
						if d == dtype.Uint8 || d == dtype.BFloat16 && w.Filter == "linear" {
							continue // rounded weights have no transpose
						}
						reverse := newIndexWeights(d, back, size, outputs, scale).Transpose()
						require.True(t, isReadable(&reverse, 1), what...)
						channels = reverse.RepeatChannels(3)
						require.True(t, isReadable(&channels, 3), what...)
						if w.Filter != "cubic" && !w.Antialias {
							assert.Zero(t, plain.MaxIndexDecrease()+reverse.MaxIndexDecrease(), what...)
						}
						expected, found := plain.matrix(), reverse.matrix()
						require.Len(t, found, len(expected), what...)
						for at, weight := range expected {
							require.InDelta(t, weight, found[[2]int64{at[1], at[0]}], 1e-12, what...)
						}
					}
				}
			}
			source.Release()
			made.Release()
		}
	}
}
