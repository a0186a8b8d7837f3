package ops_test

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Deterministic outcomes occur in all layouts of parameters and outputs: each element is drawn with its own parameter.
func TestParametersBelongToTheirElements(t *testing.T) {
	sizes := []int64{3, 4}
	layouts := map[string][]int64{"contiguous": {4, 1}, "transposed": {1, 3}, "with a step": {8, 2}, "transposed with a step": {2, 6}}
	laid := func(strides []int64, values bool) *tensor.Tensor {
		x, err := tensor.EmptyStrided("test", sizes, strides, dtype.Float32, device.Host)
		require.NoError(t, err)
		t.Cleanup(x.Release)
		for i := range int64(12) {
			v := 0.0
			if values && i*i%5 < 2 {
				v = 1
			}
			tensor.Put(unsafe.Add(x.Data(), 4*(i/4*strides[0]+i%4*strides[1])), dtype.Float32, dtype.FloatScalar(v))
		}
		return x
	}
	want := flat(t, laid(layouts["contiguous"], true))
	for of, strides := range layouts {
		p := laid(strides, true)
		drawn, err := ctx.Bernoulli(nil, p, nil)
		require.NoError(t, err)
		assert.Equal(t, want, flat(t, drawn), "bernoulli of %s", of)
		drawn.Release()
		counts, err := ctx.Poisson(p, nil)
		require.NoError(t, err)
		for i, n := range flat(t, counts) {
			assert.True(t, n == 0 || want[i] > 0, "poisson of %s: %v at %d of rate 0", of, n, i)
		}
		counts.Release()
		for into, strides := range layouts {
			name := fmt.Sprintf("%s into %s", of, into)
			out := laid(strides, false)
			_, err := ctx.Bernoulli(out, p, nil)
			require.NoError(t, err)
			assert.Equal(t, want, flat(t, out), "bernoulli of %s", name)
			out = laid(strides, false)
			require.NoError(t, ctx.FillBernoulliEach(out, p, nil))
			assert.Equal(t, want, flat(t, out), "bernoulli_ of %s", name)
			out = laid(shape.ContiguousStrides(sizes), false)
			_, err = ctx.NormalTensors(out, p, laid(strides, false), nil)
			require.NoError(t, err)
			assert.Equal(t, want, flat(t, out), "normal of %s", name)
		}
	}
}

// Parameters and sizes are checked before an output grows.
func TestRejectedDrawsDoNotChangeOutputs(t *testing.T) {
	for name, draw := range map[string]func(out *tensor.Tensor) error{
		"weights that sum to 0": func(out *tensor.Tensor) error {
			weights, err := ctx.Zeros(nil, []int64{3, 4}, dtype.Float64, tensor.NoLayout, device.Host)
			require.NoError(t, err)
			defer weights.Release()
			_, err = ctx.Multinomial(out, weights, 2, true, nil)
			return err
		},
		"more samples than categories": func(out *tensor.Tensor) error {
			weights, err := ctx.Ones(nil, []int64{4}, dtype.Float64, tensor.NoLayout, device.Host)
			require.NoError(t, err)
			defer weights.Release()
			_, err = ctx.Multinomial(out, weights, 5, false, nil)
			return err
		},
		"a permutation beyond the dtype": func(out *tensor.Tensor) error {
			small, err := ctx.Zeros(nil, []int64{1}, dtype.Int8, tensor.NoLayout, device.Host)
			require.NoError(t, err)
			defer small.Release()
			_, err = ctx.Randperm(small, 1000, nil, dtype.None, tensor.NoLayout, device.Device{})
			assert.Equal(t, []int64{1}, small.Sizes())
			return err
		},
	} {
		out, err := ctx.Zeros(nil, []int64{1}, dtype.Int64, tensor.NoLayout, device.Host)
		require.NoError(t, err)
		assert.Error(t, draw(out), name)
		assert.Equal(t, []int64{1}, out.Sizes(), name)
		out.Release()
	}
}
