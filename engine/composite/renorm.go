package composite

import (
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Renorm scales down every slice along dim whose p-norm exceeds maxnorm, so that it does not.
func Renorm(c dispatch.Context, out, self *tensor.Tensor, p dtype.Scalar, dim int64, maxnorm dtype.Scalar) (_ *tensor.Tensor, err error) {
	const op = "renorm"
	d := self.DType()
	switch {
	case p.Kind == dtype.KindComplex || maxnorm.Kind == dtype.KindComplex:
		return nil, status.Runtimef("%s: p and maxnorm must be real-valued, got %v and %v", op, p, maxnorm)
	case !(p.Float() > 0):
		return nil, status.Runtimef("%s: p must be positive, got %v", op, p)
	case !(maxnorm.Float() >= 0):
		return nil, status.Runtimef("%s: expected maxnorm to be >= 0 but got %v", op, maxnorm)
	case self.Dim() < 2:
		return nil, status.Runtimef("%s: input needs at least 2 dimensions, got %d dimensions", op, self.Dim())
	}
	at, err := shape.WrapDim(op, dim, self.Dim())
	if err != nil {
		return nil, err
	}
	var others []int64
	for i := range self.Dim() {
		if i != at {
			others = append(others, int64(i))
		}
	}
	b := build.New(c, op)
	defer b.Close(&err)
	// A little more than the norm is divided by, which keeps the result below maxnorm in spite of rounding.
	norms := b.NormWith(self, p, others, true, d.Compute())
	factors := b.Div(b.Number(maxnorm), b.Add(norms, b.FloatNumber(1e-7)))
	over := b.Gt(norms, b.Number(maxnorm))
	factors = b.Where(over, factors, b.FloatNumber(1))
	return build.WriteResult(b, out, b.AsContiguous(b.CastTo(b.Mul(self, factors), d)))
}
