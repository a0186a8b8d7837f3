package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/parallel"
)

// Products with weights that are contiguous along the summed dimension are exact as dot products and with packed panels, on both sides of
// the number of rows that separates them, for columns that end inside and beyond vectors and prefetched memory, and for any number of
// threads.
func TestProductsAlongMemoryAreExactOnBothSidesOfMostAlong(t *testing.T) {
	defer parallel.SetThreads(parallel.Threads())
	defer func(traits kernel.ProductTraits) { productTraits = traits }(productTraits)
	r := rand.New(rand.NewPCG(11, 12))
	number := func() int64 { return r.Int64N(5) - 2 }
	floats := []dtype.DType{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16}
	for _, d := range append(floats, dtype.Int8, dtype.Uint8, dtype.Int16, dtype.Int32, dtype.Int64) {
		for _, s := range [][3]int64{{1, 1100, 37}, {3, 33, 40}, {16, 400, 70}, {17, 410, 33}, {17, 416, 16}, {33, 1000, 65}} {
			m, k, n := s[0], s[1], s[2]
			a, b := grid(t, d, m, k, 0, number), grid(t, d, k, n, 1, number)
			want := grid(t, d, m, n, 0, func() int64 { return 0 })
			for i := range m {
				for j := range n {
					sum := int64(0)
					for p := range k {
						sum += int64(get(a, i, p).Float() * get(b, p, j).Float())
					}
					put(want, i, j, dtype.IntScalar(sum))
				}
			}
			for _, threads := range []int{1, 2, 5} {
				for _, most := range []int64{0, 16, math.MaxInt64} {
					parallel.SetThreads(threads)
					productTraits.MostAlong = most
					to := grid(t, d, m, n, 0, func() int64 { return 99 })
					w := backend.Product{To: to, A: a, B: b, Alpha: dtype.IntScalar(1), Beta: dtype.IntScalar(0)}
					require.NoError(t, runProduct("test", w))
					for i := range m {
						for j := range n {
							require.Equal(t, get(want, i, j), get(to, i, j), "%d, %d of %v %v, most %d, %d threads", i, j, d, s, most, threads)
						}
					}
				}
			}
		}
	}
}
