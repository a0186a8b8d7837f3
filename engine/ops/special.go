package ops

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

var (
	erf        = newPointwise("erf", "erf", promoteFloat)
	erfc       = newPointwise("erfc", "erfc", promoteFloat)
	erfinv     = newPointwise("erfinv", "erfinv", promoteFloat)
	lgamma     = newPointwise("lgamma", "lgamma", promoteFloat)
	digamma    = newPointwise("digamma", "digamma", promoteFloat)
	i0         = newPointwise("i0", "i0", promoteFloat)
	sinc       = newPointwise("sinc", "sinc", promoteFloat)
	logit      = newPointwise("logit", "logit", promoteFloat)
	polygamma  = newPointwise("polygamma", "polygamma", promoteFloat)
	mvlgamma   = newPointwise("mvlgamma", "mvlgamma", promoteFloat)
	igamma     = newPointwise("igamma", "igamma", promote)
	igammac    = newPointwise("igammac", "igammac", promote)
	logaddexp  = newPointwise("logaddexp", "logaddexp", promote)
	logaddexp2 = newPointwise("logaddexp2", "logaddexp2", promote)
	xlogy      = newPointwise("xlogy", "xlogy", promoteFloat)
	xlog1py    = newPointwise("special_xlog1py", "xlog1py", promoteFloat)
	zeta       = newPointwise("special_zeta", "zeta", promoteFloat)
)

// integer fills the first kernel parameter.
func integer(v int64) params {
	return func(_ dtype.DType, p *iter.Params) { *(*int64)(unsafe.Pointer(p)) = v }
}

// Erf computes the error function.
func Erf(out, self *tensor.Tensor) (*tensor.Tensor, error) { return erf.run(out, nil, self) }

// Erfc computes 1 - erf(self).
func Erfc(out, self *tensor.Tensor) (*tensor.Tensor, error) { return erfc.run(out, nil, self) }

// Erfinv computes the inverse of the error function.
func Erfinv(out, self *tensor.Tensor) (*tensor.Tensor, error) { return erfinv.run(out, nil, self) }

// Lgamma computes log|gamma(self)|.
func Lgamma(out, self *tensor.Tensor) (*tensor.Tensor, error) { return lgamma.run(out, nil, self) }

// Digamma computes the derivative of log gamma.
func Digamma(out, self *tensor.Tensor) (*tensor.Tensor, error) { return digamma.run(out, nil, self) }

// I0 computes the modified Bessel function of order 0.
func I0(out, self *tensor.Tensor) (*tensor.Tensor, error) { return i0.run(out, nil, self) }

// Sinc computes sin(pi self) / (pi self).
func Sinc(out, self *tensor.Tensor) (*tensor.Tensor, error) { return sinc.run(out, nil, self) }

// Logit computes log(x / (1 - x)), x limited to [eps, 1 - eps] where eps is given.
func Logit(out, self *tensor.Tensor, eps *float64) (*tensor.Tensor, error) {
	limit := -1.0
	if eps != nil {
		limit = *eps
	}
	return logit.run(out, func(d dtype.DType, p *iter.Params) { p.Set(0, d, dtype.FloatScalar(limit)) }, self)
}

// Polygamma computes the n-th derivative of digamma.
func Polygamma(out *tensor.Tensor, n int64, self *tensor.Tensor) (*tensor.Tensor, error) {
	if n < 0 {
		return nil, status.Runtimef("polygamma: n must not be negative, but is %d", n)
	}
	return polygamma.run(out, integer(n), self)
}

// maxGammas bounds the terms of an element of mvlgamma, each of which costs a logarithm of the gamma function.
const maxGammas = 1 << 13

// Mvlgamma computes the logarithm of the multivariate gamma function.
func Mvlgamma(out, self *tensor.Tensor, p int64) (*tensor.Tensor, error) {
	if p < 1 || p > maxGammas {
		return nil, status.Runtimef("mvlgamma: p must be from 1 to %d, but is %d", maxGammas, p)
	}
	if self.DType() == dtype.Bool {
		return nil, status.NotImplementedf("mvlgamma: not implemented for dtype bool")
	}
	return mvlgamma.run(out, integer(p), self)
}

// Igamma computes the regularised lower incomplete gamma function.
func Igamma(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return igamma.run(out, nil, self, other)
}

// Igammac computes the regularised upper incomplete gamma function.
func Igammac(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return igammac.run(out, nil, self, other)
}

// Logaddexp computes log(exp(self) + exp(other)).
func Logaddexp(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return logaddexp.run(out, nil, self, other)
}

// Logaddexp2 computes log2(2^self + 2^other).
func Logaddexp2(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return logaddexp2.run(out, nil, self, other)
}

// Xlogy computes self * log(other), 0 where self is 0.
func Xlogy(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return xlogy.run(out, nil, self, other)
}

// SpecialXlog1py computes self * log1p(other), 0 where self is 0.
func SpecialXlog1py(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return xlog1py.run(out, nil, self, other)
}

// SpecialZeta computes the Hurwitz zeta function.
func SpecialZeta(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return zeta.run(out, nil, self, other)
}
