package ops

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/tensor"
)

// runElementwise runs a kernel over operands, outputs first.
func runElementwise(op string, k kernelapi.Kernel, compute dtype.DType, params *backend.Params, operands ...*tensor.Tensor) error {
	w := backend.Elementwise{Kernel: k, Compute: compute, Params: params}
	copy(w.Operands[:], operands)
	return backend.On(operands[0]).Elementwise(op, w)
}

// findAny reports whether a kernel finds an element that it searches for.
func findAny(op string, k kernelapi.Kernel, compute dtype.DType, operands ...*tensor.Tensor) (bool, error) {
	w := backend.Elementwise{Kernel: k, Compute: compute}
	copy(w.Operands[:], operands)
	return backend.On(operands[0], operands[1:]...).Any(op, w)
}
