package iter

import (
	"sync/atomic"
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// places mirrors place_params of places.h.
type places struct{ step, size, bad, failed int64 }

// RunIndexed is Run for a kernel with an index operand. The first operand is the output; step is the number of bytes from one
// position of the indexed operand to the next, size the number of positions. The kernel checks every index as it uses it, as
// another thread may write to it at any time; one out of range ends the run with an error.
func RunIndexed(op string, k *kernel.Kernel, compute dtype.DType, operands []*tensor.Tensor, step, size int64) error {
	row, err := k.For(op, compute)
	if err != nil || operands[0].Numel() == 0 {
		return err
	}
	l := loops.Get().(*kernel.Loop)
	defer loops.Put(l)
	l.Row = row
	*paramsOf[places](l) = places{step: step, size: size}
	if err := prepare(op, l, k, compute, 1, operands); err != nil {
		return err
	}
	var found atomic.Pointer[places]
	split(l, func(piece *kernel.Loop) {
		kernel.Elementwise(piece)
		if p := *paramsOf[places](piece); p.failed != 0 {
			found.Store(&p)
		}
	})
	if p := found.Load(); p != nil {
		return status.Indexf("%s: index %d is out of bounds for size %d", op, p.bad, size)
	}
	return nil
}

// OutOfRange finds an element of index that is not in [0, size), or, where wrap is set, not in [-size, size).
func OutOfRange(op string, k *kernel.Kernel, index *tensor.Tensor, size int64, wrap bool) (bad int64, found bool, err error) {
	if index.Numel() == 0 {
		return 0, false, nil
	}
	l := loops.Get().(*kernel.Loop)
	defer loops.Put(l)
	p := paramsOf[places](l)
	start := places{size: size}
	if wrap {
		start.step = 1
	}
	*p = start
	l.Row = k.Row(dtype.Int64)
	if err := prepare(op, l, k, dtype.Int64, 0, []*tensor.Tensor{index}); err != nil {
		return 0, false, err
	}
	var failed atomic.Bool
	split(l, func(piece *kernel.Loop) {
		kernel.Elementwise(piece)
		if paramsOf[places](piece).failed != 0 {
			failed.Store(true)
		}
	})
	if !failed.Load() {
		return 0, false, nil
	}
	*p = start // the first of several, whatever the number of threads
	kernel.Elementwise(l)
	return p.bad, p.failed != 0, nil
}

// paramsOf views the parameters of a loop.
func paramsOf[T any](l *kernel.Loop) *T { return (*T)(unsafe.Pointer(&l.Params)) }
