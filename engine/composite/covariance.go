package composite

import (
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/warning"
)

// Cov returns the covariance matrix of variables in rows and observations in columns. fweights are the frequencies of observations, aweights their
// weights.
func Cov(c dispatch.Context, self *tensor.Tensor, correction int64, fweights, aweights *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "cov")
	defer s.Close(&err)
	s.CheckStrided(self, fweights, aweights)
	if self.Dim() > 2 {
		return nil, status.Runtimef("cov: expected input to have two or fewer dimensions but got an input with %d dimensions", self.Dim())
	}
	if self.DType() == dtype.Bool {
		return nil, status.NotImplementedf("cov: bool dtype is not supported for input")
	}
	rows, n := int64(1), self.Numel()
	if self.Dim() == 2 {
		rows, n = self.Sizes()[0], self.Sizes()[1]
	}
	d := self.DType()
	if d.Category() < dtype.Floating {
		d = dtype.Default()
	}
	x := s.wideEnough(s.AsShape(self, rows, n))
	w, err := s.weights(n, fweights, aweights)
	if err != nil {
		return nil, err
	}
	// The divisor of the deviations, and the means.
	var norm, mean *tensor.Tensor
	switch {
	case w == nil:
		norm = s.FloatNumber(float64(n - correction))
		mean = s.mean(x, 1, d.Compute())
	default:
		total := s.Sum(w, nil, false)
		if v, known := s.ReadElement(total); known && v.Equal(0) {
			return nil, status.Runtimef("cov: weights sum to zero, can't be normalized")
		}
		mean = s.Unsqueeze(s.Div(s.Sum(s.Mul(x, w), []int64{1}, false), total), 1)
		if aweights == nil {
			norm = s.Sub(total, s.Number(dtype.IntScalar(correction)))
		} else {
			squares := s.Sum(s.Mul(w, aweights), nil, false)
			norm = s.Sub(total, s.Div(s.Mul(squares, s.Number(dtype.IntScalar(correction))), total))
		}
	}
	if v, known := s.ReadElement(norm); known && v.Float() <= 0 {
		s.Check(warning.DegreesOfFreedom.Of("cov", "degrees of freedom is <= 0: correction (%d) should be less than the weighted number of observations (%d)", correction, n))
		norm = s.FloatNumber(0)
	}
	centred := s.Sub(x, mean)
	weighted := centred
	if w != nil {
		weighted = s.CastTo(s.Mul(centred, w), centred.DType())
	}
	if d.IsComplex() {
		weighted = s.ConjPhysical(weighted)
	}
	result := s.Div(s.Mm(centred, s.ReorderDims(weighted, 1, 0)), norm)
	if rows == 1 {
		result = s.AsShape(result)
	}
	if aweights != nil && d == self.DType() {
		d, err = c.ResultType(self, aweights)
		s.Check(err)
	}
	return build.WriteResult(s.Builder, nil, s.rounded(result, d))
}

// weights checks and multiplies the two kinds of weights; nil when there are none.
func (s *scope) weights(n int64, fweights, aweights *tensor.Tensor) (*tensor.Tensor, error) {
	for _, w := range []struct {
		t        *tensor.Tensor
		name     string
		integral bool
	}{{fweights, "fweights", true}, {aweights, "aweights", false}} {
		switch {
		case w.t == nil:
			continue
		case w.t.Dim() > 1:
			return nil, status.Runtimef("cov: expected %s to have one or fewer dimensions but got %d dimensions", w.name, w.t.Dim())
		case w.integral && !w.t.DType().IsIntegral():
			return nil, status.Runtimef("cov: expected %s to have integral dtype but got %v", w.name, w.t.DType())
		case !w.integral && !w.t.DType().IsFloatingPoint():
			return nil, status.Runtimef("cov: expected %s to have floating point dtype but got %v", w.name, w.t.DType())
		case w.t.Numel() != n:
			return nil, status.Runtimef("cov: expected %s to have one element for each of the %d observations, but got %d", w.name, n, w.t.Numel())
		}
		if n == 0 {
			continue
		}
		if least, known := s.ReadElement(s.Min(w.t)); known && least.Float() < 0 {
			return nil, status.Runtimef("cov: %s cannot be negative", w.name)
		}
	}
	switch {
	case aweights == nil:
		return fweights, nil
	case fweights == nil:
		return s.wideEnough(aweights), nil
	}
	return s.Mul(fweights, s.wideEnough(aweights)), nil
}

// Corrcoef returns the matrix of correlation coefficients of variables in rows and observations in columns.
func Corrcoef(c dispatch.Context, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "corrcoef")
	defer s.Close(&err)
	s.CheckStrided(self)
	if self.Dim() > 2 {
		return nil, status.Runtimef("corrcoef: expected input to have two or fewer dimensions but got an input with %d dimensions", self.Dim())
	}
	wide := s.wideEnough(self)
	matrix := s.Cov(wide)
	if matrix.Dim() == 0 {
		return build.WriteResult(s.Builder, nil, s.rounded(s.Div(matrix, matrix), self.DType()))
	}
	variances := s.Diagonal(matrix, 0, 0, 1)
	if matrix.DType().IsComplex() {
		variances = s.Real(variances)
	}
	spread := s.Sqrt(variances)
	return build.WriteResult(s.Builder, nil, s.rounded(s.bounded(s.Div(s.Div(matrix, s.Unsqueeze(spread, 1)), s.Unsqueeze(spread, 0))), self.DType()))
}

// bounded returns t, of which rounding may have carried parts beyond -1 and 1, with these in bounds.
func (s *scope) bounded(t *tensor.Tensor) *tensor.Tensor {
	parts := t
	if t.DType().IsComplex() {
		parts = s.ViewAsReal(t)
	}
	s.CheckWritten(s.C.Clamp(parts, parts, dtype.IntScalar(-1), dtype.IntScalar(1)))
	return t
}
