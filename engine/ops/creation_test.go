package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// A creation function requires an out of the requested dtype, device and layout.
func TestCreationOutputsAreAsAskedFor(t *testing.T) {
	meta := device.Device{Type: device.Meta, Index: -1}
	for name, f := range map[string]func(out *tensor.Tensor, d dtype.DType, l tensor.Layout, dev device.Device) (*tensor.Tensor, error){
		"zeros": func(out *tensor.Tensor, d dtype.DType, l tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
			return ctx.Zeros(out, []int64{3}, d, l, dev)
		},
		"arange": func(out *tensor.Tensor, d dtype.DType, l tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
			return ctx.Arange(out, dtype.IntScalar(3), d, l, dev)
		},
		"rand": func(out *tensor.Tensor, d dtype.DType, l tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
			return ctx.Rand(out, []int64{3}, nil, d, l, dev)
		},
		"eye": func(out *tensor.Tensor, d dtype.DType, l tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
			return ctx.Eye(out, 3, d, l, dev)
		},
	} {
		out := given(t, dtype.Float32, []int64{2}, 5, 7)
		for _, c := range []struct {
			d        dtype.DType
			l        tensor.Layout
			dev      device.Device
			rejected string
		}{
			{dtype.Float64, tensor.NoLayout, device.None, name + ": expected out to have dtype float64, the result's, but got float32"},
			{dtype.None, tensor.NoLayout, meta, name + ": expected out to be on device meta, as the result is, but it is on cpu"},
			{dtype.None, tensor.COO, device.None, "sparse_coo"},
		} {
			_, err := f(out, c.d, c.l, c.dev)
			assert.ErrorContains(t, err, c.rejected)
			assert.Equal(t, []float64{5, 7}, flat(t, out))
		}
		for _, out := range []*tensor.Tensor{out, onMeta(t, out)} {
			for _, dev := range []device.Device{device.None, out.Device()} {
				got, err := f(out, dtype.Float32, tensor.Strided, dev)
				require.NoError(t, err)
				assert.True(t, got == out)
			}
		}
	}
}

// The results of isin are truths, in an output as in a fresh tensor.
func TestIsinWritesTruths(t *testing.T) {
	x, y := given(t, dtype.Int64, []int64{3}, 1, 2, 3), given(t, dtype.Int64, []int64{1}, 2)
	out := given(t, dtype.Bool, []int64{0})
	_, err := ctx.Isin(out, x, y, false, true)
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 0, 1}, flat(t, out))
	_, err = ctx.Isin(x, x, y, false, false)
	assert.ErrorContains(t, err, "isin: expected out to have dtype bool, the result's, but got int64")
	assert.Equal(t, []float64{1, 2, 3}, flat(t, x))
}
