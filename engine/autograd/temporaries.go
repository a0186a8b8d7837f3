package autograd

import (
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// What a part of a formula makes is used once. The generated code hands it over to the step that uses it, which releases it when
// it is done, or writes its own result over it: a formula takes no more memory than its largest step. In a run that is recorded
// the graph holds what it needs, and nothing is written over.

// handed says which of two operands are handed over.
type handed int

const (
	neither handed = 0
	left    handed = 1
	right   handed = 2
)

// consume hands an operand over to a step.
func (s *steps) consume(t *tensor.Tensor) *tensor.Tensor {
	s.last = append(s.last, t)
	return t
}

// release is the result of a step that n operands were handed over to.
func (s *steps) release(n int, made *tensor.Tensor) *tensor.Tensor {
	end := len(s.last) - n
	for _, t := range s.last[end:] {
		s.drop(made, t, true)
	}
	s.last = s.last[:end]
	return made
}

// drop releases an operand that was handed over, unless it is what the step gave.
func (s *steps) drop(made, t *tensor.Tensor, over bool) {
	if over && t != made {
		s.Drop(t)
	}
}

// place is the operand whose memory takes the result of arithmetic, nil for memory of its own.
func (s *steps) place(a, b *tensor.Tensor, over handed) *tensor.Tensor {
	takes := func(t, other *tensor.Tensor) bool {
		return s.free(t) && !isTransformed(other) && !t.IsWrappedNumber() && (other.DType() == t.DType() || other.IsWrappedNumber() && other.DType().Category() <= t.DType().Category()) &&
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

// free tells whether a step that an operand is handed over to may write over it.
func (s *steps) free(t *tensor.Tensor) bool { return !s.record && own(t) && s.Holds(t) }

// reusable is t where a step that uses it up may write a result of its kind over it, nil otherwise. What the step reads beside it is
// spread over it.
func (s *steps) reusable(t *tensor.Tensor, beside ...*tensor.Tensor) *tensor.Tensor {
	if !s.free(t) {
		return nil
	}
	for _, b := range beside {
		if isTransformed(b) || !shape.ExpandsTo(b.Sizes(), t.Sizes()) {
			return nil
		}
	}
	return t
}

// written runs a step that writes to out; where that is nil, its result is a temporary.
func (s *steps) written(out *tensor.Tensor, step func(out *tensor.Tensor) (*tensor.Tensor, error)) *tensor.Tensor {
	made, err := step(out)
	s.Check(err)
	if out == nil {
		s.Keep(made, nil)
	}
	return made
}

// rewritten runs a step that uses t up, and writes over it where it may.
func (s *steps) rewritten(t *tensor.Tensor, step func(out *tensor.Tensor) (*tensor.Tensor, error)) *tensor.Tensor {
	return s.used(t, s.written(s.reusable(t), step))
}

// onto is rewritten for a step that is told what it uses up.
func (s *steps) onto(t *tensor.Tensor, step func(t, out *tensor.Tensor) (*tensor.Tensor, error)) *tensor.Tensor {
	return s.rewritten(t, func(out *tensor.Tensor) (*tensor.Tensor, error) { return step(t, out) })
}

// Steps that use their first operand up, a temporary.

func (s *steps) negOver(t *tensor.Tensor) *tensor.Tensor {
	return s.rewritten(t, func(out *tensor.Tensor) (*tensor.Tensor, error) { return s.c.Neg(out, t) })
}

func (s *steps) expOver(t *tensor.Tensor) *tensor.Tensor {
	return s.rewritten(t, func(out *tensor.Tensor) (*tensor.Tensor, error) { return s.c.Exp(out, t) })
}

func (s *steps) lowerOver(t *tensor.Tensor) *tensor.Tensor {
	return s.rewritten(t, func(out *tensor.Tensor) (*tensor.Tensor, error) { return s.c.Tril(out, t, 0) })
}

func (s *steps) cumsumOver(t *tensor.Tensor, dim int64) *tensor.Tensor {
	return s.rewritten(t, func(out *tensor.Tensor) (*tensor.Tensor, error) { return s.c.Cumsum(out, t, dim, dtype.None) })
}

func (s *steps) cumprodOver(t *tensor.Tensor, dim int64) *tensor.Tensor {
	return s.rewritten(t, func(out *tensor.Tensor) (*tensor.Tensor, error) { return s.c.Cumprod(out, t, dim, dtype.None) })
}

// clearedOver is cleared.
func (s *steps) clearedOver(t, condition *tensor.Tensor) *tensor.Tensor {
	out := s.reusable(t, condition)
	if out == nil {
		return s.used(t, s.where(condition, s.int(0), t))
	}
	return s.written(out, func(out *tensor.Tensor) (*tensor.Tensor, error) { return s.c.MaskedFill(out, t, condition, s.int(0)) })
}

// used drops an operand, unless it is what the step gave.
func (s *steps) used(t, made *tensor.Tensor) *tensor.Tensor {
	s.drop(made, t, true)
	return made
}
