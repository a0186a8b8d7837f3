package tensor

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/storage"
)

func TestGeometryStaysInsideTheStorage(t *testing.T) {
	x, err := Zeros("test", []int64{2, 3}, dtype.Float32, device.Host)
	require.NoError(t, err)
	defer x.Release()
	for _, c := range []struct {
		sizes, strides []int64
		offset         int64
		problem        string
	}{
		{[]int64{2, 3}, []int64{3, 1}, 0, ""},
		{[]int64{2, 3}, []int64{0, 1}, 3, ""},
		{[]int64{0, 100}, []int64{100, 1}, 50, ""}, // nothing is reached
		{[]int64{2, 3}, []int64{3, 1}, 1, "need a storage of 28 bytes, but it has 24"},
		{[]int64{2, 3}, []int64{4, 1}, 0, "need a storage of 28 bytes"},
		{[]int64{2}, []int64{-1}, 1, "stride -1 of dimension 0 is negative"},
		{[]int64{2}, []int64{1}, -1, "storage offset -1"},
		{[]int64{-2}, []int64{1}, 0, "size -2"},
		{[]int64{2}, []int64{1, 1}, 0, "same length"},
		{[]int64{3}, []int64{math.MaxInt64}, 0, "64-bit"},
		{[]int64{1 << 40, 1 << 40}, []int64{0, 0}, 0, "more elements"},
	} {
		v, err := x.View("as_strided", c.sizes, c.strides, c.offset)
		if c.problem != "" {
			assert.ErrorContains(t, err, c.problem, c)
			continue
		}
		require.NoError(t, err, c)
		v.Release()
	}
	assert.EqualValues(t, 1, x.Storage().Refs(), "refused views hold no reference")
}

func TestAllocationsBeyondInt64AreRefused(t *testing.T) {
	_, err := Empty("empty", []int64{1 << 61}, dtype.Float64, device.Host)
	assert.ErrorContains(t, err, "more bytes than a 64-bit integer counts")
	_, err = EmptyStrided("empty_strided", []int64{2, 2}, []int64{1, -1}, dtype.Float64, device.Host)
	assert.ErrorContains(t, err, "stride -1 of dimension 1 is negative")
}

func TestResizeKeepsElementsAndGrowsTheStorage(t *testing.T) {
	x, err := Zeros("test", []int64{2}, dtype.Int64, device.Host)
	require.NoError(t, err)
	defer x.Release()
	Put(x.Data(), dtype.Int64, dtype.IntScalar(7))
	require.NoError(t, x.Resize("resize_", []int64{100, 100}))
	assert.EqualValues(t, 80000, x.Storage().Nbytes())
	assert.Equal(t, []int64{100, 1}, x.Strides())
	assert.EqualValues(t, 7, x.At([]int64{0, 0}).I)
}

func TestRecycledTensorStartsAfresh(t *testing.T) {
	before := storage.MemoryStats().InUse
	x, err := Empty("test", []int64{2, 3}, dtype.Float32, device.Host)
	require.NoError(t, err)
	Put(x.Data(), dtype.Float32, dtype.FloatScalar(5))
	x.Recycle()
	assert.Equal(t, before, storage.MemoryStats().InUse, "parked memory is not in use")
	y, err := Zeros("test", []int64{4}, dtype.Int32, device.Host)
	require.NoError(t, err)
	defer y.Release()
	assert.Equal(t, []int64{4}, y.Sizes())
	for i := range int64(4) {
		assert.EqualValues(t, 0, y.At([]int64{i}).I)
	}
}

func TestRecycleLeavesSharedMemoryAlone(t *testing.T) {
	x, err := Zeros("test", []int64{2}, dtype.Float32, device.Host)
	require.NoError(t, err)
	a := x.Alias()
	defer a.Release()
	x.Recycle()
	y, err := Empty("test", []int64{2}, dtype.Float32, device.Host)
	require.NoError(t, err)
	defer y.Release()
	assert.NotEqual(t, a.Data(), y.Data())
}

func TestNumberKeepsEveryBit(t *testing.T) {
	for _, s := range []dtype.Scalar{dtype.BoolScalar(true), dtype.IntScalar(1<<62 + 1), dtype.FloatScalar(0.1), dtype.ComplexScalar(complex(0.1, -2))} {
		n, err := Number(s)
		require.NoError(t, err)
		assert.Equal(t, s, n.Item())
		assert.Equal(t, dtype.Number, n.Rank())
		n.Release()
	}
}

func TestElementsOfEveryDType(t *testing.T) {
	for d := dtype.DType(0); d < dtype.Count; d++ {
		x, err := Zeros("test", nil, d, device.Host)
		require.NoError(t, err)
		Put(x.Data(), d, dtype.FloatScalar(1))
		assert.Equal(t, complex(1, 0), x.Item().Complex(), d)
		if d.IsComplex() {
			Put(x.Data(), d, dtype.ComplexScalar(complex(0.5, -2)))
			assert.Equal(t, complex(0.5, -2), x.Item().Complex(), d)
		}
		if d.IsIntegral() {
			Put(x.Data(), d, dtype.FloatScalar(-3.9))
			want := int64(-3)
			if d == dtype.Uint8 {
				want = 253
			}
			assert.Equal(t, want, x.Item().I, d)
		}
		x.Release()
	}
}
