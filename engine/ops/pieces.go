package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// scope is an owner of temporaries with the steps of which operators are composed.
type scope struct{ owner.Scope }

// within is a scope of an operator.
func within(op string) *scope { return &scope{owner.Scope{Op: op}} }

// result hands t over, or writes it to out where there is one.
func (s *scope) result(out, t *tensor.Tensor) (*tensor.Tensor, error) {
	if s.Err != nil || out == nil {
		return s.Give(t)
	}
	return Deliver(s.Op, out, t)
}

// Deliver writes t, a result of its own memory, to out, which takes its shape.
func Deliver(op string, out, t *tensor.Tensor) (*tensor.Tensor, error) {
	if err := sameDType(op, out, t.DType()); err != nil {
		return nil, err
	}
	s := within(op)
	defer s.Close()
	if to := s.into(out, t); s.Err == nil {
		return s.deliver(to)
	}
	return nil, s.Err
}

// into checks that t, a result of its own memory, can be written to out.
func (s *scope) into(out, t *tensor.Tensor) destination {
	if s.Err != nil {
		return destination{}
	}
	to := destination{out: out, at: t, sizes: t.Sizes(), d: t.DType()}
	if out != nil {
		s.direct(to, t.DType(), anyStrides, []*tensor.Tensor{t})
	}
	return to
}

func (s *scope) add(a, b *tensor.Tensor) *tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	return s.Keep(Add(nil, a, b, dtype.IntScalar(1)))
}

func (s *scope) sub(a, b *tensor.Tensor) *tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	return s.Keep(Sub(nil, a, b, dtype.IntScalar(1)))
}

func (s *scope) mul(a, b *tensor.Tensor) *tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	return s.Keep(Mul(nil, a, b))
}

func (s *scope) div(a, b *tensor.Tensor) *tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	return s.Keep(Div(nil, a, b, ""))
}

// where is a where condition holds and b elsewhere.
func (s *scope) where(condition, a, b *tensor.Tensor) *tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	return s.Keep(Where(nil, condition, a, b))
}

// number is a scalar operand.
func (s *scope) number(v dtype.Scalar) *tensor.Tensor { return s.Keep(tensor.Number(v)) }

// sum adds up over dims, or over all where there are none.
func (s *scope) sum(t *tensor.Tensor, dims ...int64) *tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	return s.Keep(Sum(nil, t, dims, false, dtype.None))
}

// part views length elements of t along dim from start on.
func (s *scope) part(t *tensor.Tensor, dim int, start, length int64) *tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	sizes := slices.Clone(t.Sizes())
	sizes[dim] = length
	return s.Keep(t.View(s.Op, sizes, t.Strides(), t.Offset()+start*t.Strides()[dim]))
}

// at views position i of t along dim, which disappears.
func (s *scope) at(t *tensor.Tensor, dim int, i int64) *tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	sizes, strides := slices.Clone(t.Sizes()), slices.Clone(t.Strides())
	offset := t.Offset() + i*strides[dim]
	return s.Keep(t.View(s.Op, slices.Delete(sizes, dim, dim+1), slices.Delete(strides, dim, dim+1), offset))
}

// empty makes a contiguous tensor of arbitrary values like t.
func (s *scope) empty(t *tensor.Tensor, d dtype.DType, sizes ...int64) *tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	return s.Keep(tensor.Empty(s.Op, sizes, d, t.Device()))
}

// cast is t in dtype d, row-major.
func (s *scope) cast(t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	return s.Keep(rowMajor(s.Op, t, d))
}

// copy writes src, broadcast, to dst.
func (s *scope) copy(dst, src *tensor.Tensor) {
	if s.Err == nil && !dst.IsMeta() {
		iter.Copy(dst, src)
	}
}

// permute views t with its dimensions in the given order.
func (s *scope) permute(t *tensor.Tensor, order ...int) *tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	return s.Keep(view.Permute(s.Op, t, order...))
}

// reshape is t with other sizes, a view where that is possible.
func (s *scope) reshape(t *tensor.Tensor, sizes ...int64) *tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	return s.Keep(reshape(s.Op, t, sizes))
}
