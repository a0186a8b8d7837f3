package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
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

// pooling runs a kernel on windows of images. Threads share rows of the result, or planes of images, to which elements are added in order.
func pooling(op string, w backend.Pooling) (err error) {
	fn, err := kernel.Of(w.Kernel).For(op, w.Images.DType())
	if err != nil {
		return err
	}
	k := kernel.Pool{Image: at(w.Images, 0), Result: at(w.Results, 0), Divisor: w.Divisor, Dims: int64(w.Images.Dim() - 2)}
	if w.Indices != nil {
		k.Indices = at(w.Indices, 0)
	}
	if w.Samples != nil {
		k.Samples = at(w.Samples, 0)
	}
	if w.Padded {
		k.Padded = 1
	}
	images, results := w.Images.Sizes(), w.Results.Sizes()
	planes, channels := images[0], images[1]
	if w.Images.IsContiguous() && w.Results.IsContiguous() {
		planes *= channels
	} else {
		k.Channels = channels
	}
	step := max(k.Channels, 1)
	k.ImagePlane, k.ResultPlane = shape.Product(images[2:])*step, shape.Product(results[2:])*step
	rows := shape.Product(results[2 : len(results)-1])
	switch w.Kernel {
	case fractionalPoolKernel:
		rows = 1
	case columnsKernel:
		rows = shape.Product(w.Taps)
		k.ResultPlane *= rows
	case fromColumnsKernel:
		rows = shape.Product(images[2 : len(images)-1])
		k.ResultPlane *= shape.Product(w.Taps)
	case averagePoolGradientKernel:
		rows = shape.Product(images[2 : len(images)-1])
	case maxPoolGradientKernel:
		rows = max((k.Channels+poolBlock-1)/poolBlock, 1)
	}
	first := len(k.Windows) - (len(images) - 2)
	for i := range k.Windows {
		k.Windows[i] = kernel.Windows{Size: 1, Positions: 1, Taps: 1, Stride: 1, Step: 1}
		if d := i - first; d >= 0 {
			k.Windows[i].Size, k.Windows[i].Positions, k.Windows[i].Taps = images[d+2], results[d+2], 0
			if len(w.Taps) > 0 {
				k.Windows[i].Taps = w.Taps[d]
				if len(w.Stride) > 0 {
					k.Windows[i].Stride, k.Windows[i].Step, k.Windows[i].Origin = w.Stride[d], w.Dilation[d], -w.Padding[d]
				}
			}
		}
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
