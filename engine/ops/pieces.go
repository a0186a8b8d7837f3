package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/tensor"
)

// scope owns the temporaries of an operator, and the result until it is handed over: what an operator makes is kept here the
// moment it is made, and one deferred close releases it on every way out. Its methods do nothing after the first error, so
// that a composition reads like a formula.
type scope struct {
	op   string
	made []*tensor.Tensor
	err  error
}

// close releases every temporary.
func (s *scope) close() {
	for _, t := range s.made {
		t.Release()
	}
}

// keep remembers t as a temporary.
func (s *scope) keep(t *tensor.Tensor, err error) *tensor.Tensor {
	if s.err == nil {
		s.err = err
	}
	if t != nil {
		s.made = append(s.made, t)
	}
	return t
}

// give hands t over: its owner is the caller from here on.
func (s *scope) give(t *tensor.Tensor) (*tensor.Tensor, error) {
	if s.err != nil {
		return nil, s.err
	}
	if i := slices.Index(s.made, t); i >= 0 {
		s.made = slices.Delete(s.made, i, i+1)
		return t, nil
	}
	return t.Alias(), nil
}

// giveAll hands a list over.
func (s *scope) giveAll(list []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if s.err != nil {
		return nil, s.err
	}
	for i, t := range list {
		list[i], _ = s.give(t)
	}
	return list, nil
}

// result hands t over, or writes it to out where there is one.
func (s *scope) result(out, t *tensor.Tensor) (*tensor.Tensor, error) {
	if s.err != nil || out == nil {
		return s.give(t)
	}
	if err := sameDType(s.op, out, t.DType()); err != nil {
		return nil, err
	}
	if to := s.into(out, t); s.err == nil {
		return s.deliver(to)
	}
	return nil, s.err
}

// into checks that t, a result of its own memory, can be written to out.
func (s *scope) into(out, t *tensor.Tensor) destination {
	if s.err != nil {
		return destination{}
	}
	to := destination{out: out, at: t, sizes: t.Sizes(), d: t.DType()}
	if out != nil {
		s.direct(to, t.DType(), anyStrides, []*tensor.Tensor{t})
	}
	return to
}

func (s *scope) add(a, b *tensor.Tensor) *tensor.Tensor {
	if s.err != nil {
		return nil
	}
	return s.keep(Add(nil, a, b, dtype.IntScalar(1)))
}

func (s *scope) sub(a, b *tensor.Tensor) *tensor.Tensor {
	if s.err != nil {
		return nil
	}
	return s.keep(Sub(nil, a, b, dtype.IntScalar(1)))
}

func (s *scope) mul(a, b *tensor.Tensor) *tensor.Tensor {
	if s.err != nil {
		return nil
	}
	return s.keep(Mul(nil, a, b))
}

func (s *scope) div(a, b *tensor.Tensor) *tensor.Tensor {
	if s.err != nil {
		return nil
	}
	return s.keep(Div(nil, a, b, ""))
}

// unary and binary are the results of operators of one and two operands.
func (s *scope) unary(f func(out, a *tensor.Tensor) (*tensor.Tensor, error), a *tensor.Tensor) *tensor.Tensor {
	if s.err != nil {
		return nil
	}
	return s.keep(f(nil, a))
}

func (s *scope) binary(f func(out, a, b *tensor.Tensor) (*tensor.Tensor, error), a, b *tensor.Tensor) *tensor.Tensor {
	if s.err != nil {
		return nil
	}
	return s.keep(f(nil, a, b))
}

// where is a where condition holds and b elsewhere.
func (s *scope) where(condition, a, b *tensor.Tensor) *tensor.Tensor {
	if s.err != nil {
		return nil
	}
	return s.keep(Where(nil, condition, a, b))
}

// number is a scalar operand.
func (s *scope) number(v dtype.Scalar) *tensor.Tensor { return s.keep(tensor.Number(v)) }

func (s *scope) float(v float64) *tensor.Tensor { return s.number(dtype.FloatScalar(v)) }

// sum adds up over dims, or over all where there are none.
func (s *scope) sum(t *tensor.Tensor, dims ...int64) *tensor.Tensor {
	if s.err != nil {
		return nil
	}
	return s.keep(Sum(nil, t, dims, false, dtype.None))
}

// part views length elements of t along dim from start on.
func (s *scope) part(t *tensor.Tensor, dim int, start, length int64) *tensor.Tensor {
	if s.err != nil {
		return nil
	}
	sizes := slices.Clone(t.Sizes())
	sizes[dim] = length
	return s.keep(t.View(s.op, sizes, t.Strides(), t.Offset()+start*t.Strides()[dim]))
}

// at views position i of t along dim, which disappears.
func (s *scope) at(t *tensor.Tensor, dim int, i int64) *tensor.Tensor {
	if s.err != nil {
		return nil
	}
	sizes, strides := slices.Clone(t.Sizes()), slices.Clone(t.Strides())
	offset := t.Offset() + i*strides[dim]
	return s.keep(t.View(s.op, slices.Delete(sizes, dim, dim+1), slices.Delete(strides, dim, dim+1), offset))
}

// wide views t with a new dimension of size 1 at dim.
func (s *scope) wide(t *tensor.Tensor, dim int) *tensor.Tensor {
	if s.err != nil {
		return nil
	}
	return s.keep(t.View(s.op, slices.Insert(slices.Clone(t.Sizes()), dim, 1), slices.Insert(slices.Clone(t.Strides()), dim, 1), t.Offset()))
}

// empty makes a contiguous tensor of arbitrary values like t.
func (s *scope) empty(t *tensor.Tensor, d dtype.DType, sizes ...int64) *tensor.Tensor {
	if s.err != nil {
		return nil
	}
	return s.keep(tensor.Empty(s.op, sizes, d, t.Device()))
}

// cast is t in dtype d, row-major.
func (s *scope) cast(t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	if s.err != nil {
		return nil
	}
	return s.keep(asContiguous(s.op, t, d))
}

// copy writes src, broadcast, to dst.
func (s *scope) copy(dst, src *tensor.Tensor) {
	if s.err == nil && !dst.IsMeta() {
		iter.Copy(dst, src)
	}
}

// permute views t with its dimensions in the given order.
func (s *scope) permute(t *tensor.Tensor, order ...int) *tensor.Tensor {
	if s.err != nil {
		return nil
	}
	return s.keep(permuted(s.op, t, order...))
}

// reshape is t with other sizes, a view where that is possible.
func (s *scope) reshape(t *tensor.Tensor, sizes ...int64) *tensor.Tensor {
	if s.err != nil {
		return nil
	}
	return s.keep(reshaped(s.op, t, sizes...))
}
