package cpu

import (
	"math"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
)

var alignmentKernel = kernel.Of(kernelapi.Alignment)

// runAlignment sums the probabilities of alignments, or takes the gradients of their logarithms; threads share examples.
func runAlignment(op string, w backend.Alignment) (err error) {
	steps, examples, classes := w.Logs.Sizes()[0], w.Logs.Sizes()[1], w.Logs.Sizes()[2]
	if err := w.CheckLabels(op, elementsOf[int64](w.Targets)); err != nil {
		return err
	}
	fn, err := alignmentKernel.For(op, w.Logs.DType())
	if err != nil {
		return err
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	width := w.Forward.Sizes()[2]
	losses, line := elementsOf[float64](w.Losses), classes*w.Logs.DType().Size()
	bytes, grain := (4*(width+kernelapi.AlignmentRoom)+classes)*8, max(Grain/(steps*width*8), 1)
	shareRooms(&s, bytes, examples, grain, func(begin, end int64, room uintptr) {
		for i := begin; i < end; i++ {
			k := kernelapi.LabelAlignment{Logs: at(w.Logs, i*classes), Forward: at(w.Forward, i*steps*width), Room: room,
				Steps: w.Steps[i], Step: examples * classes, Classes: classes, Count: w.Labels[i], Blank: w.Blank, Width: width}
			if k.Count > 0 {
				k.Labels = at(w.Targets, w.Starts[i])
			}
			if w.Given == nil {
				kernel.Call(fn, unsafe.Pointer(&k))
				losses[i] = k.Loss
				continue
			}
			k.Gradient, k.Loss, k.Given = at(w.Gradient, i*classes), losses[i], elementsOf[float64](w.Given)[i]
			if w.Finite && math.IsInf(k.Loss, 1) {
				k.Steps = 0
			}
			for t := k.Steps; t < steps; t++ { // which have no part in the loss
				clear(bytesOf(w.Gradient)[(t*examples+i)*line:][:line])
			}
			kernel.Call(fn, unsafe.Pointer(&k))
		}
	})
	return nil
}
