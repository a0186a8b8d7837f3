package cpu

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

const (
	// pieceElements is the smallest number of elements per block of one large reduction. Blocks depend on the shape alone and are combined
	// in order, so that results are the same for any number of threads.
	pieceElements = 1 << 16
	maxPieces     = 256
	// Reductions to at most fewOutputs outputs are cut along the reduced dimensions, others along the kept ones, but not across
	// so few columns, whose rows may be reduced several at a time.
	fewOutputs = 64
	// A dimension with enough outputs for each thread is split in preference to a longer one with more expensive blocks.
	enough = 2
)

var (
	reduceDriver = kernel.Of(kernelapi.Reduce).Row(0)
	reductions   = sync.Pool{New: func() any { return new(kernelapi.Reduction) }}
)

// runReduction runs a reduction kernel.
func runReduction(op string, w backend.Reduction) error {
	row, err := kernel.Of(w.Kernel).For(op, w.Compute)
	if err != nil {
		return err
	}
	if w.In.DType().IsFloat8() || slices.ContainsFunc(w.Out[:], func(t *tensor.Tensor) bool { return t != nil && t.DType().IsFloat8() }) {
		return errFloat8
	}
	l := reductions.Get().(*kernelapi.Reduction)
	defer reductions.Put(l)
	outputs, count := tensoriter.LayReduction(l, w)
	if outputs == 0 {
		return nil
	}
	l.Op = row
	if outputs*count < 2*Grain {
		kernel.Call(reduceDriver, unsafe.Pointer(l))
		return nil
	}
	if outputs <= fewOutputs && outputs*count >= 2*pieceElements {
		return reducePieces(op, l, outputs, count)
	}
	splitKept(l, outputs*count)
	return nil
}

// reducePieces splits the longest reduced dimension and combines the totals of the blocks.
func reducePieces(op string, l *kernelapi.Reduction, outputs, count int64) (err error) {
	longest := 0
	for i, s := range l.ReducedSizes[:l.Reduced] {
		if s > l.ReducedSizes[longest] {
			longest = i
		}
	}
	size := l.ReducedSizes[longest]
	n := min(size, outputs*count/pieceElements, maxPieces)
	step := (size + n - 1) / n
	n = (size + step - 1) / step
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	totals := s.Track(tensor.Empty(op, []int64{n * outputs * kernelapi.TotalBytes}, dtype.Uint8, device.Host))
	l.Totals = uintptr(totals.Data())
	parallel.ForInterruptible(n, 1, func(begin, end int64) {
		piece := reductions.Get().(*kernelapi.Reduction)
		defer reductions.Put(piece)
		for p := begin; p < end; p++ {
			*piece = *l
			piece.Totals += uintptr(p * outputs * kernelapi.TotalBytes)
			piece.Base = p * step
			piece.ReducedSizes[longest] = min(step, size-p*step)
			piece.In += uintptr(p * step * l.ReducedIn[longest])
			kernel.Call(reduceDriver, unsafe.Pointer(piece))
		}
	})
	l.Pieces = int32(n)
	kernel.Call(reduceDriver, unsafe.Pointer(l))
	return nil
}

// splitKept splits the longest kept dimension over threads. Adjacent columns are split only if no other dimension is long enough for every
// thread: parts of rows are slow to read.
func splitKept(l *kernelapi.Reduction, work int64) {
	longest, size := 0, int64(1)
	for i := int(l.Kept) - 1; i >= 0; i-- {
		s := l.KeptSizes[i]
		columns := i == 0 && l.Columns != 0
		if s > size && !(columns && (s <= fewOutputs || size >= enough*int64(parallel.Threads()))) {
			longest, size = i, s
		}
	}
	if size == 1 || parallel.Threads() == 1 {
		kernel.Call(reduceDriver, unsafe.Pointer(l))
		return
	}
	parallel.ForInterruptible(size, max(Grain*size/work, 1), func(begin, end int64) {
		piece := reductions.Get().(*kernelapi.Reduction)
		defer reductions.Put(piece)
		*piece = *l
		piece.KeptSizes[longest] = end - begin
		piece.In += uintptr(begin * l.KeptIn[longest])
		for k := range piece.Out {
			if piece.Out[k] != 0 {
				piece.Out[k] += uintptr(begin * l.KeptOut[k][longest])
			}
		}
		kernel.Call(reduceDriver, unsafe.Pointer(piece))
	})
}
