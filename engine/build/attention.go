package build

import (
	"math"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// AttentionWeights returns the softmax of products of queries and keys, with 0 for masked keys and for queries without any key.
func AttentionWeights(b *Builder, q, k, mask *tensor.Tensor, causal bool, scale float64) *tensor.Tensor {
	root := math.Sqrt(math.Abs(scale)) // which both are scaled by, as in PyTorch
	queries, keys := b.Mul(q, b.FloatNumber(math.Copysign(root, scale))), b.Mul(k, b.FloatNumber(root))
	scores := b.Matmul(queries, b.Transpose(keys, -2, -1))
	never := b.FloatNumber(math.Inf(-1))
	switch {
	case causal:
		all := b.OnesBeside(q, dtype.Bool, scores.Sizes()[scores.Dim()-2:]...)
		scores = b.Where(b.Tril(all, 0), scores, never)
	case mask != nil:
		scores = b.Add(scores, mask)
	default:
		return b.Softmax(scores, -1, dtype.None)
	}
	none := b.All(b.Eq(scores, never), []int64{-1}, true)
	weights := b.Softmax(b.Where(none, b.IntNumber(0), scores), -1, dtype.None)
	return b.Where(none, b.IntNumber(0), weights)
}
