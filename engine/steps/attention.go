package steps

import (
	"math"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// AttentionWeights returns the softmax of products of queries and keys, with 0 for masked keys and for queries without any key.
func (s *Steps) AttentionWeights(q, k, mask *tensor.Tensor, causal bool, scale float64) *tensor.Tensor {
	root := math.Sqrt(math.Abs(scale)) // which both are scaled by, as in PyTorch
	queries, keys := s.Mul(q, s.Float(math.Copysign(root, scale))), s.Mul(k, s.Float(root))
	turned := s.Step(func() (*tensor.Tensor, error) { return s.C.Transpose(nil, keys, -2, -1) })
	scores := s.Binary(s.C.Matmul, queries, turned)
	if s.Err != nil {
		return nil
	}
	never := s.Float(math.Inf(-1))
	switch {
	case causal:
		all := s.Ones(q, dtype.Bool, scores.Sizes()[scores.Dim()-2:]...)
		scores = s.Where(s.Step(func() (*tensor.Tensor, error) { return s.C.Tril(nil, all, 0) }), scores, never)
	case mask != nil:
		scores = s.Add(scores, mask)
	default:
		return s.Softmax(scores)
	}
	off := s.Binary(s.C.Eq, scores, never)
	none := s.Step(func() (*tensor.Tensor, error) { return s.C.All(nil, off, []int64{-1}, true) })
	weights := s.Softmax(s.Where(none, s.Int(0), scores))
	return s.Where(none, s.Int(0), weights)
}

// Softmax returns that of the last dimension.
func (s *Steps) Softmax(t *tensor.Tensor) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.C.Softmax(nil, t, -1, dtype.None) })
}
