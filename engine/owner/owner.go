// Package owner has scopes, which release the temporaries of an operator.
package owner

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Scope owns the temporaries of an operator, and the result until it is returned: tensors are tracked as soon as they are created, and one deferred
// Close releases them on every path. The methods of types that embed a scope do nothing after the first error, so that a composite operator reads
// like a formula.
type Scope struct {
	Op    string // in errors
	Err   error  // the first one
	room  [6]*tensor.Tensor
	count int              // number of temporaries in room
	more  []*tensor.Tensor // if there are more; a list in room would move the scope to the heap
}

// Close releases every temporary.
func (s *Scope) Close() {
	for _, t := range s.room[:s.count] {
		t.Release()
	}
	for _, t := range s.more {
		t.Release()
	}
}

// Fail remembers err, if it is one and the first, as an error of the operator's.
func (s *Scope) Fail(err error) {
	if s.Err == nil && err != nil {
		s.Err = status.In(s.Op, err)
	}
}

// Failf is Fail for an error of the operator's own.
func (s *Scope) Failf(format string, a ...any) {
	if s.Err == nil {
		s.Err = status.Runtimef("%s: "+format, append([]any{s.Op}, a...)...)
	}
}

// Track remembers t, the result of a step, as a temporary.
func (s *Scope) Track(t *tensor.Tensor, err error) *tensor.Tensor {
	s.Fail(err)
	switch {
	case t == nil:
	case s.count < len(s.room):
		s.room[s.count] = t
		s.count++
	default:
		s.more = append(s.more, t)
	}
	return t
}

// TrackAll is Track for a list.
func (s *Scope) TrackAll(list []*tensor.Tensor, err error) []*tensor.Tensor {
	for _, t := range list {
		s.Track(t, nil)
	}
	s.Fail(err)
	return list
}

// Step tracks the result of a step.
func (s *Scope) Step(f func() (*tensor.Tensor, error)) *tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	return s.Track(f())
}

// Do runs a step that makes nothing to keep.
func (s *Scope) Do(f func() error) {
	if s.Err == nil {
		s.Fail(f())
	}
}

// Last returns the result of the last step, which the caller owns.
func (s *Scope) Last(f func() (*tensor.Tensor, error)) (*tensor.Tensor, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	t, err := f()
	if s.Fail(err); err != nil {
		return nil, s.Err
	}
	return t, nil
}

// Unary tracks the result of an operator of one operand.
func (s *Scope) Unary(f func(out, a *tensor.Tensor) (*tensor.Tensor, error), a *tensor.Tensor) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return f(nil, a) })
}

// Binary is Unary for two operands.
func (s *Scope) Binary(f func(out, a, b *tensor.Tensor) (*tensor.Tensor, error), a, b *tensor.Tensor) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return f(nil, a, b) })
}

// Number returns an operand that counts as a plain number.
func (s *Scope) Number(v dtype.Scalar) *tensor.Tensor { return s.Track(tensor.FixedNumber(v)) }

// Return returns t to the caller, who owns it from here on. A tensor that is not a temporary is returned as an alias, and nil as nil.
func (s *Scope) Return(t *tensor.Tensor) (*tensor.Tensor, error) {
	if s.Err != nil || t == nil {
		return nil, s.Err
	}
	if i := slices.Index(s.more, t); i >= 0 {
		s.more = slices.Delete(s.more, i, i+1)
		return t, nil
	}
	if i := slices.Index(s.room[:s.count], t); i >= 0 {
		s.count--
		s.room[i] = s.room[s.count]
		return t, nil
	}
	return t.Alias(), nil
}

// Holds reports whether t is a temporary.
func (s *Scope) Holds(t *tensor.Tensor) bool {
	return slices.Contains(s.room[:s.count], t) || slices.Contains(s.more, t)
}

// Drop releases a temporary before the others, and nothing else.
func (s *Scope) Drop(t *tensor.Tensor) {
	if s.Holds(t) {
		t, _ = s.Return(t)
		t.Release()
	}
}

// ReturnBoth hands two results over.
func (s *Scope) ReturnBoth(first, second *tensor.Tensor) (*tensor.Tensor, *tensor.Tensor, error) {
	if s.Err != nil {
		return nil, nil, s.Err
	}
	first, _ = s.Return(first)
	second, _ = s.Return(second)
	return first, second, nil
}

// ReturnAll hands a list over.
func (s *Scope) ReturnAll(list []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	for i, t := range list {
		list[i], _ = s.Return(t)
	}
	return list, nil
}

// List creates n tensors; if one fails, those before it are released.
func List(n int, piece func(i int) (*tensor.Tensor, error)) ([]*tensor.Tensor, error) {
	list := make([]*tensor.Tensor, 0, n)
	for i := range n {
		t, err := piece(i)
		if err != nil {
			for _, t := range list {
				t.Release()
			}
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}
