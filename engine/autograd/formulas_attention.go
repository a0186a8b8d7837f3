package autograd

import (
	"math"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/tensor"
)

// attentionGradient returns the gradient of operand i of an attention: query, key, value or mask. With create_graph, it is computed from
// all weights by differentiable operators.
func (s *steps) attentionGradient(grad, query, key, value, mask, result, lse *tensor.Tensor, causal bool, scale float64,
	i int64) *tensor.Tensor {
	return s.evaluateOnce(func() []*tensor.Tensor {
		if !s.record {
			q, k, v, m, err := s.C.NnAttentionGradient(grad, query, key, value, mask, result, lse, causal, scale, s.needsGrad(0), s.needsGrad(1),
				s.needsGrad(2), s.needsGrad(3))
			return []*tensor.Tensor{s.Track(q, err), s.Track(k, nil), s.Track(v, nil), s.Track(m, nil)}
		}
		turned := func(t *tensor.Tensor) *tensor.Tensor { return s.Transpose(t, -2, -1) }
		product := func(a, b *tensor.Tensor) *tensor.Tensor { return s.Matmul(a, b) }
		weights := build.AttentionWeights(&s.Builder, query, key, mask, causal, scale)
		of := product(grad, turned(value))
		along := s.Sum(s.mul(of, weights), []int64{-1}, true)
		slopes := s.mul(weights, s.sub(of, along))
		root := math.Sqrt(math.Abs(scale))
		first, second := s.float(math.Copysign(root, scale)), s.float(root)
		ofQuery, ofKey := product(slopes, s.mul(key, second)), product(turned(slopes), s.mul(query, first))
		return []*tensor.Tensor{s.mul(ofQuery, first), s.mul(ofKey, second), product(turned(weights), grad), slopes}
	})[i]
}
