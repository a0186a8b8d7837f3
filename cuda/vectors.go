package cuda

import (
	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
)

// dots mirrors lt::Dots of kernels/vectors.h.
type dots struct {
	to, a, b, sums                                 uintptr
	n, length, pieces, aStride, bStride, conjugate int64
}

// mostDotPieces is the number of blocks that share a product of vectors.
const mostDotPieces = 1024

// dot computes the dot product of two vectors, for floats in float64. Blocks depend on the length alone.
func dot(op string, w backend.Dot) error {
	n, d := w.A.Numel(), w.A.DType()
	if n == 0 {
		return fill(op, backend.Filling{To: w.To})
	}
	p := dots{to: uintptr(w.To.Data()), a: uintptr(w.A.Data()), b: uintptr(w.B.Data()), n: n,
		aStride: w.A.Strides()[0] * d.Size(), bStride: w.B.Strides()[0] * d.Size()}
	p.pieces, p.length = pieces(n, mostDotPieces)
	if w.Conjugate {
		p.conjugate = 1
	}
	return stepping(op, w.To.Device(), func(s *steps) {
		if p.pieces > 1 {
			p.sums = s.take(p.pieces * 16) // the size of the largest sum
		}
		step(s, kernels.Of("dot", d), p.pieces*threads, &p)
		if p.pieces > 1 {
			step(s, kernels.Of("dot_pieces", d), threads, &p)
		}
	})
}
