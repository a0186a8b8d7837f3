package ops

import (
	"math"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Cov is the covariance matrix of variables in rows and observations in columns. fweights counts how often each
// observation occurs, aweights says how much it weighs.
func Cov(self *tensor.Tensor, correction int64, fweights, aweights *tensor.Tensor) (*tensor.Tensor, error) {
	s := within("cov")
	defer s.Close()
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
	x := s.reshape(self, rows, n)
	if s.Err != nil {
		return nil, s.Err
	}
	w, err := s.weights(n, fweights, aweights)
	if err != nil {
		return nil, err
	}
	// What deviations are divided by, and the means.
	var norm, mean *tensor.Tensor
	switch {
	case w == nil:
		norm = s.float(float64(n - correction))
		mean = s.Keep(Mean(nil, x, []int64{1}, true, d))
	default:
		total := s.sum(w)
		if s.Err == nil && !total.IsMeta() && total.Item().Equal(0) {
			return nil, status.Runtimef("cov: weights sum to zero, can't be normalized")
		}
		mean = s.div(s.sum(s.mul(x, w), 1), total)
		mean = s.wide(mean, 1)
		if aweights == nil {
			norm = s.sub(total, s.number(dtype.IntScalar(correction)))
		} else {
			squares := s.sum(s.mul(w, aweights))
			norm = s.sub(total, s.div(s.mul(squares, s.number(dtype.IntScalar(correction))), total))
		}
	}
	if s.Err == nil && !norm.IsMeta() && norm.Item().Float() <= 0 {
		norm = s.float(0)
	}
	centred := s.sub(x, mean)
	weighted := centred
	if w != nil {
		weighted = s.mul(centred, w)
	}
	if s.Err != nil {
		return nil, s.Err
	}
	weighted = s.cast(weighted, centred.DType())
	if d.IsComplex() {
		weighted = s.unary(ConjPhysical, weighted)
	}
	product := s.binary(Mm, centred, s.permute(weighted, 1, 0))
	c := s.div(product, norm)
	if rows == 1 {
		c = s.reshape(c)
	}
	return s.result(nil, c)
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
			return nil, status.Runtimef("cov: expected %s to have the same number of elements as there are observations, %d, but got %d", w.name, n, w.t.Numel())
		}
		if n == 0 || w.t.IsMeta() {
			continue
		}
		least, err := Min(nil, w.t)
		if err != nil {
			return nil, err
		}
		negative := least.Item().Float() < 0
		least.Release()
		if negative {
			return nil, status.Runtimef("cov: %s cannot be negative", w.name)
		}
	}
	switch {
	case fweights == nil:
		return aweights, nil
	case aweights == nil:
		return fweights, nil
	}
	return s.mul(fweights, aweights), s.Err
}

// Corrcoef is the matrix of correlation coefficients of variables in rows and observations in columns.
func Corrcoef(self *tensor.Tensor) (*tensor.Tensor, error) {
	s := within("corrcoef")
	defer s.Close()
	if self.Dim() > 2 {
		return nil, status.Runtimef("corrcoef: expected input to have two or fewer dimensions but got an input with %d dimensions", self.Dim())
	}
	c := s.Keep(Cov(self, 1, nil, nil))
	if s.Err != nil {
		return nil, s.Err
	}
	if c.Dim() == 0 {
		return s.result(nil, s.div(c, c))
	}
	n := c.Sizes()[0]
	diagonal := s.Keep(c.View("corrcoef", []int64{n}, []int64{c.Strides()[0] + c.Strides()[1]}, c.Offset()))
	if s.Err == nil && c.DType().IsComplex() {
		diagonal = s.Keep(Real(diagonal))
	}
	if s.Err != nil {
		return nil, s.Err
	}
	spread := s.Keep(Sqrt(nil, diagonal))
	c = s.div(s.div(c, s.wide(spread, 1)), s.wide(spread, 0))
	if s.Err != nil || c.IsMeta() {
		return s.result(nil, c)
	}
	clip(c)
	return s.result(nil, c)
}

// clip bounds the parts of a contiguous floating or complex tensor by -1 and 1; rounding may have carried them over.
func clip(t *tensor.Tensor) {
	bound := func(v float64) float64 { return math.Max(-1, math.Min(1, v)) }
	d := t.DType()
	for i := range t.Numel() {
		p := elementAt(t, i)
		v := tensor.Get(p, d)
		if d.IsComplex() {
			tensor.Put(p, d, dtype.ComplexScalar(complex(bound(v.F), bound(v.Im))))
			continue
		}
		tensor.Put(p, d, dtype.FloatScalar(bound(v.F)))
	}
}
