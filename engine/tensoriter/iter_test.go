package tensoriter

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

func strided(t *testing.T, d dtype.DType, sizes, strides []int64) *tensor.Tensor {
	t.Helper()
	x, err := tensor.EmptyStrided("test", sizes, strides, d, device.Host)
	require.NoError(t, err)
	t.Cleanup(x.Release)
	return x
}

func TestSelfOverlaps(t *testing.T) {
	for _, c := range []struct {
		sizes, strides []int64
		want           bool
	}{
		{[]int64{2, 3}, []int64{3, 1}, false},
		{[]int64{2, 3}, []int64{0, 1}, true},
		{[]int64{2, 3}, []int64{2, 1}, true},
		{[]int64{2, 3}, []int64{8, 2}, false},
		{[]int64{3, 2}, []int64{2, 3}, false}, // 0 2 4 and 3 5 7 interleave
		{[]int64{4, 2}, []int64{2, 6}, true},
		{[]int64{1, 1}, []int64{0, 0}, false},
	} {
		assert.Equal(t, c.want, SelfOverlaps(strided(t, dtype.Int8, c.sizes, c.strides)), c)
	}
}

func TestOverlap(t *testing.T) {
	base := strided(t, dtype.Int32, []int64{12}, []int64{1})
	view := func(offset, n, stride int64) *tensor.Tensor {
		v, err := base.View("test", []int64{n}, []int64{stride}, offset)
		require.NoError(t, err)
		t.Cleanup(v.Release)
		return v
	}
	for _, c := range []struct {
		a, b *tensor.Tensor
		want bool
	}{
		{view(0, 4, 1), view(4, 4, 1), false},
		{view(0, 4, 1), view(3, 4, 1), true},
		{view(0, 6, 2), view(1, 6, 2), false},
		{view(0, 6, 2), view(2, 3, 3), true},
		{view(0, 0, 1), view(0, 4, 1), false},
	} {
		assert.Equal(t, c.want, Overlaps(c.a, c.b))
	}
	assert.ErrorContains(t, Writable("add", view(0, 3, 0)), "more than one element of the written-to tensor")
}

func TestAllocateFollowsTheInputs(t *testing.T) {
	for _, c := range []struct {
		sizes  []int64
		inputs [][2][]int64
		want   []int64
	}{
		{[]int64{2, 3}, [][2][]int64{{{2, 3}, {3, 1}}}, []int64{3, 1}},
		{[]int64{2, 3}, [][2][]int64{{{2, 3}, {1, 2}}}, []int64{1, 2}},
		{[]int64{2, 3}, [][2][]int64{{{2, 3}, {2, 8}}}, []int64{1, 2}},
		{[]int64{2, 3}, [][2][]int64{{{2, 3}, {1, 2}}, {{3}, {1}}}, []int64{1, 2}},
		{[]int64{2, 3}, [][2][]int64{{{2, 3}, {1, 2}}, {{2, 3}, {3, 1}}}, []int64{1, 2}},
		{[]int64{2, 3}, [][2][]int64{{{2, 1}, {1, 1}}, {{3}, {1}}}, []int64{3, 1}},
		{[]int64{2, 3, 4, 5}, [][2][]int64{{{2, 3, 4, 5}, {60, 1, 15, 3}}}, []int64{60, 1, 15, 3}},
		{[]int64{2, 3, 4, 5}, [][2][]int64{{{2, 3, 4, 5}, {60, 1, 15, 3}}, {{3, 1, 1}, {1, 1, 1}}}, []int64{60, 1, 15, 3}},
	} {
		var inputs []*tensor.Tensor
		for _, in := range c.inputs {
			inputs = append(inputs, strided(t, dtype.Float32, in[0], in[1]))
		}
		out, err := Allocate("add", c.sizes, dtype.Float32, device.Host, inputs...)
		require.NoError(t, err)
		assert.Equal(t, c.want, out.Strides(), c)
		out.Release()
	}
}

// Copies convert, broadcast and follow any strides, with the same bytes for any number of threads.
func TestCopyOverOddStrides(t *testing.T) {
	old := parallel.Threads()
	defer parallel.SetThreads(old)
	src := strided(t, dtype.Int16, []int64{300, 1, 401}, []int64{1, 7, 303})
	for i := range int64(300) {
		for j := range int64(401) {
			at, err := src.View("test", nil, nil, i+303*j)
			require.NoError(t, err)
			tensor.Put(at.Data(), dtype.Int16, dtype.IntScalar(i-j))
			at.Release()
		}
	}
	for threads := 1; threads <= 4; threads++ {
		parallel.SetThreads(threads)
		dst := strided(t, dtype.Float64, []int64{300, 2, 401}, []int64{900, 450, 1})
		require.NoError(t, backend.Copy("test", dst, src))
		for _, at := range [][]int64{{0, 0, 0}, {299, 1, 400}, {17, 1, 33}, {150, 0, 399}} {
			assert.Equal(t, float64(at[0]-at[2]), dst.At(at).F, "%v with %d threads", at, threads)
		}
		sum := 0.0
		for i := range int64(300) {
			for j := range int64(401) {
				sum += dst.At([]int64{i, 1, j}).F * float64(i+2*j)
			}
		}
		assert.Equal(t, wantSum(), sum, threads)
	}
}

func wantSum() (sum float64) {
	for i := range 300 {
		for j := range 401 {
			sum += float64((i - j) * (i + 2*j))
		}
	}
	return sum
}

func TestDevicesMustAgree(t *testing.T) {
	meta := device.Device{Type: device.Meta, Index: -1}
	cpu := strided(t, dtype.Float32, []int64{2}, []int64{1})
	scalar := strided(t, dtype.Float32, nil, nil)
	m, err := tensor.Empty("test", []int64{2}, dtype.Float32, meta)
	require.NoError(t, err)
	defer m.Release()
	_, err = Device("add", cpu, m)
	assert.ErrorContains(t, err, "at least two devices, cpu and meta")
	d, err := Device("add", scalar, m)
	require.NoError(t, err)
	assert.Equal(t, meta, d)
}
