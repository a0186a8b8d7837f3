package cuda

import (
	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

const (
	reducedDims = 16
	// Rows with strands of more than this number of batches of elements are split into blocks, unless there are enough strands to keep a
	// device busy.
	reducedBatch  = 16
	manyBatches   = 8
	enoughStrands = 1 << 17
)

// runReduction runs a reduction kernel: one launch, or one for blocks of rows and one that merges them.
func runReduction(op string, w backend.Reduction) error {
	var l kernelapi.Reduction
	outputs, count := tensoriter.LayReduction(&l, w)
	if outputs == 0 {
		return nil
	}
	if l.Kept > reducedDims || l.Reduced > reducedDims {
		return status.NotImplementedf("%s is not implemented on cuda for more than %d dimensions that cannot be merged; call contiguous() first",
			op, reducedDims)
	}
	if err := checkDTypes(op, l.Memory, l.Compute, l.OutMemory[0], l.OutMemory[1]); err != nil {
		return err
	}
	r := reduction{in: l.In, out: l.Out, outputs: outputs, count: count, params: l.Params, kept: l.Kept, reduced: l.Reduced,
		memory: l.Memory, compute: l.Compute, outMemory: l.OutMemory}
	copy(r.keptSizes[:], l.KeptSizes[:l.Kept])
	copy(r.keptIn[:], l.KeptIn[:l.Kept])
	for k := range r.keptOut {
		copy(r.keptOut[k][:], l.KeptOut[k][:l.Kept])
	}
	copy(r.reducedSizes[:], l.ReducedSizes[:l.Reduced])
	copy(r.reducedIn[:], l.ReducedIn[:l.Reduced])
	r.across = l.Kept > 0 && max(r.keptIn[0], -r.keptIn[0]) < max(r.reducedIn[0], -r.reducedIn[0])
	r.divideRows()
	entry := kernels.Of("reduce_"+w.Kernel.Name(), w.Compute)
	return withLaunches(op, w.In.Device(), func(s *launchSequence) {
		if r.pieces > 1 {
			r.totals = s.allocateTemporary(outputs * r.pieces * kernelapi.TotalBytes)
		}
		launchStep(s, entry, r.countThreads(outputs*r.pieces), &r)
		if r.pieces > 1 {
			r.merging, r.strands = true, countStrands(r.pieces, 1, blockThreads)
			launchStep(s, entry, r.countThreads(outputs), &r)
		}
	})
}

// divideRows sets the number of strands and blocks of the rows, by the shape alone. With few outputs, a row gets a whole thread block. With
// many outputs, rows get as few strands as elements are adjacent in memory, which also suits rows across memory, next to adjacent ones.
func (r *reduction) divideRows() {
	most := int64(blockThreads)
	switch {
	case r.outputs >= 1024:
		most = 8
	case r.outputs >= 8:
		most = 32
	}
	r.strands = countStrands(r.count, reducedBatch, most)
	r.pieces, r.length = 1, max(r.count, 1)
	all := int64(r.strands)
	if cut := enoughStrands / (r.outputs * all); cut > 1 && r.count > all*reducedBatch*manyBatches {
		r.length = max((r.count+cut-1)/cut, all*reducedBatch)
		r.pieces = (r.count + r.length - 1) / r.length
	}
}

// countStrands returns the smallest power of two, up to most, for which no strand has more than `each` of n elements.
func countStrands(n, each, most int64) int32 {
	s := int64(1)
	for s < most && s*each < n {
		s *= 2
	}
	return int32(s)
}

// countThreads returns the number of threads in the blocks for a number of rows.
func (r *reduction) countThreads(rows int64) int64 {
	return (rows*int64(r.strands) + blockThreads - 1) / blockThreads * blockThreads
}
