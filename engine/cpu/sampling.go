package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// runSampling runs a kernel on images at points. Threads share blocks of points, or the channels of images to which values are added.
func runSampling(op string, w backend.Sampling) (err error) {
	fn, err := kernel.Of(w.Kernel).For(op, w.Images.DType())
	if err != nil {
		return err
	}
	k := tensoriter.LaySampling(w)
	kernel.Call(fn, unsafe.Pointer(&k))
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	units := w.Images.Sizes()[0] * k.Units
	work := max(w.Images.Numel(), w.Values.Numel())
	shareRooms(&s, k.Bytes, units, max(Grain*units/max(work, 1)/4, 1), func(begin, end int64, room uintptr) {
		part := k
		part.Begin, part.End, part.Room = begin, end, room
		kernel.Call(fn, unsafe.Pointer(&part))
	})
	return nil
}
