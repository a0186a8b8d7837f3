package cpu

import (
	"math"
	"runtime"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
)

var resampleKernel = kernel.Of(kernelapi.Resample)

// fewLanes is the number of adjacent channels below which each channel has separate filter taps, so that registers hold several positions.
const fewLanes = 8

// resample resizes images, or computes the gradient. Threads share rows of the result.
func resample(op string, w backend.Resampling) (err error) {
	d := w.To.DType()
	fn, err := resampleKernel.For(op, d)
	if err != nil {
		return err
	}
	from, to := w.From.Sizes(), w.To.Sizes()
	k := kernel.Resample{From: at(w.From, 0), To: at(w.To, 0), Lanes: 1}
	planes := to[0] * to[1]
	if !w.From.IsContiguous() || !w.To.IsContiguous() {
		planes, k.Lanes = to[0], to[1]
	}
	first := len(k.Axes) - (len(to) - 2)
	tables := make([]taps, len(k.Axes))
	for i := range k.Axes {
		t := same(1)
		if j := i - first; j >= 0 {
			scale := 0.0
			if w.Scales != nil {
				scale = w.Scales[j]
			}
			size, outputs := from[j+2], to[j+2]
			if w.Transposed {
				t = tapsOf(d, w, outputs, size, scale).transposed()
			} else {
				t = tapsOf(d, w, size, outputs, scale)
			}
		}
		if i == len(k.Axes)-1 && k.Lanes > 1 && k.Lanes < fewLanes && max(t.size, t.outputs)*k.Lanes <= math.MaxInt32 {
			t = t.each(k.Lanes)
			k.Lanes = 1
		}
		tables[i] = t
		k.Axes[i] = tables[i].forKernel(d)
	}
	y := k.Axes[1]
	// The rows are resampled first if the source has fewer rows than the result.
	if d == dtype.Uint8 || (k.Axes[0].Weights != 0 || y.Weights != 0 || y.Outputs > y.Size) &&
		k.Axes[0].Outputs*y.Outputs >= k.Axes[0].Size*y.Size {
		k.AlongFirst = 1
	}
	kernel.Call(fn, unsafe.Pointer(&k))
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	units := planes * shape.Product(to[2:len(to)-1])
	work := max(w.From.Numel(), w.To.Numel())
	shareRooms(&s, k.Bytes, units, max(Grain*units/max(work, 1), 1), func(begin, end int64, room uintptr) {
		part := k
		part.Begin, part.End, part.Room = begin, end, room
		kernel.Call(fn, unsafe.Pointer(&part))
	})
	runtime.KeepAlive(tables)
	return nil
}
