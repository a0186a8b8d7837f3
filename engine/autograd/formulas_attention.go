package autograd

import (
	"math"

	"github.com/libtensor/libtensor/engine/dtype"
	composed "github.com/libtensor/libtensor/engine/steps"
	"github.com/libtensor/libtensor/engine/tensor"
)

// attentionGradient returns the gradient of operand i of an attention: query, key, value or mask. With create_graph, it is computed from all weights
// by differentiable operators.
func (s *steps) attentionGradient(grad, query, key, value, mask, result, lse *tensor.Tensor, causal bool, scale float64, i int64) *tensor.Tensor {
	return s.once(func() []*tensor.Tensor {
		if !s.record {
			q, k, v, m, err := s.c.NnAttentionGradient(grad, query, key, value, mask, result, lse, causal, scale, s.wants(0), s.wants(1), s.wants(2), s.wants(3))
			return []*tensor.Tensor{s.Keep(q, err), s.Keep(k, nil), s.Keep(v, nil), s.Keep(m, nil)}
		}
		turned := func(t *tensor.Tensor) *tensor.Tensor { return s.Keep(s.c.Transpose(nil, t, -2, -1)) }
		product := func(a, b *tensor.Tensor) *tensor.Tensor { return s.Keep(s.c.Matmul(nil, a, b)) }
		made := composed.Of(s.c, "nn_scaled_dot_product_attention")
		defer made.Close()
		weights := s.Keep(made.Give(made.AttentionWeights(query, key, mask, causal, scale)))
		of := product(grad, turned(value))
		along := s.Keep(s.c.Sum(nil, s.mul(of, weights), []int64{-1}, true, dtype.None))
		slopes := s.mul(weights, s.sub(of, along))
		root := math.Sqrt(math.Abs(scale))
		first, second := s.float(math.Copysign(root, scale)), s.float(root)
		ofQuery, ofKey := product(slopes, s.mul(key, second)), product(turned(slopes), s.mul(query, first))
		return []*tensor.Tensor{s.mul(ofQuery, first), s.mul(ofKey, second), product(turned(weights), grad), slopes}
	})[i]
}
