// Package composite has the operators that are written with other operators, which they call through the façade: what these
// do for gradients, kinds of tensors and devices, the composed ones do too. None reads elements.
package composite

import (
	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// scope is the façade for one composition: it owns what the steps make, and after the first error they do nothing.
type scope struct {
	owner.Scope
	c aten.Ctx
}

func within(c aten.Ctx, op string) *scope { return &scope{owner.Scope{Op: op}, c} }

// strided refuses sparse operands, where the steps would take their entries for all elements, or say nothing of the operator.
func (s *scope) strided(list ...*tensor.Tensor) {
	for _, t := range list {
		if s.Err == nil && t != nil && t.Keys()&tensor.Sparse != 0 {
			s.Err = aten.Refused(s.Op, (t.Keys() & tensor.Sparse).First())
		}
	}
}

// only is the result of the only step of op.
func only(op string, t *tensor.Tensor, err error) (*tensor.Tensor, error) {
	if err != nil {
		return nil, status.In(op, err)
	}
	return t, nil
}

// result hands t over, or writes it to out where there is one.
func (s *scope) result(out, t *tensor.Tensor) (*tensor.Tensor, error) {
	if s.Err != nil || out == nil {
		return s.Give(t)
	}
	return ops.Deliver(s.Op, out, t)
}

// view is the result of an operator of one operand that takes no output.
func (s *scope) view(f func(a *tensor.Tensor) (*tensor.Tensor, error), a *tensor.Tensor) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return f(a) })
}

func (s *scope) add(a, b *tensor.Tensor) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.c.Add(nil, a, b, dtype.IntScalar(1)) })
}

func (s *scope) sub(a, b *tensor.Tensor) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.c.Sub(nil, a, b, dtype.IntScalar(1)) })
}

func (s *scope) mul(a, b *tensor.Tensor) *tensor.Tensor { return s.Binary(s.c.Mul, a, b) }

func (s *scope) div(a, b *tensor.Tensor) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.c.Div(nil, a, b, "") })
}

// float is an operand that counts as a plain number.
func (s *scope) float(v float64) *tensor.Tensor { return s.Number(dtype.FloatScalar(v)) }

// sum adds up over dims, or over all where there are none.
func (s *scope) sum(t *tensor.Tensor, dims ...int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.c.Sum(nil, t, dims, false, dtype.None) })
}

// mean is the mean over dim, which stays with size 1, in dtype d.
func (s *scope) mean(t *tensor.Tensor, dim int64, d dtype.DType) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.c.Mean(nil, t, []int64{dim}, true, d) })
}

// sumOut adds up over dims, which stay with size 1, in dtype d or in the dtype that sums have.
func (s *scope) sumOut(t *tensor.Tensor, dims []int64, d dtype.DType) *tensor.Tensor {
	if s.Err != nil || len(dims) == 0 {
		return t
	}
	return s.Keep(s.c.Sum(nil, t, dims, true, d))
}

// cast is t in dtype d: itself where it has that already.
func (s *scope) cast(t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	if s.Err != nil || t.DType() == d {
		return t
	}
	return s.Keep(s.c.ToOptions(t, d, tensor.NoLayout, device.None, false, false, shape.Preserve))
}

// where is a where condition holds and b elsewhere.
func (s *scope) where(condition, a, b *tensor.Tensor) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.c.Where(nil, condition, a, b) })
}

// value is the only element of t; unknown where t has no data, and after an error.
func (s *scope) value(t *tensor.Tensor) (v dtype.Scalar, known bool) {
	if s.Err != nil || !launch.Known(t) {
		return v, false
	}
	v, s.Err = s.c.Item(t)
	return v, s.Err == nil
}
