package ops

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// intParams returns parameters of a kernel that begin with an integer.
func intParams(v int64) params {
	return func(_ dtype.DType, p *backend.Params) { p.Set(0, dtype.Int64, dtype.IntScalar(v)) }
}

// Logit computes log(x / (1 - x)), x limited to [eps, 1 - eps] where eps is given.
func Logit(out, self *tensor.Tensor, eps *float64) (*tensor.Tensor, error) {
	limit := -1.0
	if eps != nil {
		limit = *eps
	}
	return logit.runKernel(out, func(d dtype.DType, p *backend.Params) { p.Set(0, d, dtype.FloatScalar(limit)) }, self)
}

// Polygamma computes the n-th derivative of digamma.
func Polygamma(out *tensor.Tensor, n int64, self *tensor.Tensor) (*tensor.Tensor, error) {
	if n < 0 {
		return nil, status.Runtimef("polygamma: n must not be negative, but is %d", n)
	}
	return polygamma.runKernel(out, intParams(n), self)
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
	return mvlgamma.runKernel(out, intParams(p), self)
}
