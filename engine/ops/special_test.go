package ops

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/dtype"
)

// Derivatives of psi follow their recurrence and end for the most negative arguments too, where a term for every integer up
// to 0 would take years.
func TestPolygammaFarBelowZero(t *testing.T) {
	x := given(t, dtype.Float64, []int64{6}, -15.75, -20.75, -1e8+0.25, -1e15+0.25, -1e30, math.Inf(-1))
	for n := int64(2); n < 5; n++ {
		y, err := Polygamma(nil, n, x)
		require.NoError(t, err)
		got := flat(t, y)
		y.Release()
		shifted := got[1]
		for k := 0; k < 5; k++ { // psi_n(x + 1) = psi_n(x) + (-1)^n n! / x^(n+1)
			at := -20.75 + float64(k)
			shifted += math.Pow(-1, float64(n)) * math.Gamma(float64(n)+1) / math.Pow(at, float64(n)+1)
		}
		assert.InEpsilon(t, got[0], shifted, 1e-12, "order %d", n)
		assert.InEpsilon(t, got[0], got[2], 1e-2, "order %d", n)
		assert.InEpsilon(t, got[2], got[3], 1e-12, "order %d", n)
		assert.True(t, math.IsInf(got[4], 0), "a pole: %v", got[4])
	}
}
