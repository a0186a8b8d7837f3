package kernel

// #include "gemm.h"
import "C"

import "unsafe"

// Gemm is a batch of matrix products c = Alpha*a*b + Beta*d over any strides, which count elements; it mirrors lt_gemm.
type Gemm struct {
	A, B, C, D         uintptr
	Batch, M, N, K     int64
	ABatch, ARow, ACol int64
	BBatch, BRow, BCol int64
	CBatch, CRow, CCol int64
	DBatch, DRow, DCol int64
	Alpha, Beta        [16]byte
}

// QuantizedGemm is a product of matrices of integers that represent numbers; it mirrors lt_gemm_quantized.
type QuantizedGemm struct {
	Gemm
	Offsets, Zeros, RowSums, Bias, Scales, Packed uintptr
	Column                                        int64
	AZero, Zero                                   int32
	Low, High                                     float32
	DType                                         int32
}

// RoundedGemm is a product of float32 whose operands are rounded to bfloat16; it mirrors lt_gemm_rounded.
type RoundedGemm struct {
	Gemm
	Packed          uintptr
	PackedK, Column int64
}

// GemmPacking is a matrix that is packed for products; it mirrors lt_gemm_packing.
type GemmPacking struct {
	B, Packed               uintptr
	N, K, BRow, BCol, Bytes int64
}

// Dot is the sum of products of two vectors, written in the kernel's total dtype; it mirrors lt_dot.
type Dot struct {
	A, B, Out       uintptr
	N, AStep, BStep int64
	Conjugate       int32
}

// Go and C must agree to the byte.
var (
	_ [unsafe.Sizeof(Gemm{}) - C.sizeof_lt_gemm]struct{}
	_ [C.sizeof_lt_gemm - unsafe.Sizeof(Gemm{})]struct{}
	_ [unsafe.Sizeof(QuantizedGemm{}) - C.sizeof_lt_gemm_quantized]struct{}
	_ [C.sizeof_lt_gemm_quantized - unsafe.Sizeof(QuantizedGemm{})]struct{}
	_ [unsafe.Sizeof(RoundedGemm{}) - C.sizeof_lt_gemm_rounded]struct{}
	_ [C.sizeof_lt_gemm_rounded - unsafe.Sizeof(RoundedGemm{})]struct{}
	_ [unsafe.Sizeof(GemmPacking{}) - C.sizeof_lt_gemm_packing]struct{}
	_ [C.sizeof_lt_gemm_packing - unsafe.Sizeof(GemmPacking{})]struct{}
	_ [unsafe.Sizeof(Dot{}) - C.sizeof_lt_dot]struct{}
	_ [C.sizeof_lt_dot - unsafe.Sizeof(Dot{})]struct{}
)
