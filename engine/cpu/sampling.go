package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
)

// sample runs a kernel on images at points. Threads share blocks of points, or the channels of images to which values are added.
func sample(op string, w backend.Sampling) (err error) {
	fn, err := kernel.Of(w.Kernel).For(op, w.Images.DType())
	if err != nil {
		return err
	}
	sizes, strides := w.Images.Sizes(), w.Images.Strides()
	k := kernel.Sample{
		Image: start(w.Images), Grid: start(w.Grid), Along: start(w.Along), Values: start(w.Values), Slope: start(w.Slope),
		Channels: sizes[1], Points: shape.Product(w.Values.Sizes()[2:]), Dims: int64(len(sizes) - 2), Mode: w.Mode, Padding: w.Padding,
		ExampleStride: strides[0], ChannelStride: strides[1],
	}
	if w.AlignCorners {
		k.Align = 1
	}
	copy(k.Sizes[:], sizes[2:])
	copy(k.Strides[:], strides[2:])
	kernel.Call(fn, unsafe.Pointer(&k))
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	units := sizes[0] * k.Units
	work := max(w.Images.Numel(), w.Values.Numel())
	shareRooms(&s, k.Bytes, units, max(Grain*units/max(work, 1)/4, 1), func(begin, end int64, room uintptr) {
		part := k
		part.Begin, part.End, part.Room = begin, end, room
		kernel.Call(fn, unsafe.Pointer(&part))
	})
	return nil
}
