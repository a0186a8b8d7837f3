package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

var (
	maxPoolGradientKernel     = kernelapi.MaxPoolGradient
	averagePoolGradientKernel = kernelapi.AveragePoolGradient
	fractionalPoolKernel      = kernelapi.FractionalPool
	columnsKernel             = kernelapi.Columns
	fromColumnsKernel         = kernelapi.FromColumns
)

// poolBlock is kBlock of pooling.h, the channels that share a plane of gradients.
const poolBlock = 64

// runPooling runs a kernel on windows of images. Threads share rows of the result, or planes of images, to which elements are added in
// order.
func runPooling(op string, w backend.Pooling) (err error) {
	fn, err := kernel.Of(w.Kernel).For(op, w.Images.DType())
	if err != nil {
		return err
	}
	k, planes := tensoriter.LayPooling(w)
	images, results := w.Images.Sizes(), w.Results.Sizes()
	rows := shape.Product(results[2 : len(results)-1])
	switch w.Kernel {
	case fractionalPoolKernel:
		rows = 1
	case columnsKernel:
		rows = shape.Product(w.Taps)
	case fromColumnsKernel:
		rows = shape.Product(images[2 : len(images)-1])
	case averagePoolGradientKernel:
		rows = shape.Product(images[2 : len(images)-1])
	case maxPoolGradientKernel:
		rows = max((k.Channels+poolBlock-1)/poolBlock, 1)
	}
	kernel.Call(fn, unsafe.Pointer(&k))
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	units := planes * rows
	work := max(w.Images.Numel(), w.Results.Numel())
	shareRooms(&s, k.Bytes, units, max(Grain*units/max(work, 1), 1), func(begin, end int64, room uintptr) {
		part := k
		part.Begin, part.End, part.Room = begin, end, room
		kernel.Call(fn, unsafe.Pointer(&part))
	})
	return nil
}
