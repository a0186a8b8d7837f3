package cpu

import (
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
)

// roundedKernel returns the function that multiplies float32 with bfloat16 in tile registers.
func roundedKernel() uintptr { return kernel.OfTiles(kernelapi.GemmRoundedAmx).Row(0) }

// packRoundedKernel returns the function that packs bfloat16 for roundedKernel.
func packRoundedKernel() uintptr { return kernel.OfTiles(kernelapi.GemmRoundedAmxPack).Row(0) }
