package cuda

import (
	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
)

const (
	scannedBatch = 8 // elements of a strand
	manyLanes    = 1 << 12
)

// runScan runs a kernel along lanes: one launch, or two for a few long lanes, which are divided into blocks.
func runScan(op string, w backend.Lanes) error {
	if w.Out.Numel() == 0 {
		return nil
	}
	e := findEntry(w.Kernel, w.In.DType())
	if unit, _ := kernels.Unit(e); unit == "softmax" {
		return runSoftmax(op, w)
	}
	l := scanning{in: uintptr(w.In.Data()), lanes: w.Outer * w.Inner, n: w.N, inner: w.Inner}
	l.out[0] = uintptr(w.Out.Data())
	if w.Indices != nil {
		l.out[1] = uintptr(w.Indices.Data())
	}
	l.divideLanes()
	return withLaunches(op, w.In.Device(), func(s *launchSequence) {
		if l.pieces > 1 {
			l.totals, l.totaling = s.allocateTemporary(l.lanes*l.pieces*stateBytes), true
			launchStep(s, e, l.countThreads(), &l)
			l.totaling = false
		}
		launchStep(s, e, l.countThreads(), &l)
	})
}

const stateBytes = 16 // of the largest state of a lane

// divideLanes sets the number of strands and blocks of lanes, by the shape alone.
func (l *scanning) divideLanes() {
	most := int64(blockThreads)
	if l.inner > 1 { // adjacent threads load elements of adjacent lanes
		l.across, most = true, 8
		if l.lanes >= manyLanes {
			most = 1
		}
	}
	l.strands = countStrands(l.n, scannedBatch, most)
	tile := int64(l.strands) * scannedBatch
	l.pieces, l.length = 1, (l.n+tile-1)/tile*tile
	if cut := enoughStrands / (l.lanes * int64(l.strands)); cut > 1 && l.n > tile*manyBatches {
		l.length = max((l.n+cut-1)/cut, tile)
		l.length = (l.length + tile - 1) / tile * tile
		l.pieces = (l.n + l.length - 1) / l.length
	}
}

// countThreads returns the number of threads for all blocks of lanes.
func (l *scanning) countThreads() int64 {
	return (l.lanes*l.pieces*int64(l.strands) + blockThreads - 1) / blockThreads * blockThreads
}
