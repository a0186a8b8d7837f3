package ops

import (
	"math"
	"math/cmplx"
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// nuclearNorm is the sum of the singular values of the matrices in two dimensions.
func nuclearNorm(out, self *tensor.Tensor, dim []int64, keepdim bool, d dtype.DType) (*tensor.Tensor, error) {
	const op = "norm"
	if d == dtype.None {
		d = self.DType()
	}
	if self.DType().Category() < dtype.Floating || self.DType().IsReducedFloat() || d.Category() < dtype.Floating || self.DType().IsComplex() && !d.IsComplex() {
		return nil, status.NotImplementedf("%s: the nuclear norm of %v in %v is not supported; give float32, float64 or complex dtypes", op, self.DType(), d)
	}
	if len(dim) == 0 && self.Dim() == 2 {
		dim = []int64{0, 1}
	}
	if len(dim) != 2 {
		return nil, status.Runtimef("%s: the nuclear norm needs two dimensions, got %v of a tensor of shape %v", op, dim, self.Sizes())
	}
	mask, err := shape.WrapDims(op, dim, self.Dim(), false)
	if err != nil {
		return nil, err
	}
	if err := iter.SameDType(op, out, d.ToReal()); err != nil {
		return nil, err
	}
	// The vectors to make orthogonal are the fewer ones of rows and columns.
	order, sizes := freeDims(self, mask)
	var both []int
	for i, reduced := range mask {
		if reduced {
			both = append(both, i)
		}
	}
	if self.Sizes()[both[0]] > self.Sizes()[both[1]] {
		slices.Reverse(both)
	}
	s := within(op)
	defer s.Close()
	matrices := s.Keep(view.Permute(op, self, append(slices.Clone(order), both...)...))
	if s.Err != nil {
		return nil, s.Err
	}
	matrices = s.cast(matrices, dtype.Complex128)
	norms := s.empty(self, dtype.Float64, sizes...)
	if s.Err != nil {
		return nil, s.Err
	}
	if !norms.IsMeta() && norms.Numel() > 0 {
		n, width := self.Sizes()[both[0]], self.Sizes()[both[1]]
		parallel.For(norms.Numel(), 1, func(begin, end int64) {
			for i := begin; i < end; i++ {
				elements[float64](norms)[i] = sumSingular(elements[complex128](matrices)[i*n*width:][:n*width], int(n), int(width))
			}
		})
	}
	return s.result(out, s.reshape(s.cast(norms, d.ToReal()), reducedSizes(self.Sizes(), mask, keepdim)...))
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
