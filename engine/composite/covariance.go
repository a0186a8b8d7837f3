package composite

import (
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/warning"
)

// Cov returns the covariance matrix of variables in rows and observations in columns. fweights are the frequencies of observations,
// aweights their weights.
func Cov(c dispatch.Context, self *tensor.Tensor, correction int64, fweights, aweights *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "cov")
	defer b.Close(&err)
	b.CheckStrided(self, fweights, aweights)
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
	x := castToCompute(b, b.AsShape(self, rows, n))
	w, err := combineWeights(b, n, fweights, aweights)
	if err != nil {
		return nil, err
	}
	// The divisor of the deviations, and the means.
	var norm, mean *tensor.Tensor
	switch {
	case w == nil:
		norm = b.FloatNumber(float64(n - correction))
		mean = b.MeanWith(x, []int64{1}, true, d.Compute())
	default:
		total := b.Sum(w, nil, false)
		if v, known := b.ReadElement(total); known && v.Equal(0) {
			return nil, status.Runtimef("cov: weights sum to zero, can't be normalized")
		}
		mean = b.Unsqueeze(b.Div(b.Sum(b.Mul(x, w), []int64{1}, false), total), 1)
		if aweights == nil {
			norm = b.Sub(total, b.Number(dtype.IntScalar(correction)))
		} else {
			squares := b.Sum(b.Mul(w, aweights), nil, false)
			norm = b.Sub(total, b.Div(b.Mul(squares, b.Number(dtype.IntScalar(correction))), total))
		}
	}
	if v, known := b.ReadElement(norm); known && v.Float() <= 0 {
		b.Check(warning.DegreesOfFreedom.Of("cov",
			"degrees of freedom is <= 0: correction (%d) should be less than the weighted number of observations (%d)", correction, n))
		norm = b.FloatNumber(0)
	}
	centred := b.Sub(x, mean)
	weighted := centred
	if w != nil {
		weighted = b.CastTo(b.Mul(centred, w), centred.DType())
	}
	if d.IsComplex() {
		weighted = b.ConjPhysical(weighted)
	}
	result := b.Div(b.Mm(centred, b.ReorderDims(weighted, 1, 0)), norm)
	if rows == 1 {
		result = b.AsShape(result)
	}
	if aweights != nil && d == self.DType() {
		d, err = c.ResultType(self, aweights)
		b.Check(err)
	}
	return build.WriteResult(b, nil, castFromCompute(b, result, d))
}

// combineWeights returns the product of the frequency weights and the observation weights after checking them, or nil without weights.
func combineWeights(b *build.Builder, n int64, fweights, aweights *tensor.Tensor) (*tensor.Tensor, error) {
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
			return nil, status.Runtimef("cov: expected %s to have one element for each of the %d observations, but got %d", w.name, n,
				w.t.Numel())
		}
		if n == 0 {
			continue
		}
		if least, known := b.ReadElement(b.Min(w.t)); known && least.Float() < 0 {
			return nil, status.Runtimef("cov: %s cannot be negative", w.name)
		}
	}
	switch {
	case aweights == nil:
		return fweights, nil
	case fweights == nil:
		return castToCompute(b, aweights), nil
	}
	return b.Mul(fweights, castToCompute(b, aweights)), nil
}

// Corrcoef returns the matrix of correlation coefficients of variables in rows and observations in columns.
func Corrcoef(c dispatch.Context, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "corrcoef")
	defer b.Close(&err)
	b.CheckStrided(self)
	if self.Dim() > 2 {
		return nil, status.Runtimef("corrcoef: expected input to have two or fewer dimensions but got an input with %d dimensions",
			self.Dim())
	}
	wide := castToCompute(b, self)
	matrix := b.Cov(wide)
	if matrix.Dim() == 0 {
		return build.WriteResult(b, nil, castFromCompute(b, b.Div(matrix, matrix), self.DType()))
	}
	variances := b.Diagonal(matrix, 0, 0, 1)
	if matrix.DType().IsComplex() {
		variances = b.Real(variances)
	}
	spread := b.Sqrt(variances)
	return build.WriteResult(b, nil, castFromCompute(b, clampCorrelations(b, b.Div(b.Div(matrix, b.Unsqueeze(spread, 1)),
		b.Unsqueeze(spread, 0))), self.DType()))
}

// clampCorrelations clamps the real and imaginary parts of t, which rounding may have moved out of range, to [-1, 1].
func clampCorrelations(b *build.Builder, t *tensor.Tensor) *tensor.Tensor {
	parts := t
	if t.DType().IsComplex() {
		parts = b.ViewAsReal(t)
	}
	b.CheckWritten(b.C.Clamp(parts, parts, dtype.IntScalar(-1), dtype.IntScalar(1)))
	return t
}
