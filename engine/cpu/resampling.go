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
	"github.com/libtensor/libtensor/engine/resampling"
	"github.com/libtensor/libtensor/engine/shape"
)

var resampleKernel = kernel.Of(kernelapi.Resample)

// fewLanes is the number of adjacent channels below which each channel has separate weights, so that registers hold several positions.
const fewLanes = 8

// runResampling resizes images, or computes the gradient. Threads share rows of the result.
func runResampling(op string, w backend.Resampling) (err error) {
	d := w.To.DType()
	fn, err := resampleKernel.For(op, d)
	if err != nil {
		return err
	}
	to := w.To.Sizes()
	k := kernelapi.Resampling{From: at(w.From, 0), To: at(w.To, 0), Lanes: 1}
	planes := to[0] * to[1]
	if !w.From.IsContiguous() || !w.To.IsContiguous() {
		planes, k.Lanes = to[0], to[1]
	}
	axes := resampling.ComputeAxes(w)
	if resampling.RowsFirst(d, &axes) {
		k.AlongFirst = 1
	}
	if x := &axes[len(axes)-1]; k.Lanes > 1 && k.Lanes < fewLanes && max(x.Size, x.Outputs)*k.Lanes <= math.MaxInt32 {
		*x = x.RepeatChannels(k.Lanes)
		k.Lanes = 1
	}
	tables := make([]kernelWeights, len(axes))
	for i, t := range axes {
		tables[i] = newKernelWeights(t, d)
		k.Axes[i] = tables[i].newArguments()
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

// kernelWeights are indices with weights in the dtype that kernels compute in.
type kernelWeights struct {
	resampling.IndexWeights
	narrow []float32
}

func newKernelWeights(t resampling.IndexWeights, d dtype.DType) kernelWeights {
	return kernelWeights{IndexWeights: t, narrow: t.NarrowWeights(d)}
}

// newArguments returns the arguments of kernels. They refer to the memory of t.
func (t *kernelWeights) newArguments() kernelapi.IndexWeights {
	a := kernelapi.IndexWeights{Size: t.Size, Outputs: t.Outputs, Most: t.Most, Back: t.MaxIndexDecrease(),
		Index: uintptr(unsafe.Pointer(unsafe.SliceData(t.Index))), Unit: t.Unit}
	if t.Counts != nil {
		a.Counts = uintptr(unsafe.Pointer(unsafe.SliceData(t.Counts)))
	}
	if a.Weights = uintptr(unsafe.Pointer(unsafe.SliceData(t.narrow))); t.narrow == nil {
		a.Weights = uintptr(unsafe.Pointer(unsafe.SliceData(t.Weights)))
	}
	return a
}
