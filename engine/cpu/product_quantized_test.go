package cpu

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

// grid returns a matrix with contiguous rows or columns, or with gaps.
func grid(t *testing.T, d dtype.DType, rows, cols int64, layout int, number func() int64) *tensor.Tensor {
	t.Helper()
	sizes, strides := []int64{rows, cols}, []int64{max(cols, 1), 1}
	switch layout {
	case 1:
		strides = []int64{1, max(rows, 1)}
	case 2:
		strides = []int64{3*max(cols, 1) + 2, 3}
	}
	x, err := tensor.EmptyStrided("test", sizes, strides, d, device.Host)
	require.NoError(t, err)
	t.Cleanup(x.Release)
	for i := range rows {
		for j := range cols {
			put(x, i, j, dtype.IntScalar(number()))
		}
	}
	return x
}

func placeOf(x *tensor.Tensor, i, j int64) unsafe.Pointer {
	return unsafe.Add(x.Data(), (i*x.Strides()[0]+j*x.Strides()[1])*x.DType().Size())
}

func put(x *tensor.Tensor, i, j int64, v dtype.Scalar) { tensor.Put(placeOf(x, i, j), x.DType(), v) }
func get(x *tensor.Tensor, i, j int64) dtype.Scalar    { return tensor.Get(placeOf(x, i, j), x.DType()) }

// sumsOf are the sums of a product, row by row, which wrap.
func sumsOf(w backend.QuantizedProduct) []int32 {
	m, k, n := w.A.Sizes()[0], w.A.Sizes()[1], w.B.Sizes()[1]
	sums := make([]int32, m*n)
	for p := range k {
		row := make([]int32, n)
		for j := range n {
			row[j] = int32(get(w.B, p, j).Int()) - itemOf(w.BZeros, j)
		}
		for i := range m {
			x := int32(get(w.A, i, p).Int()) - w.AZero
			for j, y := range row {
				sums[i*n+int64(j)] += x * y
			}
		}
	}
	return sums
}

// Products of integers of the full range are equal on every path, and are rounded and saturated once, in any layout and for any number of
// threads.
func TestQuantizedProductsAreExact(t *testing.T) {
	defer parallel.SetThreads(parallel.Threads())
	r := rand.New(rand.NewPCG(5, 6))
	for _, d := range []dtype.DType{dtype.Uint8, dtype.Int8} {
		number := func() int64 {
			v := []int64{0, 1, 127, 128, 255, r.Int64N(256), r.Int64N(256)}[r.IntN(7)]
			if d == dtype.Int8 {
				v -= 128
			}
			return v
		}
		weight := func() int64 { return []int64{-128, 127, 0, r.Int64N(256) - 128, r.Int64N(256) - 128}[r.IntN(5)] }
		for which, s := range [][3]int64{{1, 1, 1}, {2, 3, 5}, {1, 130, 40}, {4, 64, 33}, {9, 257, 16}, {33, 1030, 70}, {70, 35, 129},
			{300, 66, 31}, {3, 0, 4}, {64, 4, 0}, {128, 128, 256}} {
			m, k, n := s[0], s[1], s[2]
			for layout := range 9 {
				w := backend.QuantizedProduct{
					A: grid(t, d, m, k, layout%3, number), B: grid(t, dtype.Int8, k, n, layout/3, weight),
					AZero: int32(number()), Zero: 7, Low: -128, High: 127,
				}
				columns := int64(1)
				if layout%2 == 1 {
					columns = max(n, 1)
				}
				for range columns {
					w.Scales = append(w.Scales, float32(r.Float64()/math.Sqrt(float64(k+1))/100))
					if layout != 2 {
						w.BZeros = append(w.BZeros, int32(weight()))
					}
				}
				to := []dtype.DType{dtype.Uint8, dtype.Int8, dtype.Int32, dtype.Float32}[(layout+which)%4]
				if to == dtype.Uint8 {
					w.Low, w.High = 7, 255
				}
				switch bias := (layout + which) % 3; {
				case bias == 1:
					w.Bias = grid(t, dtype.Int32, 1, n, 0, func() int64 { return r.Int64N(20000) - 10000 })
				case bias == 2 && to != dtype.Int32:
					w.Bias = grid(t, dtype.Float32, 1, n, 0, func() int64 { return r.Int64N(20000) - 10000 })
				}
				sums := sumsOf(w)
				for threads := 1; threads <= 3; threads += 2 {
					parallel.SetThreads(threads)
					w.To = grid(t, to, m, n, (layout+threads)%3, func() int64 { return 99 })
					require.NoError(t, quantizedProduct("test", w))
					for i := range m {
						for j := range n {
							require.Equal(t, expected(w, sums[i*n+j], j), get(w.To, i, j), "%d, %d of %v %v layout %d to %v", i, j, d, s, layout, to)
						}
					}
				}
			}
		}
	}
}

// expected is an element of column j of a product.
func expected(w backend.QuantizedProduct, sum int32, j int64) dtype.Scalar {
	if w.Bias != nil && w.Bias.DType() == dtype.Int32 {
		sum += int32(get(w.Bias, 0, j).Int())
	}
	x := float32(sum)
	if w.Bias != nil && w.Bias.DType() == dtype.Float32 {
		x += float32(get(w.Bias, 0, j).Float())
	}
	x *= itemOf(w.Scales, j)
	switch w.To.DType() {
	case dtype.Int32:
		return dtype.IntScalar(int64(sum))
	case dtype.Float32:
		return dtype.FloatScalar(float64(x))
	}
	return dtype.IntScalar(int64(min(max(math.RoundToEven(float64(x))+float64(w.Zero), float64(w.Low)), float64(w.High))))
}

// Halves round to even, values out of range saturate, and NaN becomes the upper end.
func TestQuantizedProductsRoundAndSaturate(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	scales := []float32{0.5, 1.5, 2.5, -0.5, -1.5, 126.4, 127.6, 1e9, -1e9, 3e38, inf, -inf, nan}
	for _, c := range []struct {
		to              dtype.DType
		zero, low, high int32
		want            []int64
	}{
		{dtype.Int8, 0, -128, 127, []int64{0, 2, 2, 0, -2, 126, 127, 127, -128, 127, 127, -128, 127}},
		{dtype.Int8, 3, 3, 127, []int64{3, 5, 5, 3, 3, 127, 127, 127, 3, 127, 127, 3, 127}},
		{dtype.Uint8, 10, 0, 255, []int64{10, 12, 12, 10, 8, 136, 138, 255, 0, 255, 255, 0, 255}},
	} {
		n := int64(len(scales))
		w := backend.QuantizedProduct{
			To: given(t, c.to, []int64{1, n}, make([]float64, n)...), A: given(t, dtype.Uint8, []int64{1, 1}, 4),
			B: grid(t, dtype.Int8, 1, n, 0, func() int64 { return 1 }), AZero: 3, Scales: scales, Zero: c.zero, Low: c.low, High: c.high,
		}
		require.NoError(t, quantizedProduct("test", w))
		for j, want := range c.want {
			assert.Equal(t, want, get(w.To, 0, int64(j)).Int(), "%v of %v", scales[j], c.to)
		}
	}
}
