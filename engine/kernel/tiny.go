package kernel

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
)

// TinyLimit is the number of elements up to which a plain Go loop beats the way into C and back, which costs as much as a
// few hundred elements of vector code.
const TinyLimit = 16

// Tiny computes n elements of a binary kernel in Go. Strides are in bytes: the element's size, or 0 for a constant.
type Tiny func(out, a, b unsafe.Pointer, outStride, aStride, bStride uintptr, n int64)

type tinyNumber interface{ float32 | float64 | int64 }

// tinyKernels are the kernels that programs with small tensors call most. Their results are bitwise identical to those of the C++ kernels.
var tinyKernels = map[kernelapi.Kernel][dtype.Count + 1]Tiny{
	kernelapi.Add: tinyRows(tinyAdd[float32], tinyAdd[float64], tinyAdd[int64]),
	kernelapi.Sub: tinyRows(tinySub[float32], tinySub[float64], tinySub[int64]),
	kernelapi.Mul: tinyRows(tinyMul[float32], tinyMul[float64], tinyMul[int64]),
}

func tinyRows(singles, doubles, integers Tiny) (rows [dtype.Count + 1]Tiny) {
	rows[dtype.Float32.Row()], rows[dtype.Float64.Row()], rows[dtype.Int64.Row()] = singles, doubles, integers
	return rows
}

func tinyAdd[T tinyNumber](out, a, b unsafe.Pointer, outStride, aStride, bStride uintptr, n int64) {
	for ; n > 0; n-- {
		*(*T)(out) = *(*T)(a) + *(*T)(b)
		out, a, b = unsafe.Add(out, outStride), unsafe.Add(a, aStride), unsafe.Add(b, bStride)
	}
}

func tinySub[T tinyNumber](out, a, b unsafe.Pointer, outStride, aStride, bStride uintptr, n int64) {
	for ; n > 0; n-- {
		*(*T)(out) = *(*T)(a) - *(*T)(b)
		out, a, b = unsafe.Add(out, outStride), unsafe.Add(a, aStride), unsafe.Add(b, bStride)
	}
}

func tinyMul[T tinyNumber](out, a, b unsafe.Pointer, outStride, aStride, bStride uintptr, n int64) {
	for ; n > 0; n-- {
		*(*T)(out) = *(*T)(a) * *(*T)(b)
		out, a, b = unsafe.Add(out, outStride), unsafe.Add(a, aStride), unsafe.Add(b, bStride)
	}
}
