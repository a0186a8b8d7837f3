package iter

import (
	"sync/atomic"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Scan runs a kernel without outputs over operands, which all broadcast to the shape of the first, and tells whether it
// found what it looks for: such a kernel stops once the flag in its parameters is set.
func Scan(op string, k *kernel.Kernel, compute dtype.DType, operands ...*tensor.Tensor) (bool, error) {
	row, err := k.For(op, compute)
	if err != nil || operands[0].Numel() == 0 {
		return false, err
	}
	l := loops.Get().(*kernel.Loop)
	defer loops.Put(l)
	l.Row = row
	l.Params = Params{}
	if err := prepare(op, l, k, compute, 0, operands); err != nil {
		return false, err
	}
	var found atomic.Bool
	split(l, func(piece *kernel.Loop) {
		kernel.Elementwise(piece)
		if *paramsOf[int64](piece) != 0 {
			found.Store(true)
		}
	})
	return found.Load(), nil
}
