package kernelapi

// CPU is what the kernels of the CPU use, which engine/kernel sets when it is loaded.
var CPU struct {
	Instructions   string // amx, if products use its tile registers, avx512, avx2 or baseline; "" in a build without kernels
	RoundsProducts bool   // products multiply float32, which they round, with bfloat16
}
