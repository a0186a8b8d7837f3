package cuda

import (
	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/status"
)

const (
	reducedDims = 16
	// Rows of more than longRow elements are reduced in pieces of pieceElements, at most mostPieces, unless there are as many rows as
	// keep a device busy. Pieces depend on the shape alone.
	longRow       = 512
	pieceElements = 256
	mostPieces    = 1024
	manyOutputs   = 1 << 14
)

// reduction mirrors lt::Reduction of kernels/reducing.h.
type reduction struct {
	in                      uintptr
	out                     [2]uintptr
	totals                  uintptr
	outputs, count, pieces  int64
	keptSizes, keptIn       [reducedDims]int64
	keptOut                 [2][reducedDims]int64
	reducedSizes, reducedIn [reducedDims]int64
	params                  [2]float64
	kept, reduced           int32
	memory, compute         dtype.DType
	outMemory               [2]dtype.DType
	merging                 bool
	_                       [3]byte
}

// reduce runs a reduction kernel: one launch where rows are short, and otherwise one for pieces of them and one that merges these.
func reduce(op string, w launch.Reduction) error {
	var l kernel.Reduction
	outputs, count := iter.LayReduction(&l, w)
	if outputs == 0 {
		return nil
	}
	if l.Kept > reducedDims || l.Reduced > reducedDims {
		return status.NotImplementedf("%s is not implemented on cuda for more than %d dimensions apart from each other; contiguous() joins them", op, reducedDims)
	}
	if err := converts(op, l.Memory, l.Compute, l.OutMemory[0], l.OutMemory[1]); err != nil {
		return err
	}
	r := reduction{in: l.In, out: l.Out, outputs: outputs, count: count, pieces: 1, params: l.Params, kept: l.Kept, reduced: l.Reduced,
		memory: l.Memory, compute: l.Compute, outMemory: l.OutMemory}
	copy(r.keptSizes[:], l.KeptSizes[:l.Kept])
	copy(r.keptIn[:], l.KeptIn[:l.Kept])
	for k := range r.keptOut {
		copy(r.keptOut[k][:], l.KeptOut[k][:l.Kept])
	}
	copy(r.reducedSizes[:], l.ReducedSizes[:l.Reduced])
	copy(r.reducedIn[:], l.ReducedIn[:l.Reduced])
	if count > longRow && outputs < manyOutputs {
		r.pieces = min((count+pieceElements-1)/pieceElements, mostPieces)
	}
	entry := kernels.Of("reduce_"+w.Kernel.Name, w.Compute)
	return on(op, w.In.Device(), func(m *machine) error {
		if r.pieces > 1 {
			b, err := m.allocate(op, blockSize(outputs*r.pieces*kernel.TotalBytes))
			if err != nil {
				return err
			}
			defer m.give(b)
			r.totals = uintptr(b.at)
		}
		if err := call(m, op, entry, outputs*r.pieces, &r); err != nil || r.pieces == 1 {
			return err
		}
		r.merging = true
		return call(m, op, entry, outputs, &r)
	})
}
