package ops

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// narrowTypes are the dtypes that products are summed more widely in.
var narrowTypes = []dtype.DType{dtype.Float16, dtype.BFloat16, dtype.Int8, dtype.Uint8, dtype.Int16, dtype.Uint16}

// rounded returns values as dtype d holds them.
func rounded(t *testing.T, d dtype.DType, values []float64) []float64 {
	t.Helper()
	x := given(t, dtype.Int64, []int64{int64(len(values))}, values...)
	narrow, err := rowMajorCopy("test", x, d)
	require.NoError(t, err)
	defer narrow.Release()
	return flat(t, narrow)
}

// Sums of small whole numbers are exact in 32 bits, so that only the last step rounds or wraps, whatever the shape and the
// strides.
func TestNarrowProductsRoundOnce(t *testing.T) {
	for _, d := range narrowTypes {
		for _, s := range [][4]int64{{1, 1, 1, 1}, {3, 8, 8, 8}, {2, 5, 301, 3}, {1, 1, 130, 70}, {1, 70, 200, 1}, {2, 40, 33, 37},
			{1, 300, 100, 96}, {2, 3, 0, 4}} {
			batch, m, k, n := s[0], s[1], s[2], s[3]
			for layout := range 4 {
				a := layered(t, d, layout&1 != 0, batch, m, k)
				b := layered(t, d, layout&2 != 0, batch, k, n)
				c, err := Bmm(nil, a, b)
				require.NoError(t, err)
				self := given(t, d, []int64{n}, cycle(n)...)
				sum, err := Baddbmm(nil, self, a, b, dtype.IntScalar(2), dtype.IntScalar(3))
				require.NoError(t, err)
				av, bv, sv := flat(t, a), flat(t, b), flat(t, self)
				product, scaled := make([]float64, batch*m*n), make([]float64, batch*m*n)
				for i := range product {
					s, r, j := int64(i)/(m*n), int64(i)/n, int64(i)%n
					for p := range k {
						product[i] += av[r*k+p] * bv[(s*k+p)*n+j]
					}
					scaled[i] = 3*product[i] + 2*sv[j]
				}
				assert.Equal(t, rounded(t, d, product), flat(t, c), "%v %v layout %d", d, s, layout)
				assert.Equal(t, rounded(t, d, scaled), flat(t, sum), "%v %v layout %d with factors", d, s, layout)
				c.Release()
				sum.Release()
			}
		}
	}
}

// layered returns batch matrices of small integers, contiguous or transposed in memory.
func layered(t *testing.T, d dtype.DType, transposed bool, batch, rows, cols int64) *tensor.Tensor {
	t.Helper()
	sizes, strides := []int64{batch, rows, cols}, []int64{rows * cols, cols, 1}
	if transposed {
		strides = []int64{rows * cols, 1, rows}
	}
	x, err := given(t, d, sizes, cycle(batch*rows*cols)...).View("test", sizes, strides, 0)
	require.NoError(t, err)
	t.Cleanup(x.Release)
	return x
}

// Products of integers are exact in every dtype: in any layout, above and below the sizes at which products are split, copied and packed,
// for any number of threads, and with or without the former values of the output.
func TestProductsAreExactInEveryLayout(t *testing.T) {
	defer parallel.SetThreads(parallel.Threads())
	for _, d := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.Int8, dtype.Int32, dtype.Int64, dtype.Complex64} {
		for _, s := range [][3]int64{{64, 513, 96}, {8, 256, 33}, {9, 257, 16}, {130, 40, 10}, {256, 65, 129}, {256, 64, 128}, {33, 300, 260},
			{300, 5, 15}, {2, 600, 31}} {
			m, k, n := s[0], s[1], s[2]
			if testing.Short() && m*k*n > 100_000 {
				continue
			}
			for layout := range 8 {
				a, b := layered(t, d, layout&1 != 0, 1, m, k), layered(t, d, layout&2 != 0, 1, k, n)
				poison := math.NaN()
				if !d.IsFloatingPoint() {
					poison = 77
				}
				av, bv, want := flat(t, a), flat(t, b), make([]float64, m*n)
				for i := range m {
					for p := range k {
						for j := range n {
							want[i*n+j] += av[i*k+p] * bv[p*n+j]
						}
					}
				}
				for threads := 1; threads <= 3; threads += 2 {
					parallel.SetThreads(threads)
					out := layered(t, d, layout&4 != 0, 1, m, n)
					before := flat(t, out)
					scaled := make([]float64, m*n)
					for i := range scaled {
						scaled[i] = 3*want[i] - before[i]
					}
					_, err := Baddbmm(out, out, a, b, dtype.IntScalar(-1), dtype.IntScalar(3))
					require.NoError(t, err)
					require.Equal(t, rounded(t, d, scaled), flat(t, out), "%v %v layout %d on %d threads, with factors", d, s, layout, threads)
					require.NoError(t, fillWith(out, dtype.FloatScalar(poison)))
					_, err = Bmm(out, a, b)
					require.NoError(t, err)
					require.Equal(t, rounded(t, d, want), flat(t, out), "%v %v layout %d on %d threads", d, s, layout, threads)
				}
			}
		}
	}
}

// NaN and infinity affect only the elements computed from them.
func TestNarrowProductsOfSpecials(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, d := range []dtype.DType{dtype.Float16, dtype.BFloat16} {
		for _, k := range []int64{3, 101} {
			const m, n = 13, 5
			av, bv := make([]float64, m*k), make([]float64, k*n)
			for i := range bv {
				bv[i] = 1
			}
			av[0*k+1], av[2*k+k-1], av[3*k], av[3*k+1] = nan, inf, inf, -inf
			bv[(k-1)*n+4] = 0
			for _, turned := range []bool{false, true} {
				a, b := given(t, d, []int64{m, k}, av...), given(t, d, []int64{k, n}, bv...)
				if turned {
					flipped, err := view.Permute("test", b, 1, 0)
					require.NoError(t, err)
					whole, err := rowMajorCopy("test", flipped, d)
					require.NoError(t, err)
					flipped.Release()
					b, err = view.Permute("test", whole, 1, 0)
					require.NoError(t, err)
					whole.Release()
					defer b.Release()
				}
				c, err := Mm(nil, a, b)
				require.NoError(t, err)
				want := make([]float64, m*n)
				for j := range n {
					want[j], want[2*n+j], want[3*n+j] = nan, inf, nan
				}
				want[2*n+4] = nan
				assert.True(t, sameBits(want, flat(t, c)), "%v: %v", d, flat(t, c))
				c.Release()
			}
		}
	}
}

// Products of 16-bit floats overflow only where the result does.
func TestDotOfNarrowFloatsSumsWidely(t *testing.T) {
	for _, d := range []dtype.DType{dtype.Float16, dtype.BFloat16} {
		big := []float64{256, 256, -256, 1}
		a, b := given(t, d, []int64{4}, big...), given(t, d, []int64{4}, 256, 256, 512, 1)
		r, err := Dot(nil, a, b)
		require.NoError(t, err)
		assert.Equal(t, []float64{1}, flat(t, r), d)
		r.Release()
	}
}

// Small products keep subnormal bfloat16, whatever the CPU's instructions do.
func TestSmallProductsKeepSubnormals(t *testing.T) {
	tiny, big := math.Ldexp(1, -130), math.Ldexp(1, 20)
	a, b := given(t, dtype.BFloat16, []int64{2, 1}, tiny, -tiny), given(t, dtype.BFloat16, []int64{1, 1}, big)
	c, err := Mm(nil, a, b)
	require.NoError(t, err)
	defer c.Release()
	assert.Equal(t, []float64{tiny * big, -tiny * big}, flat(t, c))
}
