package cuda

import (
	"github.com/libtensor/libtensor/engine/backend"
)

const softBatch = 8 // elements of a strand

// runSoftmax runs a kernel of the unit softmax. A lane is the elements along the reduced dimension; the threads of a block that share it
// are its strands.
func runSoftmax(op string, w backend.Lanes) error {
	l := softLanes{in: uintptr(w.In.Data()), out: uintptr(w.Out.Data()), lanes: w.Outer * w.Inner, n: w.N, inner: w.Inner}
	if w.With != nil {
		l.with = uintptr(w.With.Data())
	}
	most := int64(blockThreads)
	if w.Inner > 1 { // adjacent threads load elements of adjacent lanes
		l.across, most = 1, 8
	}
	l.strands = countStrands(w.N, softBatch, most)
	blocks := (l.lanes*int64(l.strands) + blockThreads - 1) / blockThreads
	return withCurrentStream(op, w.In.Device(), func(m *deviceStream) error {
		return launchEntry(m, op, findEntry(w.Kernel, w.In.DType()), blocks*blockThreads, &l)
	})
}
