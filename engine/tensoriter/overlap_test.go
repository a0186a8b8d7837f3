package tensoriter_test

import (
	"math/rand/v2"
	"testing"

	"github.com/libtensor/libtensor/engine/backend"
	_ "github.com/libtensor/libtensor/engine/cpu" // copies
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func zeros(t *testing.T, d dtype.DType, sizes ...int64) *tensor.Tensor {
	t.Helper()
	z, err := tensor.Zeros("zeros", sizes, d, device.Host)
	require.NoError(t, err)
	t.Cleanup(z.Release)
	return z
}

func view(t *testing.T, of *tensor.Tensor, sizes, strides []int64, offset int64) *tensor.Tensor {
	t.Helper()
	v, err := of.View("as_strided", sizes, strides, offset)
	require.NoError(t, err)
	t.Cleanup(v.Release)
	return v
}

func TestOverlap(t *testing.T) {
	base := zeros(t, dtype.Float32, 12)
	even, odd := view(t, base, []int64{6}, []int64{2}, 0), view(t, base, []int64{6}, []int64{2}, 1)
	head, tail := view(t, base, []int64{7}, []int64{1}, 0), view(t, base, []int64{7}, []int64{1}, 5)
	assert.False(t, tensoriter.Overlaps(even, odd), "interleaved views share no element")
	assert.True(t, tensoriter.Overlaps(head, tail))
	assert.True(t, tensoriter.Overlaps(even, head))

	assert.True(t, tensoriter.SelfOverlaps(view(t, base, []int64{4, 3}, []int64{0, 1}, 0)))
	assert.True(t, tensoriter.SelfOverlaps(view(t, base, []int64{4, 4}, []int64{2, 1}, 0)))
	assert.False(t, tensoriter.SelfOverlaps(view(t, base, []int64{2, 3}, []int64{1, 4}, 0)))
	assert.False(t, tensoriter.SelfOverlaps(view(t, base, []int64{1, 3}, []int64{0, 1}, 0)), "a size of 1 repeats nothing")
	assert.False(t, tensoriter.SelfOverlaps(view(t, base, []int64{2, 2}, []int64{3, 2}, 0)), "3i + 2j differ")
}

// bytesOf has the bytes of a view.
func bytesOf(t *tensor.Tensor) map[int64]bool {
	at := []int64{t.Offset() * t.DType().Size()}
	for i, size := range t.Sizes() {
		var next []int64
		for _, p := range at {
			for k := range size {
				next = append(next, p+k*t.Strides()[i]*t.DType().Size())
			}
		}
		at = next
	}
	all := map[int64]bool{}
	for _, p := range at {
		for b := range t.DType().Size() {
			all[p+b] = true
		}
	}
	return all
}

func TestOverlapIsThatOfBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	base := zeros(t, dtype.Float32, 4000)
	draw := func() *tensor.Tensor {
		strides := []int64{0, 1, 2, 3, 4, 6, 8, 12, 24, 100}
		var sizes, steps []int64
		for range r.IntN(4) {
			sizes, steps = append(sizes, 1+r.Int64N(4)), append(steps, strides[r.IntN(len(strides))])
		}
		return view(t, base, sizes, steps, r.Int64N(30))
	}
	seen := map[bool]int{}
	for range 3000 {
		a, b := draw(), draw()
		meet, of := false, bytesOf(a)
		for p := range bytesOf(b) {
			meet = meet || of[p]
		}
		require.Equal(t, meet, tensoriter.Overlaps(a, b), "%v %v %d and %v %v %d", a.Sizes(), a.Strides(), a.Offset(), b.Sizes(), b.Strides(),
			b.Offset())
		seen[meet]++
	}
	assert.Greater(t, min(seen[false], seen[true]), 500)
}

// Columns of a matrix with more elements than are looked at one by one.
func TestColumnsOfManyElementsAreDisjoint(t *testing.T) {
	const n = 1 << 27
	many, err := tensor.EmptyStrided("test", []int64{n, 4}, []int64{4, 1}, dtype.Float64, meta)
	require.NoError(t, err)
	t.Cleanup(many.Release)
	first, middle := view(t, many, []int64{n}, []int64{4}, 0), view(t, many, []int64{n, 2}, []int64{4, 1}, 1)
	assert.False(t, tensoriter.Overlaps(first, middle))
	assert.False(t, tensoriter.Overlaps(middle, view(t, many, []int64{n}, []int64{4}, 3)))
	assert.True(t, tensoriter.Overlaps(middle, view(t, many, []int64{n}, []int64{4}, 2)))
}

func TestOutputStridesFollowInputs(t *testing.T) {
	a := zeros(t, dtype.Float32, 2, 3, 4)
	turned := view(t, a, []int64{4, 3, 2}, []int64{1, 4, 12}, 0)
	column := zeros(t, dtype.Float32, 4, 1, 1)
	for _, c := range []struct {
		inputs []*tensor.Tensor
		want   []int64
	}{
		{[]*tensor.Tensor{turned}, []int64{1, 4, 12}},
		{[]*tensor.Tensor{turned, turned}, []int64{1, 4, 12}},
		{[]*tensor.Tensor{turned, column}, []int64{1, 4, 12}},
		{[]*tensor.Tensor{column, column}, []int64{6, 2, 1}},
	} {
		out, err := tensoriter.Allocate("add", []int64{4, 3, 2}, dtype.Float32, device.Host, c.inputs...)
		require.NoError(t, err)
		assert.Equal(t, c.want, out.Strides())
		out.Release()
	}
}

func TestCopyConvertsThroughAnyStrides(t *testing.T) {
	defer parallel.SetThreads(parallel.Threads())
	for threads := 1; threads <= 3; threads++ {
		parallel.SetThreads(threads)
		source := zeros(t, dtype.Int16, 300, 400)
		for i := range int64(300) {
			for j := range int64(400) {
				tensor.Put(view(t, source, nil, nil, i*400+j).Data(), dtype.Int16, dtype.IntScalar(i-j))
			}
		}
		turned := view(t, source, []int64{400, 300}, []int64{1, 400}, 0)
		for _, d := range []dtype.DType{dtype.Int16, dtype.Float64, dtype.BFloat16, dtype.Complex64} {
			copied := zeros(t, d, 400, 300)
			require.NoError(t, backend.Copy("test", copied, turned))
			for _, at := range [][]int64{{0, 0}, {399, 299}, {17, 200}, {33, 31}} {
				assert.Equal(t, float64(at[1]-at[0]), copied.At(at).Float(), "%v at %v", d, at)
			}
		}
	}
}
