package cuda

import (
	"unsafe"

	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/kernelapi"
)

// alignLabels computes the losses of connectionist temporal classification, with a thread for each batch element. It reads the labels
// first, because the kernel uses them as indices.
func alignLabels(op string, w backend.Alignment) error {
	if w.Targets.Numel() > 0 {
		bytes, err := readTensor(op, w.Targets)
		if err != nil {
			return err
		}
		if err := w.CheckLabels(op, unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(bytes))), w.Targets.Numel())); err != nil {
			return err
		}
	}
	sizes, width := w.Logs.Sizes(), w.Forward.Sizes()[2]
	a := aligning{count: sizes[1], steps: sizes[0], losses: uintptr(w.Losses.Data()),
		LabelAlignment: kernelapi.LabelAlignment{Logs: uintptr(w.Logs.Data()),
			Forward: uintptr(w.Forward.Data()), Step: sizes[1] * sizes[2], Classes: sizes[2], Blank: w.Blank, Width: width}}
	if w.Targets.Numel() > 0 {
		a.Labels = uintptr(w.Targets.Data())
	}
	if w.Given != nil {
		a.Gradient, a.given = uintptr(w.Gradient.Data()), uintptr(w.Given.Data())
	}
	if w.Finite {
		a.finite = 1
	}
	elements := make([]alignedElement, len(w.Steps))
	for i := range elements {
		elements[i] = alignedElement{w.Steps[i], w.Labels[i], w.Starts[i]}
	}
	a.room = (4*(width+kernelapi.AlignmentRoom) + a.Classes) * 8
	return withLaunches(op, w.Logs.Device(), func(s *launchSequence) {
		a.elements, a.Room = uploadElements(s, elements), s.allocateTemporary(a.count*a.room)
		launchStep(s, kernels.Of("alignment", w.Logs.DType()), a.count, &a)
	})
}
