package host

import (
	"math"
	"math/cmplx"

	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/parallel"
)

// singular adds up the singular values of matrices.
func singular(_ string, w launch.SingularSums) error {
	sums, all := elements[float64](w.To), elements[complex128](w.Matrices)
	n := w.Matrices.Sizes()[w.Matrices.Dim()-2:]
	parallel.For(int64(len(sums)), 1, func(begin, end int64) {
		for i := begin; i < end; i++ {
			sums[i] = sumSingular(all[i*n[0]*n[1]:][:n[0]*n[1]], int(n[0]), int(n[1]))
		}
	})
	return nil
}

// sumSingular adds up the singular values of a matrix of n rows, which it overwrites: rotations of pairs of rows make them
// orthogonal, after M. R. Hestenes, Inversion of Matrices by Biorthogonalization (1958).
func sumSingular(a []complex128, n, width int) float64 {
	row := func(i int) []complex128 { return a[i*width:][:width] }
	const sweeps, tiny = 60, 1e-15
	for range sweeps {
		rotated := false
		for p := range n {
			for q := p + 1; q < n; q++ {
				x, y := row(p), row(q)
				var alpha, beta float64
				var gamma complex128
				for k := range x {
					alpha += real(x[k])*real(x[k]) + imag(x[k])*imag(x[k])
					beta += real(y[k])*real(y[k]) + imag(y[k])*imag(y[k])
					gamma += cmplx.Conj(x[k]) * y[k]
				}
				size := cmplx.Abs(gamma)
				if !(size > tiny*math.Sqrt(alpha*beta)) {
					continue
				}
				rotated = true
				zeta := (beta - alpha) / (2 * size)
				t := math.Copysign(1/(math.Abs(zeta)+math.Hypot(1, zeta)), zeta)
				c := 1 / math.Hypot(1, t)
				cosine, sine, turn := complex(c, 0), complex(c*t, 0), cmplx.Conj(gamma)/complex(size, 0)
				for k := range x {
					u, v := x[k], y[k]*turn
					x[k], y[k] = cosine*u-sine*v, sine*u+cosine*v
				}
			}
		}
		if !rotated {
			break
		}
	}
	total := 0.0
	for i := range n {
		square := 0.0
		for _, v := range row(i) {
			square += real(v)*real(v) + imag(v)*imag(v)
		}
		total += math.Sqrt(square)
	}
	return total
}
