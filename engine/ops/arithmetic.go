package ops

import (
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

var (
	add       = newPointwise("add", "add", promote)
	addScaled = newPointwise("add", "add_scaled", promote)
	mul       = newPointwise("mul", "mul", promote)
)

// Add computes self + alpha*other.
func Add(out, self, other *tensor.Tensor, alpha dtype.Scalar) (*tensor.Tensor, error) {
	if alpha.Equal(1) {
		return add.run(out, nil, self, other)
	}
	if d := resultType(self, other); alpha.DType().Category() > d.Category() {
		return nil, status.Runtimef("add: alpha %v must not be of a higher category than the result's dtype %v", alpha, d)
	}
	return addScaled.run(out, func(d dtype.DType, p *iter.Params) { p.Set(0, d, alpha) }, self, other)
}

// Mul computes self * other.
func Mul(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return mul.run(out, nil, self, other)
}
