package iter

import (
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Params are launch's.
type Params = launch.Params

// Copy writes src to dst, broadcast and converted.
func Copy(dst, src *tensor.Tensor) { launch.Copy("copy", dst, src) }

// Run runs a kernel over operands.
func Run(op string, k *kernel.Kernel, compute dtype.DType, _ int, operands []*tensor.Tensor, params *Params) error {
	w := launch.Elementwise{Kernel: k, Compute: compute, Params: params}
	copy(w.Operands[:], operands)
	return launch.On(operands[0]).Elementwise(op, w)
}
