package iter

import (
	"sync/atomic"
	"unsafe"

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
	l.Row = row
	l.Params = Params{}
	for i, t := range operands {
		l.Memory[i], l.Compute[i] = t.DType(), compute
	}
	arrange(l, 0, operands)
	var found atomic.Bool
	split(l, func(piece *kernel.Loop) {
		kernel.Elementwise(piece)
		if *(*int64)(unsafe.Pointer(&piece.Params)) != 0 {
			found.Store(true)
		}
	})
	loops.Put(l)
	return found.Load(), nil
}
