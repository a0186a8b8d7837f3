package tensor_test

import (
	"math"
	"testing"
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGeometryIsProved(t *testing.T) {
	s, err := storage.New("test", 48, device.Host, true)
	require.NoError(t, err)
	defer s.Release()
	for _, c := range []struct {
		sizes, strides []int64
		offset         int64
		err            string
	}{
		{[]int64{3, 4}, []int64{4, 1}, 0, ""},
		{[]int64{12}, []int64{1}, 0, ""},
		{[]int64{0, 100}, []int64{100, 1}, 12, ""},
		{[]int64{5}, []int64{0}, 11, ""},
		{[]int64{13}, []int64{1}, 0, "need a storage of 52 bytes, but it has 48"},
		{[]int64{2}, []int64{1}, 11, "need a storage of 52 bytes"},
		{[]int64{2}, []int64{-1}, 1, "stride -1 of dimension 0 is negative"},
		{[]int64{2}, []int64{1}, -1, "storage offset -1"},
		{[]int64{-2}, []int64{1}, 0, "size -2 of dimension 0 is negative"},
		{[]int64{2, 2}, []int64{1}, 0, "must have the same length"},
		{[]int64{math.MaxInt64}, []int64{math.MaxInt64}, 0, "more elements than a 64-bit integer can represent"},
		{[]int64{2}, []int64{math.MaxInt64}, 0, "64-bit"},
		{make([]int64, 2000), make([]int64, 2000), 0, "2000 dimensions"},
	} {
		v, err := tensor.New("as_strided", s, dtype.Float32, c.sizes, c.strides, c.offset)
		if c.err != "" {
			assert.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		assert.EqualValues(t, 2, s.Refs())
		v.Release()
	}
	assert.EqualValues(t, 1, s.Refs(), "a rejected view holds nothing")
	_, err = tensor.Empty("empty", []int64{1 << 40, 1 << 22}, dtype.Complex128, device.Host)
	assert.ErrorContains(t, err, "64-bit")
}

func TestSmallTensorsAreRecycledWithTheirMemory(t *testing.T) {
	before := storage.MemoryStats().InUse
	a, err := tensor.Zeros("zeros", []int64{3}, dtype.Float32, device.Host)
	require.NoError(t, err)
	tensor.Put(a.Data(), dtype.Float32, dtype.FloatScalar(7))
	address := a.Data()
	assert.Greater(t, storage.MemoryStats().InUse, before)
	a.Recycle()
	assert.Equal(t, before, storage.MemoryStats().InUse)
	b, err := tensor.Zeros("zeros", []int64{2, 2}, dtype.Int32, device.Host)
	require.NoError(t, err)
	assert.Equal(t, address, b.Data(), "the block is used again")
	assert.Equal(t, int64(0), b.At([]int64{0, 0}).I, "and zeroed")
	v, err := b.View("view", []int64{4}, []int64{1}, 0)
	require.NoError(t, err)
	b.Recycle()
	assert.Equal(t, int64(0), v.At([]int64{3}).I, "a view keeps the memory")
	v.Release()
	assert.Equal(t, before, storage.MemoryStats().InUse)
}

func TestElementsRoundTripInEveryDType(t *testing.T) {
	var bytes [16]byte
	p := unsafe.Pointer(&bytes[0])
	for _, d := range dtype.All {
		tensor.Put(p, d, dtype.IntScalar(1))
		assert.Equal(t, complex(1, 0), tensor.Get(p, d).Complex(), "%v", d)
		if d.IsComplex() {
			tensor.Put(p, d, dtype.ComplexScalar(1-2i))
			assert.Equal(t, 1-2i, tensor.Get(p, d).Complex(), "%v", d)
		}
	}
	tensor.Put(p, dtype.Uint8, dtype.FloatScalar(-1.5))
	assert.Equal(t, int64(255), tensor.Get(p, dtype.Uint8).I)
	tensor.Put(p, dtype.Int32, dtype.FloatScalar(math.NaN()))
	assert.Equal(t, int64(0), tensor.Get(p, dtype.Int32).I)
	justAboveHalf := int64(1<<60 + 1<<36 + 1) // by way of float64 it would be a tie
	tensor.Put(p, dtype.Float32, dtype.IntScalar(justAboveHalf))
	assert.Equal(t, float64(1<<60+1<<37), tensor.Get(p, dtype.Float32).Float())
}

func TestNumbersKeepAllBits(t *testing.T) {
	n, err := tensor.WrappedNumber(dtype.IntScalar(math.MaxInt64 - 1))
	require.NoError(t, err)
	defer n.Release()
	assert.Equal(t, int64(math.MaxInt64-1), n.Item().I)
	assert.Equal(t, dtype.Number, n.Rank())
}

func TestRestoredTensorsAreAsTheyWere(t *testing.T) {
	before := storage.MemoryStats().InUse
	for _, n := range []int64{0, 3, 5000} {
		a, err := tensor.Zeros("zeros", []int64{n, 1}, dtype.Float32, device.Host)
		require.NoError(t, err)
		if n > 0 {
			tensor.Put(a.Data(), dtype.Float32, dtype.FloatScalar(7))
		}
		used, nbytes := storage.MemoryStats().InUse, a.Storage().Nbytes()
		var saved tensor.Saved
		saved.Save(a)
		require.NoError(t, a.Resize("add", []int64{100, 2, 300}))
		saved.Restore()
		assert.Equal(t, []int64{n, 1}, a.Sizes())
		assert.Equal(t, []int64{1, 1}, a.Strides())
		assert.Equal(t, nbytes, a.Storage().Nbytes())
		assert.Equal(t, used, storage.MemoryStats().InUse)
		if n > 0 {
			assert.Equal(t, 7.0, a.At([]int64{0, 0}).F)
		}
		a.Release()
	}
	assert.Equal(t, before, storage.MemoryStats().InUse)
}

func TestFailedAllocationsOfRecycledTensorsLoseNothing(t *testing.T) {
	a, err := tensor.Zeros("zeros", []int64{3}, dtype.Float32, device.Host)
	require.NoError(t, err)
	a.Recycle()
	before := storage.MemoryStats()
	storage.FailAfter(1)
	_, err = tensor.Zeros("zeros", []int64{3}, dtype.Float32, device.Host)
	assert.ErrorContains(t, err, "was made to fail")
	after := storage.MemoryStats()
	assert.Equal(t, before.InUse, after.InUse)
	assert.Equal(t, before.Storages, after.Storages)
}

// A number whose shape changes is a tensor like others from then on; a change that is taken back leaves it a number.
func TestScalarResizedToAnotherShape(t *testing.T) {
	number, err := tensor.WrappedNumber(dtype.IntScalar(3))
	require.NoError(t, err)
	defer number.Release()
	var saved tensor.Saved
	saved.Save(number)
	require.NoError(t, number.Resize("resize_", []int64{0}))
	assert.False(t, number.IsWrappedNumber())
	assert.Equal(t, dtype.Dimensioned, number.Rank())
	saved.Restore()
	assert.True(t, number.IsWrappedNumber())
	assert.Equal(t, int64(3), number.Item().I)
}

// If two threads change a tensor's geometry, one gets an error, which does not reset the state of the other's change.
func TestChangeIsReportedUntilItEnds(t *testing.T) {
	x, err := tensor.Empty("test", []int64{4}, dtype.Float32, device.Host)
	require.NoError(t, err)
	defer x.Release()
	defer func(before func(*tensor.Tensor) bool) { tensor.UsedElsewhere = before }(tensor.UsedElsewhere)
	change := func(n int64) error { return x.SetGeometry("set_", []int64{n}, []int64{1}, 0) }
	rejected := false
	tensor.UsedElsewhere = func(*tensor.Tensor) bool {
		if rejected {
			return true // the other thread's concurrent change
		}
		rejected = true
		require.ErrorContains(t, change(2), "in use by a call on another thread")
		require.True(t, x.Busy())
		return false
	}
	require.NoError(t, change(3))
	require.True(t, rejected)
	require.False(t, x.Busy())
}

// A wrapper and its views are on the device that they were created for, not on that of the storage, which has no bytes.
func TestWrappersHaveADeviceAndNoElements(t *testing.T) {
	before := storage.MemoryStats()
	second := device.Device{Type: device.XLA, Index: 1}
	w, err := tensor.Wrapper("test", []int64{1 << 20, 1 << 20}, dtype.Float32, second, tensor.COO)
	require.NoError(t, err)
	defer w.Release()
	require.Equal(t, second, w.Device())
	require.False(t, w.IsMeta())
	require.Equal(t, tensor.COO, w.Layout())
	require.True(t, w.Ready())
	require.Nil(t, w.Data())
	require.Equal(t, before, storage.MemoryStats())
	a := w.Alias()
	defer a.Release()
	v, err := w.View("test", []int64{2}, []int64{0}, 0)
	require.NoError(t, err)
	defer v.Release()
	b, err := w.ViewAs("test", dtype.Int32, []int64{2}, []int64{0}, 0)
	require.NoError(t, err)
	defer b.Release()
	require.NoError(t, w.SetGeometry("test", []int64{3}, []int64{0}, 0))
	for _, x := range []*tensor.Tensor{w, a, v, b} {
		require.Equal(t, second, x.Device())
	}

	x, err := tensor.Empty("test", []int64{3}, dtype.Float32, device.Host)
	require.NoError(t, err)
	defer x.Release()
	require.NoError(t, w.Set("test", x.Storage(), dtype.Float32, []int64{3}, []int64{1}, 0))
	require.Equal(t, device.Host, w.Device(), "a tensor that is given a storage is where that is")
}

// Tensors of one device that are used again are not on the one before.
func TestRecycledTensorsAreWhereTheyAreMade(t *testing.T) {
	meta := device.Device{Type: device.Meta, Index: -1}
	for range 4 {
		for _, d := range []device.Device{device.Host, meta} {
			x, err := tensor.Empty("test", []int64{3}, dtype.Float32, d)
			require.NoError(t, err)
			v, err := tensor.New("test", x.Storage(), dtype.Float32, []int64{1}, []int64{1}, 0)
			require.NoError(t, err)
			require.Equal(t, d, x.Device())
			require.Equal(t, d, v.Device())
			v.Recycle()
			x.Recycle()
		}
	}
}

// A wrapped tensor that is made in the memory of a recycled one shares nothing with aliases of that, nor with a tensor that has taken its
// state over.
func TestRecycledWrappedTensorsShareNothing(t *testing.T) {
	tensorOf := func(sizes ...int64) *tensor.Tensor {
		x, err := tensor.Zeros("test", sizes, dtype.Float32, device.Host)
		require.NoError(t, err)
		return x
	}
	batch, dual := &tensor.Level{Number: 1, Size: 2}, &tensor.Level{Number: 2, Forward: true}
	value, self, tangent := tensorOf(2, 3), tensorOf(4), tensorOf(4)
	one, err := tensor.Wrap("test", value, batch)
	require.NoError(t, err)
	alias := one.Alias()
	require.NoError(t, self.BecomePair("test", tangent, dual))
	one.Recycle()
	for range 3 {
		next, err := tensor.WrapOwned("test", tensorOf(2, 5, 6), batch)
		require.NoError(t, err)
		assert.Equal(t, []int64{5, 6}, next.Sizes())
		assert.Equal(t, []int64{2, 5, 6}, next.Wrapped().Value.Sizes())
		pair, err := tensor.PairOwned("test", tensorOf(7), tensorOf(7), nil, dual)
		require.NoError(t, err)
		assert.Equal(t, []int64{7}, pair.Wrapped().Tangent.Sizes())
		assert.Equal(t, []int64{3}, alias.Sizes())
		assert.Equal(t, value.Storage(), alias.Wrapped().Value.Storage())
		assert.Equal(t, []int64{4}, self.Wrapped().Tangent.Sizes())
		next.Recycle()
		pair.Recycle()
	}
	alias.Recycle()
	self.Recycle()
	assert.EqualValues(t, 1, value.Storage().Refs())
	assert.EqualValues(t, 1, tangent.Storage().Refs())

	_, err = tensor.WrapOwned("test", value.Alias(), &tensor.Level{Number: 3, Size: 9})
	require.ErrorContains(t, err, "batch size")
	_, err = tensor.PairOwned("test", value.Alias(), tangent.Alias(), nil, dual)
	require.ErrorContains(t, err, "sizes of its primal")
	assert.EqualValues(t, 1, value.Storage().Refs())
	assert.EqualValues(t, 1, tangent.Storage().Refs())
	value.Recycle()
	tangent.Recycle()
}
