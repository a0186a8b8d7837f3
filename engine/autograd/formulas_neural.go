package autograd

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

func (s *steps) positiveInfinity() float64       { return math.Inf(1) }
func (s *steps) numberOf(v dtype.Scalar) float64 { return v.Float() }

// roundToDtype returns v rounded to the dtype of t: forward kernels that compare elements with a rounded limit have gradients with that
// limit.
func (s *steps) roundToDtype(v float64, t *tensor.Tensor) float64 {
	return tensor.Rounded(t.DType(), dtype.FloatScalar(v)).Float()
}

// The derivatives of activations, in operators that have derivatives themselves.

func (s *steps) siluSlope(self *tensor.Tensor) *tensor.Tensor {
	y := s.Sigmoid(self)
	return s.mul(y, s.add(s.int(1), s.mul(self, s.sub(s.int(1), y))))
}

func (s *steps) geluSlope(self *tensor.Tensor, approximate string) *tensor.Tensor {
	square := s.mul(self, self)
	if approximate != "tanh" {
		density := s.mul(s.Exp(s.mul(square, s.float(-0.5))), s.float(1/math.Sqrt(2*math.Pi)))
		return s.add(s.SpecialNdtr(self), s.mul(self, density))
	}
	unit := s.float(math.Sqrt(8 / math.Pi))
	cubic := func(factor float64) *tensor.Tensor {
		return s.mul(s.add(s.mul(square, s.float(factor)), s.int(1)), unit)
	}
	y := s.Sigmoid(s.mul(self, cubic(0.044715)))
	return s.add(y, s.mul(s.mul(s.mul(self, y), s.sub(s.int(1), y)), cubic(3*0.044715)))
}

func (s *steps) mishSlope(self *tensor.Tensor) *tensor.Tensor {
	y := s.Tanh(s.NnSoftplus(self, 1, math.Inf(1)))
	return s.add(y, s.mul(s.mul(self, s.Sigmoid(self)), s.sub(s.int(1), s.mul(y, y))))
}

// softsignGradient returns that of z / (1 + |z|), which of complex numbers depends on both parts.
func (s *steps) softsignGradient(grad, self *tensor.Tensor) *tensor.Tensor {
	whole := s.add(s.Abs(self), s.int(1))
	if !self.DType().IsComplex() {
		return s.div(grad, s.mul(whole, whole))
	}
	along := s.div(s.real(s.mul(grad, s.conj(self))), s.mul(whole, whole))
	return s.sub(s.div(grad, whole), s.mul(s.Sgn(self), along))
}

func (s *steps) softmaxSlope(given, result *tensor.Tensor, dim int64, logarithm bool) *tensor.Tensor {
	if logarithm {
		return s.sub(given, s.mul(s.Exp(result), s.sumOver(given, dim)))
	}
	return s.mul(result, s.sub(given, s.sumOver(s.mul(given, result), dim)))
}

// checkInplaceSlope returns grad, the gradient of an activation with a slope below 0. As in PyTorch, the in-place form computes it from the
// result and returns an error for a negative slope, where the result does not determine it.
func (s *steps) checkInplaceSlope(grad *tensor.Tensor, slope float64, inPlace bool) *tensor.Tensor {
	if inPlace && !(slope >= 0) {
		s.Check(status.Runtimef("In-place backward calculation is triggered with a negative slope, %v, which is not supported; call out-of-place version instead",
			slope))
	}
	return grad
}

// dependOn returns grad. With create_graph, the result also depends on t in the graph, with a gradient of zero.
func (s *steps) dependOn(grad, t *tensor.Tensor) *tensor.Tensor {
	if !s.record {
		return grad
	}
	return s.Where(s.Lt(s.Abs(t), s.int(0)), t, grad)
}

// padGradient returns the gradient of a padding. With create_graph it depends on self in the graph, except for circular padding.
func (s *steps) padGradient(grad, self *tensor.Tensor, pad []int64, mode string) *tensor.Tensor {
	made := s.NnPadGradient(grad, pad, mode)
	if mode == "circular" {
		return made
	}
	return s.dependOn(made, self)
}

// channelUnshuffle puts channels back that are taken from each of several groups in turn.
func (s *steps) channelUnshuffle(t *tensor.Tensor, groups int64) *tensor.Tensor {
	return s.ChannelShuffle(t, max(t.Sizes()[1], groups)/groups)
}

// embeddingGradient sums the gradients of rows at their indices; the row of padding gets none.
func (s *steps) embeddingGradient(grad, indices *tensor.Tensor, sizes []int64, padding int64, byFrequency, sparse bool) *tensor.Tensor {
	at := s.castTo(s.Reshape(indices, -1), dtype.Int64)
	rows := s.Reshape(grad, at.Numel(), sizes[1])
	if byFrequency {
		counts := s.fullOf(0, grad.DType().Compute(), grad.Device(), sizes[0])
		ones := s.fullOf(1, grad.DType().Compute(), grad.Device(), at.Numel())
		counts = s.IndexAddWith(counts, 0, at, ones, one)
		rows = s.castTo(s.div(rows, s.Unsqueeze(s.IndexSelect(counts, 0, at), 1)), grad.DType())
	}
	if !sparse || hasWrapper([]*tensor.Tensor{grad, indices}) {
		rows = s.zeroUnless(rows, s.Unsqueeze(s.Ne(at, s.int(padding)), 1))
		return s.IndexAddWith(s.fullOf(0, grad.DType(), grad.Device(), sizes...), 0, at, rows, one)
	}
	if padding >= 0 {
		kept := s.Reshape(s.Nonzero(s.Ne(at, s.int(padding))), -1)
		at, rows = s.IndexSelect(at, 0, kept), s.IndexSelect(rows, 0, kept)
	}
	return s.SparseCooTensorWith(s.Unsqueeze(at, 0), rows, sizes, dtype.None, grad.Device(), ops.NoBool)
}

// bagGradient returns the gradient of the matrix whose rows are added up in bags.
func (s *steps) bagGradient(grad, crow, col, values *tensor.Tensor, sizes []int64, byFrequency, sparse bool) *tensor.Tensor {
	if byFrequency {
		counts := s.fullOf(0, grad.DType(), grad.Device(), sizes[0])
		ones := s.fullOf(1, grad.DType(), grad.Device(), col.Numel())
		counts = s.IndexAddWith(counts, 0, col, ones, one)
		if values == nil {
			values = ones
		}
		values = s.div(values, s.IndexSelect(counts, 0, col))
	}
	if !sparse || hasWrapper([]*tensor.Tensor{grad, col, values}) {
		return s.csrDenseGradient(grad, crow, col, values, sizes)
	}
	rows := s.selectRows(grad, s.repeatByCounts(s.rowCounts(crow)))
	if values != nil {
		rows = s.mul(rows, s.Unsqueeze(values, 1))
	}
	at := s.Unsqueeze(s.castTo(col, dtype.Int64), 0)
	return s.SparseCooTensorWith(at, rows, sizes, dtype.None, grad.Device(), ops.NoBool)
}

// Each of the three tensors of a convolution is a product of the two others: the gradients of one product are the two other products.

func (s *steps) convolutionImages(results, weight *tensor.Tensor, sizes, stride, padding, dilation []int64, groups int64,
	format shape.MemoryFormat) *tensor.Tensor {
	return s.NnConvolutionTranspose(results, weight, nil, slices.Clone(sizes[2:]), stride, padding, dilation, groups, format)
}

func (s *steps) convolutionResults(images, weight *tensor.Tensor, sizes, stride, padding, dilation []int64, groups int64,
	format shape.MemoryFormat) *tensor.Tensor {
	return s.NnConvolution(images, weight, nil, slices.Clone(sizes[2:]), stride, padding, dilation, groups, format)
}

func (s *steps) convolutionKernels(images, results *tensor.Tensor, sizes, stride, padding, dilation []int64, groups int64,
	format shape.MemoryFormat) *tensor.Tensor {
	return s.NnConvolutionWeight(images, results, slices.Clone(sizes[2:]), stride, padding, dilation, groups, format)
}

// sumLeading sums the gradients of rows: over all dimensions but the last.
func (s *steps) sumLeading(grad *tensor.Tensor) *tensor.Tensor {
	if grad.Dim() == 1 {
		return grad
	}
	dims := make([]int64, grad.Dim()-1)
	for d := range dims {
		dims[d] = int64(d)
	}
	return s.Sum(grad, dims, false)
}

// channelSums returns the gradient of a bias, summed over all elements of a channel. As in PyTorch, it also depends on the weight in the
// graph.
func (s *steps) channelSums(grad, weight *tensor.Tensor) *tensor.Tensor {
	dims := []int64{0}
	for d := 2; d < grad.Dim(); d++ {
		dims = append(dims, int64(d))
	}
	sums := s.Sum(grad, dims, false)
	if weight.Numel() == 0 {
		return sums
	}
	return s.dependOn(sums, s.Narrow(s.Reshape(weight, -1), 0, 0, 1))
}
