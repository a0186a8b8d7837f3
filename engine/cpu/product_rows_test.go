package cpu

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

// A row of a product is bitwise the same alone, with a few others and with so many that the second operand is packed: on both sides of the
// sizes from which on that operand is read row by row, for columns and depths that fill vectors, tiles and parts of the sum or do not, for
// sums that are added to another matrix, and for any number of threads. Tile registers sum in another order than the kernels for few rows.
func TestFewRowsOfProductsEqualThoseOfMany(t *testing.T) {
	defer parallel.SetThreads(parallel.Threads())
	defer func(wide bool) { wideTiles = wide }(wideTiles)
	wideTiles = true // the kernels here, not BLAS, on every tier
	r := rand.New(rand.NewPCG(13, 14))
	random := func(d dtype.DType, rows, columns int64) *tensor.Tensor {
		x := grid(t, d, rows, columns, 0, func() int64 { return 0 })
		for i := range rows * columns {
			value := dtype.FloatScalar(r.NormFloat64())
			if d.IsIntegral() {
				value = dtype.IntScalar(r.Int64N(100))
			}
			tensor.Put(unsafe.Add(x.Data(), i*d.Size()), d, value)
		}
		return x
	}
	const many = 24
	floats := []dtype.DType{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16}
	for _, d := range append(floats, dtype.Int8, dtype.Uint8, dtype.Int16, dtype.Int32, dtype.Int64) {
		panel, row := 128/d.Compute().Size(), leastBlockBytes/d.Size()
		for _, s := range [][2]int64{{600, row - 1}, {600, row}, {255, row + panel}, {257, row + panel/2 + 1}, {300, 3*row + 3}} {
			k, n := s[0], s[1]
			a, b, self := random(d, many, k), random(d, k, n), random(d, many, n)
			product := func(rows, beta int64) []byte {
				first := func(x *tensor.Tensor) *tensor.Tensor {
					part, err := x.View("test", []int64{rows, x.Sizes()[1]}, x.Strides(), 0)
					require.NoError(t, err)
					t.Cleanup(part.Release)
					return part
				}
				to := random(d, rows, n)
				w := backend.Product{To: to, A: first(a), B: b, Alpha: dtype.IntScalar(-3), Beta: dtype.IntScalar(beta)}
				if beta != 0 {
					w.Self = first(self)
				}
				require.NoError(t, runProduct("test", w))
				return unsafe.Slice((*byte)(to.Data()), rows*n*d.Size())
			}
			for _, beta := range []int64{0, 2} {
				parallel.SetThreads(1)
				want := product(many, beta)
				few := want
				if kernel.OfTiles(kernelapi.GemmAmx).Has(d) { // for more than skinny rows
					few = product(skinny, beta)
				}
				for _, threads := range []int{1, 2, 5} {
					parallel.SetThreads(threads)
					for _, rows := range []int64{1, 2, 3, 7, 8, 9} {
						got, expected := product(rows, beta), want
						if rows <= skinny {
							expected = few
						}
						require.True(t, bytes.Equal(expected[:len(got)], got), "%d rows of %v %v, beta %v, %d threads", rows, d, s, beta, threads)
					}
				}
			}
		}
	}
}
