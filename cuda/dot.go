package cuda

import (
	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
)

// maxDotBlocks is the number of blocks that share a product of vectors.
const maxDotBlocks = 1024

// computeDot computes the dot product of two vectors, for floats in float64. Blocks depend on the length alone.
func computeDot(op string, w backend.Dot) error {
	n, d := w.A.Numel(), w.A.DType()
	if n == 0 {
		return fillTensor(op, backend.Filling{To: w.To})
	}
	p := dots{to: uintptr(w.To.Data()), a: uintptr(w.A.Data()), b: uintptr(w.B.Data()), n: n,
		aStride: w.A.Strides()[0] * d.Size(), bStride: w.B.Strides()[0] * d.Size()}
	p.pieces, p.length = splitLength(n, maxDotBlocks)
	if w.Conjugate {
		p.conjugate = 1
	}
	return withLaunches(op, w.To.Device(), func(s *launchSequence) {
		if p.pieces > 1 {
			p.sums = s.allocateTemporary(p.pieces * 16) // the size of the largest sum
		}
		launchStep(s, kernels.Of("dot", d), p.pieces*blockThreads, &p)
		if p.pieces > 1 {
			launchStep(s, kernels.Of("dot_pieces", d), blockThreads, &p)
		}
	})
}
