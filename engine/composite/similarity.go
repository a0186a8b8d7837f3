package composite

import (
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// CosineSimilarity returns the dot product of two tensors along dim, divided by their norms, each at least eps.
func CosineSimilarity(c dispatch.Context, x1, x2 *tensor.Tensor, dim int64, eps float64) (_ *tensor.Tensor, err error) {
	const op = "cosine_similarity"
	d, err := c.ResultType(x1, x2)
	if err != nil {
		return nil, err
	}
	if !d.IsFloatingPoint() {
		return nil, status.Runtimef("%s: expected common dtype to be floating point, yet common dtype is %v", op, d)
	}
	sizes, err := shape.Broadcast(op, x1.Sizes(), x2.Sizes())
	if err != nil {
		return nil, err
	}
	b := build.New(c, op)
	defer b.Close(&err)
	least := b.FloatNumber(eps)
	unit := func(t *tensor.Tensor) *tensor.Tensor {
		t = b.Expand(b.CastTo(t, d), sizes...)
		norm := b.LinalgVectorNorm(t, dtype.FloatScalar(2), []int64{dim}, true)
		norm = b.CloneWith(norm, shape.Preserve)
		// Gradients are those of the norm, even where it is clamped.
		b.CheckWritten(c.Recorded(false).ClampMin(norm, norm, least))
		return b.Div(t, norm)
	}
	return build.WriteResult(b, nil, b.Sum(b.Mul(unit(x1), unit(x2)), []int64{dim}, false))
}
