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

// hand hands an operand over to a step.
func (s *steps) hand(t *tensor.Tensor) *tensor.Tensor {
	s.last = append(s.last, t)
	return t
}

// after is the result of a step that n operands were handed over to.
func (s *steps) after(n int, made *tensor.Tensor) *tensor.Tensor {
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
		return !s.record && own(t) && !t.IsWrappedNumber() && (other.DType() == t.DType() || other.IsWrappedNumber() && other.DType().Category() <= t.DType().Category()) &&
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
