package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/dtype"
)

// Distances from matrix products equal those from differences up to rounding, batch by batch.
func TestEuclideanDistancesFromProducts(t *testing.T) {
	for _, sizes := range []struct{ a, b []int64 }{
		{[]int64{30, 4}, []int64{5, 4}},
		{[]int64{3, 1, 30, 4}, []int64{2, 27, 4}},
		{[]int64{30, 0}, []int64{40, 0}},
		{[]int64{0, 30, 4}, []int64{1, 30, 4}},
	} {
		a, b := ramp(t, dtype.Float64, sizes.a...), ramp(t, dtype.Float64, sizes.b...)
		want, err := ctx.Cdist(a, b, 2, "donot_use_mm_for_euclid_dist")
		require.NoError(t, err)
		for _, mode := range []string{"use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist"} {
			got, err := ctx.Cdist(a, b, 2, mode)
			require.NoError(t, err)
			assert.Equal(t, want.Sizes(), got.Sizes())
			if want.Numel() > 0 {
				assert.InDeltaSlice(t, flat(t, want), flat(t, got), 1e-6, "%v with %s", sizes, mode)
			}
			got.Release()
		}
		want.Release()
	}
}

func TestEuclideanDistanceOfEqualRows(t *testing.T) {
	x := ramp(t, dtype.Float32, 40, 3)
	got, err := ctx.Cdist(x, x, 2, "")
	require.NoError(t, err)
	defer got.Release()
	for i, v := range flat(t, got) {
		assert.GreaterOrEqual(t, v, 0.0) // a square below 0 by rounding does not become NaN
		if i%41 == 0 {
			assert.InDelta(t, 0, v, 0.05)
		}
	}
	_, err = ctx.Cdist(x, x, 2, "fast")
	assert.ErrorContains(t, err, `"fast" is not a valid value for compute_mode`)
}
