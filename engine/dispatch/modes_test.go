package dispatch

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

var meta = device.Device{Type: device.Meta, Index: -1}

func TestModesAreOfTheCallsThread(t *testing.T) {
	one, two := Initial(), Initial()
	a, b := With(&one), With(&two)
	require.NoError(t, a.SetDefaultDevice(meta))
	require.NoError(t, b.SetGradEnabled(false))
	for _, c := range []struct {
		Context
		device device.Device
		grad   bool
	}{{a, meta, true}, {b, device.Host, false}, {a.Excluding(scaled), meta, true}, {Context{}, device.Host, true}} {
		d, err := c.GetDefaultDevice()
		require.NoError(t, err)
		assert.Equal(t, c.device, d)
		grad, err := c.IsGradEnabled()
		require.NoError(t, err)
		assert.Equal(t, c.grad, grad)
		made, err := c.Zeros(nil, []int64{2}, dtype.Float32, tensor.NoLayout, device.None)
		require.NoError(t, err)
		assert.Equal(t, c.device, made.Device())
		made.Release()
	}
	require.NoError(t, a.SetDefaultDevice(device.None))
	assert.Equal(t, Initial(), one)
}

// A call of no thread has nothing that it could set.
func TestModesOfNoThread(t *testing.T) {
	var c Context
	assert.ErrorContains(t, c.SetDefaultDevice(meta), "set_default_device: modes belong to a thread")
	assert.ErrorContains(t, c.SetGradEnabled(false), "set_grad_enabled: modes belong to a thread")
}
