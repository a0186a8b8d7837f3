// Package steps provides the intermediate ops of composite operators: methods that call the dispatcher and keep their results in a scope. After the
// first error they do nothing. Packages composite, sparse and quantized add more. (Operators in engine/ops use the methods of that package;
// derivatives use those of engine/autograd, which handle saved tensors and may overwrite temporaries.)
package steps

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Steps are those of one operator.
type Steps struct {
	owner.Scope
	C dispatch.Context
}

// Of returns the steps of op, which calls with c.
func Of(c dispatch.Context, op string) Steps { return Steps{owner.Scope{Op: op}, c} }

// Strided returns an error for sparse operands, whose entries the intermediate ops would treat as all elements, or reject without the name of the
// operator.
func (s *Steps) Strided(list ...*tensor.Tensor) {
	for _, t := range list {
		if s.Err == nil && t != nil && t.Keys()&tensor.Sparse != 0 {
			s.Fail(dispatch.Unsupported(s.Op, (t.Keys() & tensor.Sparse).First()))
		}
	}
}

// Float returns an operand that counts as a plain number.
func (s *Steps) Float(v float64) *tensor.Tensor { return s.Number(dtype.FloatScalar(v)) }

// Int returns an operand that counts as a plain number.
func (s *Steps) Int(v int64) *tensor.Tensor { return s.Number(dtype.IntScalar(v)) }

// Value returns the only element of t; unknown where t has no data, and after an error.
func (s *Steps) Value(t *tensor.Tensor) (v dtype.Scalar, known bool) {
	if s.Err != nil || !backend.Known(t) {
		return v, false
	}
	v, err := s.C.Item(t)
	s.Fail(err)
	return v, s.Err == nil
}

// ForOutput returns t as the memory of out is to have it: with its elements computed, and conjugated or negated where out's are when they are read.
func (s *Steps) ForOutput(t, out *tensor.Tensor) *tensor.Tensor {
	if s.Err != nil || t == nil || out == nil || t.Lazy()|out.Lazy() == 0 {
		return t
	}
	if out.Lazy()&tensor.Negative != 0 && dtype.CanCast(t.DType(), out.DType()) {
		t = s.Cast(t, out.DType())
	}
	t = s.Step(func() (*tensor.Tensor, error) { return dispatch.Toggled(s.C, t, out.Lazy()) })
	t = s.Step(func() (*tensor.Tensor, error) { return s.C.ResolveConj(t) })
	return s.Step(func() (*tensor.Tensor, error) { return s.C.ResolveNeg(t) })
}

// Add returns a + b.
func (s *Steps) Add(a, b *tensor.Tensor) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.C.Add(nil, a, b, dtype.IntScalar(1)) })
}

// Sub returns a - b.
func (s *Steps) Sub(a, b *tensor.Tensor) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.C.Sub(nil, a, b, dtype.IntScalar(1)) })
}

// Mul returns a * b.
func (s *Steps) Mul(a, b *tensor.Tensor) *tensor.Tensor { return s.Binary(s.C.Mul, a, b) }

// Div returns a / b.
func (s *Steps) Div(a, b *tensor.Tensor) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.C.Div(nil, a, b, "") })
}

// Sum sums over dims, by default all.
func (s *Steps) Sum(t *tensor.Tensor, dims ...int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.C.Sum(nil, t, dims, false, dtype.None) })
}

// Where returns a where condition holds and b elsewhere.
func (s *Steps) Where(condition, a, b *tensor.Tensor) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.C.Where(nil, condition, a, b) })
}

// Cast returns t in dtype d: t itself if it has that already, or if d is none.
func (s *Steps) Cast(t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	if s.Err != nil || t.DType() == d || d == dtype.None {
		return t
	}
	return s.Track(s.C.ToOptions(t, d, tensor.NoLayout, device.None, false, false, shape.Preserve))
}

// Contiguous returns t in row-major order: t itself if it is so already.
func (s *Steps) Contiguous(t *tensor.Tensor) *tensor.Tensor {
	if s.Err != nil || t.IsContiguous() {
		return t
	}
	return s.Track(s.C.Contiguous(t, shape.Contiguous))
}

// Reshape returns t with other sizes, as a view if possible.
func (s *Steps) Reshape(t *tensor.Tensor, sizes ...int64) *tensor.Tensor {
	if s.Err != nil || slices.Equal(t.Sizes(), sizes) {
		return t
	}
	return s.Track(s.C.Reshape(t, sizes))
}

// Permute views t with its dimensions in the given order.
func (s *Steps) Permute(t *tensor.Tensor, order ...int64) *tensor.Tensor {
	if s.Err != nil || slices.IsSorted(order) {
		return t
	}
	return s.Track(s.C.Permute(t, order))
}

// Unsqueeze views t with a new dimension of size 1 at dim.
func (s *Steps) Unsqueeze(t *tensor.Tensor, dim int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.C.Unsqueeze(nil, t, dim) })
}

// Narrow views length elements of t along dim from start on.
func (s *Steps) Narrow(t *tensor.Tensor, dim, start, length int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.C.Narrow(t, dim, start, length) })
}

// Select views position i of t along dim, which disappears.
func (s *Steps) Select(t *tensor.Tensor, dim, i int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.C.Select(t, dim, i) })
}

// Unbind views every position of t along dim, which disappears.
func (s *Steps) Unbind(t *tensor.Tensor, dim int64) []*tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	list, err := s.C.Unbind(t, dim)
	s.Fail(err)
	for _, x := range list {
		s.Track(x, nil)
	}
	return list
}

// Expand views t broadcast to sizes.
func (s *Steps) Expand(t *tensor.Tensor, sizes ...int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.C.Expand(t, sizes, false) })
}

// Cat puts tensors behind one another along dim.
func (s *Steps) Cat(dim int64, tensors ...*tensor.Tensor) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.C.Cat(nil, tensors, dim) })
}

// Stack puts tensors behind one another along a new first dimension.
func (s *Steps) Stack(tensors ...*tensor.Tensor) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.C.Stack(nil, tensors, 0) })
}

// Zeros returns a tensor of zeros on the device of t.
func (s *Steps) Zeros(t *tensor.Tensor, d dtype.DType, sizes ...int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.C.NewZeros(t, sizes, d, tensor.NoLayout, device.None) })
}

// Ones returns a tensor of ones on the device of t.
func (s *Steps) Ones(t *tensor.Tensor, d dtype.DType, sizes ...int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.C.NewOnes(t, sizes, d, tensor.NoLayout, device.None) })
}

// Empty returns an uninitialized tensor on the device of t.
func (s *Steps) Empty(t *tensor.Tensor, d dtype.DType, sizes ...int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.C.NewEmpty(t, sizes, d, tensor.NoLayout, device.None) })
}

// Copy writes src, broadcast and converted, to dst.
func (s *Steps) Copy(dst, src *tensor.Tensor) {
	if s.Err == nil {
		s.Fail(s.C.Copy(dst, src, false))
	}
}
