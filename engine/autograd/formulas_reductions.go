package autograd

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// reducedCount returns the number of elements that a reduction over dims combines, and 1 for none: the tensor that is divided by it is then
// empty, too.
func (s *steps) reducedCount(sizes, dims []int64) float64 {
	n := int64(1)
	if len(sizes) == 0 {
		return 1
	}
	mask, err := shape.WrapDims("backward", dims, len(sizes), true)
	s.Check(err)
	for d, size := range sizes {
		if mask[d] {
			n *= size
		}
	}
	return float64(max(n, 1))
}

// sumOver adds up over dims, which stay with size 1.
func (s *steps) sumOver(t *tensor.Tensor, dim int64) *tensor.Tensor {
	return s.Sum(t, []int64{dim}, true)
}

// dirichletGradient returns the gradient of the concentrations alpha, from that of the samples x: a component is a Beta sample, and the
// others compensate for its change, each in proportion to its share.
func (s *steps) dirichletGradient(grad, x, alpha *tensor.Tensor) *tensor.Tensor {
	total := s.sumOver(alpha, -1)
	slope := s.DirichletGrad(x, alpha, total)
	return s.mul(slope, s.sub(grad, s.sumOver(s.mul(grad, x), -1)))
}

// shareAmongEqual distributes a gradient evenly over the elements that are equal to the result.
func (s *steps) shareAmongEqual(grad, self, result *tensor.Tensor, dims []int64, keepdim bool) *tensor.Tensor {
	sizes := self.Sizes()
	grad, result = s.restoreDims(grad, sizes, dims, keepdim), s.restoreDims(result, sizes, dims, keepdim)
	equal := s.inPieces(self, dtype.Bool, nil, func(s *steps, part func(t *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
		self, result := part(self), part(result)
		if self.DType().IsComplex() {
			return s.Eq(self, result)
		}
		return s.LogicalOr(s.Eq(self, result), s.LogicalAnd(s.Isnan(self), s.Isnan(result)))
	})
	return s.shareAmongMasked(grad, equal, dims)
}

// sharedEqual is shared where NaN is equal to nothing: its share is 0/0.
func (s *steps) sharedEqual(grad, self, result *tensor.Tensor, dims []int64, keepdim bool) *tensor.Tensor {
	sizes := self.Sizes()
	grad, result = s.restoreDims(grad, sizes, dims, keepdim), s.restoreDims(result, sizes, dims, keepdim)
	equal := s.Eq(self, result)
	return s.releaseUsed(equal, s.shareAmongMasked(grad, equal, dims))
}

func (s *steps) sharedAlong(grad, self, result *tensor.Tensor, dim ops.Int, keepdim bool) *tensor.Tensor {
	return s.sharedEqual(grad, self, result, dim.List(), keepdim)
}

// aminmaxGradient is shared among those that are the smallest, and among those that are the largest.
func (s *steps) aminmaxGradient(hasMin, hasMax bool, gradMin, gradMax, self, least, most *tensor.Tensor, dim ops.Int,
	keepdim bool) *tensor.Tensor {
	var made *tensor.Tensor
	if hasMin {
		made = s.sharedAlong(gradMin, self, least, dim, keepdim)
	}
	switch {
	case !hasMax:
		return made
	case !hasMin:
		return s.sharedAlong(gradMax, self, most, dim, keepdim)
	}
	return s.binary('+', made, s.sharedAlong(gradMax, self, most, dim, keepdim), left|right)
}

// shareAmongMasked divides a gradient among the elements of dims where a mask is set.
func (s *steps) shareAmongMasked(grad, mask *tensor.Tensor, dims []int64) *tensor.Tensor {
	count := s.SumWith(mask, dims, true, grad.DType())
	return s.binary('/', s.Where(mask, grad, s.int(0)), count, left)
}

// scatterPicked puts a gradient where the elements were picked from along a dimension.
func (s *steps) scatterPicked(grad *tensor.Tensor, l like, dim int64, indices *tensor.Tensor, keepdim bool) *tensor.Tensor {
	if l.dims == 0 {
		return grad
	}
	if !keepdim {
		grad, indices = s.Unsqueeze(grad, dim), s.Unsqueeze(indices, dim)
	}
	zeros := s.zerosOf(l)
	return s.runOver(zeros, func(out *tensor.Tensor) (*tensor.Tensor, error) { return s.C.Scatter(out, zeros, dim, indices, grad) })
}

// anyZero reports whether t has a zero; not for tensors without data.
func (s *steps) anyZero(t *tensor.Tensor) bool {
	if !backend.Known(t) {
		return false
	}
	return s.anyTrue(s.isZero(t))
}

// anyTrue reports whether one of the elements of a mask is true, and uses the mask up.
func (s *steps) anyTrue(mask *tensor.Tensor) bool {
	found, err := s.C.Item(s.releaseUsed(mask, s.Any(mask, nil, false)))
	s.Check(err)
	return found.I != 0
}

func (s *steps) productGradient(grad, self, result *tensor.Tensor, dim ops.Int, keepdim bool) *tensor.Tensor {
	sizes := self.Sizes()
	self = s.castTo(self, result.DType())
	if len(sizes) == 0 {
		return grad
	}
	grad, whole := s.restoreDims(grad, sizes, dim.List(), keepdim), s.restoreDims(result, sizes, dim.List(), keepdim)
	if !s.anyZero(self) {
		return s.binary('*', grad, s.conj(s.div(whole, self)), right)
	}
	if !dim.IsNone() {
		return s.inPieces(self, self.DType(), s.uncutAlong(self, int64(dim)),
			func(s *steps, part func(t *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
				return s.binary('*', part(grad), s.conj(s.productOfOthers(part(self), int64(dim))), right)
			})
	}
	flat := s.Reshape(self, -1)
	return s.binary('*', grad, s.conj(s.Reshape(s.productOfOthers(flat, 0), slices.Clone(sizes)...)), right)
}

// productOfOthers is for each element the product of the others along dim.
func (s *steps) productOfOthers(t *tensor.Tensor, dim int64) *tensor.Tensor {
	d, err := shape.WrapDim("backward", dim, t.Dim())
	s.Check(err)
	n := t.Sizes()[d]
	if n == 0 {
		return t
	}
	edge := slices.Clone(t.Sizes())
	edge[d] = 1
	ones := s.fullOf(1, t.DType(), t.Device(), edge...)
	before := s.cumprodOver(s.Cat([]*tensor.Tensor{ones, s.Narrow(t, dim, 0, n-1)}, dim), dim)
	behind := s.Flip(s.Narrow(t, dim, 1, n-1), dim)
	after := s.cumprodOver(s.releaseUsed(behind, s.Cat([]*tensor.Tensor{ones, behind}, dim)), dim)
	return s.binary('*', before, s.releaseUsed(after, s.Flip(after, dim)), left|right)
}

// reversedSum is for each element the sum from it to the end of dim. It uses t up.
func (s *steps) reversedSum(t *tensor.Tensor, dim int64) *tensor.Tensor {
	if t.Dim() == 0 || t.Numel() <= 1 {
		return t
	}
	sums := s.cumsumOver(s.releaseUsed(t, s.Flip(t, dim)), dim)
	return s.releaseUsed(sums, s.Flip(sums, dim))
}

func (s *steps) cumprodGradient(grad, self, result *tensor.Tensor, dim int64) *tensor.Tensor {
	if self.Dim() == 0 || self.Numel() <= 1 {
		return grad
	}
	self = s.castTo(self, result.DType())
	if !s.anyZero(self) {
		return s.conj(s.div(s.reversedSum(s.mul(s.conj(grad), result), dim), self))
	}
	if !s.record {
		return s.cumprodWithZeros(grad, self, result, dim)
	}
	d, err := shape.WrapDim("backward", dim, self.Dim())
	s.Check(err)
	n := self.Sizes()[d]
	pieces := make([]*tensor.Tensor, n)
	for k := range n {
		// The products without element k, from k on: the elements before it times the products of the elements after it.
		before := s.Prod(s.Narrow(self, dim, 0, k), ops.Int(dim), true)
		without := before
		if k < n-1 {
			after := s.Cumprod(s.Narrow(self, dim, k+1, n-k-1), dim)
			after = s.binary('*', before, after, right)
			without = s.releaseUsed(after, s.Cat([]*tensor.Tensor{before, after}, dim))
		}
		terms := s.binary('*', s.Narrow(grad, dim, k, n-k), s.conj(without), right)
		pieces[k] = s.releaseUsed(terms, s.sumOver(terms, dim))
	}
	return s.Cat(pieces, dim)
}

// cumprodWithZeros is cumprodGradient in linear time, if it is not to be differentiated itself. Up to the first zero of a row nothing is
// divided by zero. The first zero is replaced by 1 up to the second; after that all gradients are 0.
func (s *steps) cumprodWithZeros(grad, self, result *tensor.Tensor, dim int64) *tensor.Tensor {
	one, zero := s.int(1), s.isZero(self)
	zeros := s.Cumsum(zero, dim)
	first := s.LogicalAnd(zero, s.Eq(zeros, one))
	none, nothing := s.isZero(zeros), s.int(0)
	beyond := s.Cumprod(s.Where(first, one, self), dim)
	before := s.div(s.reversedSum(s.Where(none, s.mul(grad, s.conj(result)), nothing), dim), s.conj(s.Where(zero, one, self)))
	at := s.reversedSum(s.Where(s.Eq(zeros, one), s.mul(grad, s.conj(beyond)), nothing), dim)
	return s.Where(none, before, s.Where(first, at, nothing))
}

// logcumsumexpGradient computes with logarithms, of positive and negative gradients separately. Elements without a logarithm become so
// small that their exponential is 0, and stay finite for second derivatives. For those, gradients of 0 count as 1, which is subtracted
// again.
func (s *steps) logcumsumexpGradient(grad, self, result *tensor.Tensor, dim int64) *tensor.Tensor {
	if self.Dim() == 0 {
		return grad
	}
	return s.inPieces(self, grad.DType(), s.uncutAlong(self, dim), func(s *steps, part func(t *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
		return s.logcumsumexpSlope(part(grad), part(self), part(result), dim)
	})
}

func (s *steps) logcumsumexpSlope(grad, self, result *tensor.Tensor, dim int64) *tensor.Tensor {
	back := func(logs *tensor.Tensor) *tensor.Tensor {
		sums := s.Logcumsumexp(s.Flip(s.sub(logs, s.conj(result)), dim), dim)
		return s.Exp(s.add(s.Flip(sums, dim), s.conj(self)))
	}
	zero, one, nothing := s.isZero(grad), s.int(1), s.float(-1e4)
	var made *tensor.Tensor
	if grad.DType().IsComplex() {
		made = back(s.Where(zero, nothing, s.Log(s.Where(zero, one, grad))))
	} else {
		logs := s.Log(s.Where(zero, one, s.Abs(grad)))
		positive := s.Where(s.Gt(grad, s.int(0)), logs, nothing)
		negative := s.Where(s.Lt(grad, s.int(0)), logs, nothing)
		made = s.sub(back(positive), back(negative))
	}
	if !s.C.Recording() || !grad.SlopeWanted() {
		return made
	}
	more := back(s.Where(zero, s.Log1p(s.Where(zero, grad, s.int(0))), nothing))
	return s.add(made, s.sub(more, back(s.Where(zero, s.int(0), nothing))))
}

func (s *steps) logsumexpGradient(grad, self, result *tensor.Tensor, dims []int64, keepdim bool) *tensor.Tensor {
	sizes := self.Sizes()
	grad, result = s.restoreDims(grad, sizes, dims, keepdim), s.restoreDims(result, sizes, dims, keepdim)
	slope := s.expOver(s.sub(self, result))
	return s.binary('*', grad, s.conj(slope), right)
}

// fromStdGradient makes a gradient of a standard deviation one of the variance.
func (s *steps) fromStdGradient(grad, result *tensor.Tensor) *tensor.Tensor {
	zero := s.isZero(result)
	return s.zeroWhere(s.div(grad, s.mul(s.oneWhereZero(result, zero), s.int(2))), zero)
}

func (s *steps) varianceGradient(grad, self *tensor.Tensor, dims []int64, correction dtype.Scalar, keepdim bool) *tensor.Tensor {
	freedom := s.reducedCount(self.Sizes(), dims) - 1
	if !correction.IsNone() {
		freedom += 1 - correction.Float()
	}
	grad = s.restoreDims(grad, self.Sizes(), dims, keepdim)
	apart := s.sub(self, s.Mean(self, dims, true))
	if freedom <= 0 {
		return s.mul(grad, s.Where(s.isZero(apart), s.float(math.NaN()), s.float(math.Inf(1))))
	}
	return s.binary('*', grad, s.binary('*', apart, s.float(2/freedom), left), right)
}

func (s *steps) normGradient(grad, self *tensor.Tensor, order dtype.Scalar, result *tensor.Tensor, dims []int64,
	keepdim bool) *tensor.Tensor {
	p := 2.0
	if !order.IsNone() {
		p = order.Float()
	}
	sizes := self.Sizes()
	grad, result = s.restoreDims(grad, sizes, dims, keepdim), s.restoreDims(result, sizes, dims, keepdim)
	switch {
	case p == 0:
		return s.zerosLike(self)
	case p == 1:
		return s.binary('*', s.Sgn(self), grad, left)
	case p == 2:
		return s.binary('*', grad, s.release(1, s.clearedOver(s.div(self, result), s.consume(s.isZero(result)))), right)
	case math.IsInf(p, 0):
		share := s.shareAmongEqual(grad, s.Abs(self), result, dims, true)
		return s.binary('*', share, s.Sgn(self), left|right)
	}
	return s.inPieces(self, self.DType(), nil, func(s *steps, part func(t *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
		return s.normSlope(part(grad), part(self), part(result), p)
	})
}

// normSlope is normGradient for orders that have no simpler one.
func (s *steps) normSlope(grad, self, result *tensor.Tensor, p float64) *tensor.Tensor {
	if p < 1 {
		slope := s.zeroWhere(s.mul(s.Sgn(self), s.Pow(s.Abs(self), s.float(p-1))), s.isZero(self))
		return s.mul(slope, s.mul(grad, s.Pow(result, s.float(1-p))))
	}
	zero := s.isZero(result)
	scale := s.zeroWhere(s.div(grad, s.Pow(s.oneWhereZero(result, zero), s.float(p-1))), zero)
	if p < 2 {
		return s.mul(s.mul(s.Sgn(self), s.Pow(s.Abs(self), s.float(p-1))), scale)
	}
	return s.mul(s.mul(self, s.Pow(s.Abs(self), s.float(p-2))), scale)
}
