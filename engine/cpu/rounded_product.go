package cpu

import (
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
)

// roundedKernel multiplies float32 with bfloat16 that packRoundedKernel has packed, in tile registers.
var roundedKernel, packRoundedKernel = kernel.Of(kernelapi.GemmRoundedAmx), kernel.Of(kernelapi.GemmRoundedAmxPack)
