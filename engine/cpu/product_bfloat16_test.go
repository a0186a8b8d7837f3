package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/parallel"
)

// Products of bfloat16 whose sums are exact are equal with the CPU's instructions for bfloat16 and in float32, in any layout and for any
// number of threads.
func TestBFloat16ProductsOfBothKernels(t *testing.T) {
	defer parallel.SetThreads(parallel.Threads())
	defer func(traits kernel.ProductTraits) { productTraits = traits }(productTraits)
	r := rand.New(rand.NewPCG(9, 10))
	number := func() int64 { return r.Int64N(5) - 2 }
	for _, s := range [][3]int64{{4, 700, 33}, {8, 64, 40}, {9, 64, 40}, {17, 33, 70}, {33, 600, 31}, {70, 40, 5}, {3, 5, 2}} {
		m, k, n := s[0], s[1], s[2]
		for layout := range 9 {
			a, b := grid(t, dtype.BFloat16, m, k, layout%3, number), grid(t, dtype.BFloat16, k, n, layout/3, number)
			sums := make([]float64, m*n)
			for i := range m {
				for j := range n {
					for p := range k {
						sums[i*n+j] += get(a, i, p).Float() * get(b, p, j).Float()
					}
				}
			}
			for i := range 4 {
				productTraits.WidensBFloat16 = i%2 == 0
				parallel.SetThreads(1 + i/2*4)
				to := grid(t, dtype.BFloat16, m, n, layout%3, func() int64 { return 99 })
				require.NoError(t, runProduct("test", backend.Product{To: to, A: a, B: b, Alpha: dtype.IntScalar(1), Beta: dtype.IntScalar(0)}))
				for i := range m {
					for j := range n {
						require.Equal(t, sums[i*n+j], get(to, i, j).Float(), "%d, %d of %v layout %d", i, j, s, layout)
					}
				}
			}
		}
	}
}
