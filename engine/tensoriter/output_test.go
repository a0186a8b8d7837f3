package tensoriter_test

import (
	"testing"
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var meta = device.Device{Type: device.Meta, Index: -1}

// floats is an output for n floats.
func floats(out *tensor.Tensor, sharing tensoriter.Sharing, n int64) tensoriter.Output {
	return tensoriter.Output{Op: "op", Out: out, Sizes: []int64{n}, DType: dtype.Float32, Device: device.Host, Sharing: sharing}
}

// The memory that an output may share with an input, before and after it is resized.
func TestOutputsShareMemory(t *testing.T) {
	base := zeros(t, dtype.Float32, 12)
	even, odd := view(t, base, []int64{6}, []int64{2}, 0), view(t, base, []int64{6}, []int64{2}, 1)
	head, tail := view(t, base, []int64{7}, []int64{1}, 0), view(t, base, []int64{7}, []int64{1}, 5)
	same := view(t, base, []int64{7}, []int64{1}, 0)
	const overlap, inPlace = "some elements of the input tensor and the written-to tensor refer to a single memory location",
		"doesn't match the broadcast shape"
	for _, c := range []struct {
		out, in  *tensor.Tensor
		n        int64
		sharing  tensoriter.Sharing
		rejected string
		direct   bool
	}{
		{even, odd, 6, tensoriter.Apart, "", true},
		{head, tail, 7, tensoriter.Apart, overlap, false},
		{head, same, 7, tensoriter.Apart, overlap, false},
		{head, head, 7, tensoriter.Apart, overlap, false},
		{head, head, 7, tensoriter.InPlace, "", true},
		{head, same, 7, tensoriter.InPlace, "", true},
		{head, tail, 7, tensoriter.InPlace, overlap, false},
		{head, head, 3, tensoriter.InPlace, inPlace, false},
		{head, head, 7, tensoriter.Beside, "", false},
		{head, tail, 7, tensoriter.Beside, "", false},
		{even, odd, 6, tensoriter.Beside, "", true},
		{head, same, 7, tensoriter.InPlaceOrBeside, "", true},
		{head, tail, 7, tensoriter.InPlaceOrBeside, "", false},
	} {
		o := floats(c.out, c.sharing, c.n)
		before := storage.MemoryStats().Storages
		err := o.Open(c.in)
		if c.rejected != "" {
			assert.ErrorContains(t, err, c.rejected)
		} else if assert.NoError(t, err) {
			assert.Equal(t, c.direct, o.To == c.out)
		}
		result, err := o.Done(err)
		assert.Equal(t, err == nil, result == c.out)
		assert.Equal(t, before, storage.MemoryStats().Storages, "what was made beside an output is released")
	}
}

// An output that would reach into an input once it has the result's shape shares memory with it already.
func TestResizedOutputsShareMemory(t *testing.T) {
	base := zeros(t, dtype.Float32, 8)
	input := view(t, base, []int64{4}, []int64{1}, 4)
	for _, c := range []struct {
		n        int64
		sharing  tensoriter.Sharing
		rejected bool
		direct   bool
	}{
		{4, tensoriter.Apart, false, true},
		{5, tensoriter.Apart, true, false},
		{5, tensoriter.InPlace, true, false},
		{4, tensoriter.Beside, false, true},
		{5, tensoriter.Beside, false, false},
	} {
		out := view(t, base, []int64{1}, []int64{1}, 0)
		o := floats(out, c.sharing, c.n)
		err := o.Open(input)
		assert.Equal(t, c.rejected, err != nil, "%v", c)
		if err != nil {
			assert.Equal(t, []int64{1}, out.Sizes(), "a rejected output keeps its shape")
			continue
		}
		assert.Equal(t, c.direct, o.To == out, "%v", c)
		_, err = o.Done(nil)
		require.NoError(t, err)
		assert.Equal(t, []int64{c.n}, out.Sizes())
	}
}

// Every error names the operator, the actual and the expected value, and leaves the output unchanged.
func TestInvalidOutputsAreRejected(t *testing.T) {
	bytes := make([]byte, 16)
	frozen, err := tensor.FromExternal("test", unsafe.Pointer(&bytes[0]), 16, dtype.Float32, []int64{4}, []int64{1}, storage.External{}, true,
		device.Host)
	require.NoError(t, err)
	t.Cleanup(frozen.Release)
	integers := zeros(t, dtype.Int64, 2)
	repeated := view(t, zeros(t, dtype.Float32, 1), []int64{4}, []int64{0}, 0)
	elsewhere := floats(zeros(t, dtype.Float32, 2), tensoriter.Apart, 4)
	elsewhere.Device = meta
	exact := floats(zeros(t, dtype.Float64, 2), tensoriter.Apart, 4)
	exact.Exact, exact.Name = true, "values"
	for want, o := range map[string]tensoriter.Output{
		"op: expected values to have dtype float32, the result's, but got float64": exact,
		"op: result type float32 can't be cast to the desired output type int64 of out; use a tensor of dtype float32": floats(integers,
			tensoriter.Apart, 4),
		"op: expected out to be on device meta, as the result is, but it is on cpu": elsewhere,
		"op: the written-to tensor is over read-only memory; clone() it first":      floats(frozen, tensoriter.Apart, 4),
		"op: unsupported operation: more than one element of the written-to tensor": floats(repeated, tensoriter.Apart, 4),
	} {
		sizes := o.Out.Sizes()
		result, err := o.Done(o.Open())
		assert.ErrorContains(t, err, want)
		assert.Nil(t, result)
		assert.Equal(t, sizes, o.Out.Sizes())
	}
	huge := floats(zeros(t, dtype.Float32, 2), tensoriter.Beside, 0)
	huge.Sizes = []int64{1 << 40, 1 << 40}
	_, err = huge.Done(huge.Open())
	assert.Error(t, err)
	assert.Equal(t, []int64{2}, huge.Out.Sizes())
}

// If one of two outputs is rejected, neither changes.
func TestTwoOutputs(t *testing.T) {
	base := zeros(t, dtype.Float32, 8)
	low, high := view(t, base, []int64{2}, []int64{1}, 0), view(t, base, []int64{2}, []int64{1}, 2)
	for _, c := range []struct {
		second   *tensor.Tensor
		n        int64
		rejected string
	}{
		{low, 2, "the outputs share memory"},
		{high, 2, ""},
		{high, 3, "the outputs share memory"},
		{zeros(t, dtype.Int64, 1), 3, "can't be cast"},
	} {
		first, second := floats(low, tensoriter.Apart, c.n), floats(c.second, tensoriter.Apart, c.n)
		sizes := c.second.Sizes()
		a, b, err := tensoriter.DoneBoth(&first, &second, tensoriter.OpenBoth(&first, &second))
		if c.rejected == "" {
			require.NoError(t, err)
			assert.True(t, a == low && b == c.second)
			continue
		}
		assert.ErrorContains(t, err, c.rejected)
		assert.Equal(t, []int64{2}, low.Sizes())
		assert.Equal(t, sizes, c.second.Sizes())
	}
}

// A result that a kernel writes in another dtype is converted, for a new tensor as for an output.
func TestOutputsAreConverted(t *testing.T) {
	for _, out := range []*tensor.Tensor{nil, zeros(t, dtype.Float64, 1)} {
		o := tensoriter.Output{Op: "op", Out: out, Sizes: []int64{2}, DType: dtype.Float16, Device: device.Host, RowMajor: true,
			Writes: dtype.Float32, Sharing: tensoriter.Beside}
		require.NoError(t, o.Open())
		assert.Equal(t, dtype.Float32, o.To.DType())
		for i := range int64(2) {
			tensor.Put(unsafe.Add(o.To.Data(), 4*i), dtype.Float32, dtype.FloatScalar(1.5))
		}
		result, err := o.Done(nil)
		require.NoError(t, err)
		assert.Equal(t, 1.5, result.At([]int64{1}).Float())
		if out == nil {
			assert.Equal(t, dtype.Float16, result.DType())
			result.Release()
		} else {
			assert.True(t, result == out)
		}
	}
}

// With too many elements to check, a doubtful case counts as an overlap.
func TestOverlapOfManyElements(t *testing.T) {
	const n = 1 << 27
	many, err := tensor.EmptyStrided("test", []int64{n}, []int64{2}, dtype.Uint8, meta)
	require.NoError(t, err)
	t.Cleanup(many.Release)
	few := view(t, many, []int64{3}, []int64{2}, 4)
	assert.True(t, tensoriter.Overlaps(many, few))
	assert.True(t, tensoriter.Overlaps(few, many))
}
