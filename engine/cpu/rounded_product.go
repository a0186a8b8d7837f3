package cpu

import "github.com/libtensor/libtensor/engine/kernel"

// roundedKernel multiplies float32 with bfloat16 that packRoundedKernel has packed, in tile registers.
var roundedKernel, packRoundedKernel = kernel.Get("gemm_rounded_amx"), kernel.Get("gemm_rounded_amx_pack")
