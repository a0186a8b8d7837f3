package kernel

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
)

// Kernels that use tile registers are there only if the CPU supports them, or they are emulated, and LIBTENSOR_CPU selects no lower tier.
func TestUseOfTileRegisters(t *testing.T) {
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
	assert.Contains(t, usableTiers(), Tier())
	lower := slices.Contains(usableTiers(), os.Getenv(TierVariable))
	uses := !lower && permitsAMX(Tier())
	assert.Equal(t, uses, CPUTier() == amxTier)
	assert.Equal(t, uses, OfTiles(kernelapi.GemmAmx).Has(dtype.BFloat16))
	assert.False(t, Of(kernelapi.GemmAmx).Has(dtype.BFloat16))
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
