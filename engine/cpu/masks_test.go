package cpu

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/tensor"
)

// given makes a contiguous tensor of dtype d from values.
func given(t *testing.T, d dtype.DType, sizes []int64, values ...float64) *tensor.Tensor {
	t.Helper()
	x, err := tensor.Empty("test", sizes, d, device.Host)
	require.NoError(t, err)
	t.Cleanup(x.Release)
	for i, v := range values {
		tensor.Put(unsafe.Add(x.Data(), int64(i)*d.Size()), d, dtype.FloatScalar(v))
	}
	return x
}

func vectorOf(t *testing.T, values ...int64) *tensor.Tensor {
	t.Helper()
	x := given(t, dtype.Int64, []int64{int64(len(values))})
	copy(elementsOf[int64](x), values)
	return x
}

// ramp makes a vector of 0, 1, 2, ..., as far as dtype d holds them.
func ramp(t *testing.T, d dtype.DType, n int64) *tensor.Tensor {
	t.Helper()
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i)
	}
	return given(t, d, []int64{n}, values...)
}

// flat lists the elements of a contiguous tensor.
func flat(t *testing.T, x *tensor.Tensor) []float64 {
	t.Helper()
	whole := given(t, dtype.Float64, x.Sizes())
	require.NoError(t, backend.Copy("test", whole, x))
	return slices.Clone(elementsOf[float64](whole))
}

// A mask that changes after it was counted selects no more elements than fit the buffer.
func TestMasksAreCheckedWhereTheyAreUsed(t *testing.T) {
	const n = 300
	for _, d := range []dtype.DType{dtype.Int8, dtype.Int16, dtype.Float32, dtype.Int64, dtype.Complex128} {
		for _, change := range []byte{0, 1} {
			mask := given(t, dtype.Bool, []int64{n}, slices.Repeat([]float64{0, 1, 0}, n/3)...)
			m := countMask(mask)
			bytes := elementsOf[byte](mask)
			for i := range bytes {
				bytes[i] = change
			}
			from, to := ramp(t, d, n), given(t, d, []int64{n}, slices.Repeat([]float64{5}, n)...)
			err := m.copySelected("test", maskTake.Row(d.Raw()), func(_ int64, args *maskArgs) {
				args.from, args.to = uintptr(from.Data()), uintptr(to.Data())
			})
			assert.ErrorContains(t, err, "another thread wrote to the mask")
			assert.Equal(t, slices.Repeat([]float64{5}, n-100), flat(t, to)[100:])
			list := vectorOf(t, slices.Repeat([]int64{7}, n)...)
			err = m.copySelected("test", maskPositions, func(_ int64, args *maskArgs) { args.to = uintptr(list.Data()) })
			assert.ErrorContains(t, err, "another thread wrote to the mask")
			assert.Equal(t, slices.Repeat([]float64{7}, n-100), flat(t, list)[100:])
			err = m.copySelected("test", maskGive.Row(d.Raw()), func(_ int64, args *maskArgs) {
				args.from, args.to = uintptr(from.Data()), uintptr(to.Data())
			})
			assert.ErrorContains(t, err, "another thread wrote to the mask")
		}
	}
}

// Counts that another thread's writes make wrong stay in their memory.
func TestCountsStayInTheirMemory(t *testing.T) {
	values := vectorOf(t, 0, 2, 5, -1)
	counts := vectorOf(t, slices.Repeat([]int64{0}, 10)...)
	args := histogramArgs{in: uintptr(values.Data()), out: uintptr(counts.Data()), n: 4, size: 5}
	kernel.Call(bincountKernel.Row(dtype.Int64), unsafe.Pointer(&args))
	assert.NotZero(t, args.bad)
	assert.Equal(t, []float64{1, 0, 1, 0, 0, 0, 0, 0, 0, 0}, flat(t, counts))
	for _, k := range []*kernel.Kernel{kernel.Of(kernelapi.UniqueConsecutive), kernel.Of(kernelapi.UniqueRows)} {
		distinct, scratch := ramp(t, dtype.Float32, 200), ramp(t, dtype.Uint8, 2*200*kernelapi.SortEntry(4))
		found := given(t, dtype.Float32, []int64{200}, slices.Repeat([]float64{-1}, 200)...)
		starts := vectorOf(t, slices.Repeat([]int64{0}, 200)...)
		groups := uniqueArgs{in: uintptr(distinct.Data()), values: uintptr(found.Data()), counts: uintptr(starts.Data()),
			scratch: uintptr(scratch.Data()), n: 200, width: 1, limit: 70}
		kernel.Call(k.Row(dtype.Float32), unsafe.Pointer(&groups))
		assert.Equal(t, int64(71), groups.found, "one more than there is room for")
		assert.Equal(t, slices.Repeat([]float64{-1}, 130), flat(t, found)[70:])
	}
}

// The power of 0 to NaN is NaN.
func TestPowersOfNaN(t *testing.T) {
	assert.True(t, math.IsNaN(real(powComplex(0, complex(math.NaN(), 2)))))
}
