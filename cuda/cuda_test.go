package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/libtensor/libtensor/cuda/driver"
	"github.com/libtensor/libtensor/engine/device"
)

// Without a driver there are no devices, and the functions of cu return errors rather than ending the process.
func TestWithoutADriver(t *testing.T) {
	if driver.Absence() == "" {
		t.Skip("there is a driver")
	}
	assert.Equal(t, "no driver: libcuda.so.1 was not found", device.Absence(device.CUDA))
	assert.Zero(t, device.Count(device.CUDA))
	_, err := device.Resolve("zeros", device.Device{Type: device.CUDA, Index: 1})
	assert.EqualError(t, err, "zeros: device cuda:1 is not available: no driver: libcuda.so.1 was not found; use device='cpu'")
}
