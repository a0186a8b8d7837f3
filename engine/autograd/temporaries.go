package autograd

import (
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Each temporary of a derivative formula is used once. The generated code passes its ownership to the operation that uses it, which
// releases it or overwrites it with its result: the peak memory of a formula is that of its largest operation. With create_graph the
// graph keeps the temporaries, and none is overwritten.

// handed is a set of operands, of two, whose ownership is passed.
type handed int

const (
	neither handed = 0
	left    handed = 1
	right   handed = 2
)

// consume passes the ownership of an operand to the next operation.
func (s *steps) consume(t *tensor.Tensor) *tensor.Tensor {
	s.last = append(s.last, t)
	return t
}

// release releases the last n operands passed to consume, except made, the result of the operation, which it returns.
func (s *steps) release(n int, made *tensor.Tensor) *tensor.Tensor {
	end := len(s.last) - n
	for _, t := range s.last[end:] {
		s.releaseOperand(made, t, true)
	}
	s.last = s.last[:end]
	return made
}

// releaseOperand releases an owned operand t, unless it is the result made.
func (s *steps) releaseOperand(made, t *tensor.Tensor, over bool) {
	if over && t != made {
		s.Drop(t)
	}
}

// findOverwritable returns the operand that a binary operator can overwrite with its result, or nil.
func (s *steps) findOverwritable(a, b *tensor.Tensor, over handed) *tensor.Tensor {
	takes := func(t, other *tensor.Tensor) bool {
		return s.isOverwritable(t) && !isTransformed(other) && other.Components() == nil && !t.IsWrappedNumber() &&
			(other.DType() == t.DType() || other.IsWrappedNumber() && other.DType().Category() <= t.DType().Category()) &&
			t.DType().Category() >= dtype.Floating && shape.ExpandsTo(other.Sizes(), t.Sizes())
	}
	switch {
	case over&left != 0 && takes(a, b):
		return a
	case over&right != 0 && takes(b, a):
		return b
	}
	return nil
}

// isOverwritable returns whether an operation may overwrite an owned operand.
func (s *steps) isOverwritable(t *tensor.Tensor) bool {
	return !s.record && canOverwrite(t) && s.Holds(t)
}

// reuseOperand returns t if an elementwise operation that owns t may overwrite it, otherwise nil. The other operands are broadcast to t.
func (s *steps) reuseOperand(t *tensor.Tensor, beside ...*tensor.Tensor) *tensor.Tensor {
	if !s.isOverwritable(t) {
		return nil
	}
	for _, b := range beside {
		if isTransformed(b) || b.Components() != nil || !shape.ExpandsTo(b.Sizes(), t.Sizes()) {
			return nil
		}
	}
	return t
}

// runInto executes an operation that writes to out; if out is nil, the result becomes a temporary of s.
func (s *steps) runInto(out *tensor.Tensor, step func(out *tensor.Tensor) (*tensor.Tensor, error)) *tensor.Tensor {
	made, err := step(out)
	s.Check(err)
	if out == nil {
		s.Track(made, nil)
	}
	return made
}

// runOver executes an operation that owns t, and overwrites t if possible.
func (s *steps) runOver(t *tensor.Tensor, step func(out *tensor.Tensor) (*tensor.Tensor, error)) *tensor.Tensor {
	return s.releaseUsed(t, s.runInto(s.reuseOperand(t), step))
}

// runOverArgument is runOver for an operation that takes t as an argument.
func (s *steps) runOverArgument(t *tensor.Tensor, step func(t, out *tensor.Tensor) (*tensor.Tensor, error)) *tensor.Tensor {
	return s.runOver(t, func(out *tensor.Tensor) (*tensor.Tensor, error) { return step(t, out) })
}

// Operations that own their first operand, a temporary.

func (s *steps) negOver(t *tensor.Tensor) *tensor.Tensor {
	return s.runOver(t, func(out *tensor.Tensor) (*tensor.Tensor, error) { return s.C.Neg(out, t) })
}

func (s *steps) expOver(t *tensor.Tensor) *tensor.Tensor {
	return s.runOver(t, func(out *tensor.Tensor) (*tensor.Tensor, error) { return s.C.Exp(out, t) })
}

func (s *steps) lowerOver(t *tensor.Tensor) *tensor.Tensor {
	return s.runOver(t, func(out *tensor.Tensor) (*tensor.Tensor, error) { return s.C.Tril(out, t, 0) })
}

func (s *steps) cumsumOver(t *tensor.Tensor, dim int64) *tensor.Tensor {
	return s.runOver(t, func(out *tensor.Tensor) (*tensor.Tensor, error) { return s.C.Cumsum(out, t, dim, dtype.None) })
}

func (s *steps) cumprodOver(t *tensor.Tensor, dim int64) *tensor.Tensor {
	return s.runOver(t, func(out *tensor.Tensor) (*tensor.Tensor, error) { return s.C.Cumprod(out, t, dim, dtype.None) })
}

// clearedOver is zeroWhere for an owned operand.
func (s *steps) clearedOver(t, condition *tensor.Tensor) *tensor.Tensor {
	out := s.reuseOperand(t, condition)
	if out == nil {
		return s.releaseUsed(t, s.Where(condition, s.int(0), t))
	}
	return s.runInto(out, func(out *tensor.Tensor) (*tensor.Tensor, error) { return s.C.MaskedFill(out, t, condition, s.int(0)) })
}

// releaseUsed releases an owned operand, unless it is the result, which it returns.
func (s *steps) releaseUsed(t, made *tensor.Tensor) *tensor.Tensor {
	s.releaseOperand(made, t, true)
	return made
}
