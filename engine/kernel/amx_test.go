package kernel

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Kernels that use tile registers are there only if they are requested, and the CPU supports them or they are emulated.
func TestTileRegistersAreUsedOnRequest(t *testing.T) {
	for _, tier := range usableTiers() {
		if tier != "avx512" {
			assert.Equal(t, emulatesAMX, permitsAMX(tier), tier)
		}
		for _, k := range read(tier, false).list() {
			name := k.Name()
			if strings.Contains(name, "_amx") {
				assert.Equal(t, Kernel{Kernel: k.Kernel}, *k, tier)
			}
		}
	}
	assert.Contains(t, append(usableTiers(), amxTier), CPUTier())
	assert.Contains(t, usableTiers(), Tier())
}

// Intel's CPUs multiply bfloat16 in float32, AMD's and unknown ones do not.
func TestWideningOfBFloat16(t *testing.T) {
	assert.True(t, traitsOf(cpuModel{"GenuineIntel", 6}).WidensBFloat16)
	assert.False(t, traitsOf(cpuModel{"AuthenticAMD", 25}).WidensBFloat16)
	assert.False(t, traitsOf(cpuModel{"another vendor", 6}).WidensBFloat16)
	assert.Equal(t, traitsOf(currentModel()), ProductTraitsOfCPU())
	if model := currentModel(); Tier() != "baseline" {
		assert.Len(t, model.vendor, 12)
		assert.Positive(t, model.family)
	}
}
