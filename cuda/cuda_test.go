package cuda

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// Every launch records which streams use the memory of its tensors.
func TestAllLaunchesRecordTheirStreams(t *testing.T) {
	text, err := os.ReadFile("cuda.go")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "backend.Device{")
	require.True(t, found)
	kinds := regexp.MustCompile(`(?m)^\t\t(\w+): +(.*),$`).FindAllStringSubmatch(table, -1)
	assert.NotEmpty(t, kinds)
	for _, k := range kinds {
		assert.True(t, k[1] == "Use" || strings.HasPrefix(k[2], "recordingUses(") || strings.HasPrefix(k[2], "recordingUsesOf("), "%s: write recordingUses(%s)", k[1],
			k[2])
	}
}
