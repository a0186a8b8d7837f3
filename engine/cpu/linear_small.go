package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

// smallTasks are those that kernels do for many small matrices at once, where a call of LAPACK for each would cost more than
// the work.
var smallTasks = map[backend.Task]*kernel.Kernel{
	backend.FactorLU:       kernel.Of(kernelapi.SmallLu),
	backend.Invert:         kernel.Of(kernelapi.SmallSolve),
	backend.SolveLinear:    kernel.Of(kernelapi.SmallSolve),
	backend.FactorCholesky: kernel.Of(kernelapi.SmallCholesky),
	backend.FactorQR:       kernel.Of(kernelapi.SmallQr),
	backend.FormQ:          kernel.Of(kernelapi.SmallQ),
}

// runSmall runs the task by a kernel, if there is one.
func (w *matrixWork) runSmall() bool {
	k := smallTasks[w.Task]
	if k == nil || max(w.m, w.n) > kernel.SmallLimit || w.Factored {
		return false
	}
	infos := w.Info
	if infos == nil && w.Task != backend.FactorQR && w.Task != backend.FormQ {
		infos = w.Track(tensor.Zeros(w.Op, []int64{w.batch}, dtype.Int32, w.A.Device()))
	}
	call := kernel.Small{A: dataAddress(w.A), B: dataAddress(w.B), Values: dataAddress(w.Values), Pivots: dataAddress(w.Pivots),
		Info: dataAddress(infos), M: w.m, N: w.n}
	if w.B != nil {
		call.Right = w.B.Numel() / w.batch / w.n
	}
	if w.Values != nil {
		call.Reflections = w.Values.Numel() / w.batch
	}
	if w.Upper {
		call.Upper = 1
	}
	work := w.m*w.n*min(w.m, w.n) + w.n*w.n*call.Right
	fn := k.Row(w.d)
	parallel.For(w.batch, max(Grain/max(work, 1), 1), func(begin, end int64) {
		part := call
		part.Begin, part.End = begin, end
		kernel.Call(fn, unsafe.Pointer(&part))
	})
	return true
}

// dataAddress returns the address of an operand, or 0 for nil.
func dataAddress(t *tensor.Tensor) uintptr {
	if t == nil {
		return 0
	}
	return uintptr(t.Data())
}
