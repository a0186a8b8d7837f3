package kernelapi

// CPU describes the kernels of the CPU. engine/kernel replaces the functions, which describe a build without kernels, when it is loaded.
var CPU = struct {
	Instructions   func() string // amx, if products use its tile registers, avx512, avx2 or baseline; "" without kernels
	RoundsProducts func() bool   // products multiply float32, which they round, with bfloat16
}{func() string { return "" }, func() bool { return false }}
