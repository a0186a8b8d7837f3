// Package owner has scopes, which own the temporaries of an operator and end it at the first error.
package owner

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Scope owns the temporaries of an operator, and the result until it is returned: tensors are tracked as soon as they are created, and one
// deferred Close releases them on every path. The first error ends the function that deferred Close, which returns it; code between two
// intermediate ops therefore needs no checks. A scope belongs to one goroutine: the chunks of a parallel loop return their errors.
type Scope struct {
	Op    string // in errors
	room  [6]*tensor.Tensor
	count int              // number of temporaries in room
	more  []*tensor.Tensor // if there are more; a list in room would move the scope to the heap
}

// failure is the panic with which the first error ends a function.
type failure struct{ err error }

// errorOf returns the error of a recovered failure, and panics again with any other value.
func errorOf(v any) error {
	f, ok := v.(failure)
	if !ok {
		panic(v)
	}
	return f.err
}

// Close releases the temporaries. It is deferred with the address of the function's named error, and stores there the error that ended the
// function.
func (s *Scope) Close(err *error) {
	v := recover()
	s.ReleaseAll()
	if v != nil {
		*err = errorOf(v)
	}
}

// ReleaseAll releases the temporaries of a scope within the functions of another one, which returns the errors of both.
func (s *Scope) ReleaseAll() {
	for _, t := range s.room[:s.count] {
		t.Release()
	}
	for _, t := range s.more {
		t.Release()
	}
}

// Check ends the function if err is not nil.
func (s *Scope) Check(err error) {
	if err != nil {
		s.fail(err)
	}
}

// fail is Check without its common case, which is inlined.
func (s *Scope) fail(err error) {
	if s.Op != "" {
		err = status.In(s.Op, err)
	}
	panic(failure{err})
}

// CheckWritten is Check for an operator that has written to its first operand.
func (s *Scope) CheckWritten(_ *tensor.Tensor, err error) { s.Check(err) }

// Failf ends the function with an error of the operator.
func (s *Scope) Failf(format string, a ...any) {
	panic(failure{status.Runtimef("%s: "+format, append([]any{s.Op}, a...)...)})
}

// Try runs a part of a function, and returns the error that ended it.
func (s *Scope) Try(part func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errorOf(v)
		}
	}()
	part()
	return nil
}

// Evaluate returns the result of a formula, which the caller owns, or nil.
func (s *Scope) Evaluate(formula func() *tensor.Tensor) (made *tensor.Tensor, err error) {
	if err = s.Try(func() { made = formula() }); err != nil || made == nil {
		return nil, err
	}
	return s.Return(made)
}

// Track remembers t, the result of an intermediate op, as a temporary.
func (s *Scope) Track(t *tensor.Tensor, err error) *tensor.Tensor {
	switch {
	case t == nil:
	case s.count < len(s.room):
		s.room[s.count] = t
		s.count++
	default:
		s.more = append(s.more, t)
	}
	s.Check(err)
	return t
}

// TrackAll is Track for a list.
func (s *Scope) TrackAll(list []*tensor.Tensor, err error) []*tensor.Tensor {
	for _, t := range list {
		s.Track(t, nil)
	}
	s.Check(err)
	return list
}

// Number returns an operand that counts as a plain number.
func (s *Scope) Number(v dtype.Scalar) *tensor.Tensor { return s.Track(tensor.FixedNumber(v)) }

// Return returns t to the caller, who owns it from here on. A tensor that is not a temporary is returned as an alias, and nil as nil.
func (s *Scope) Return(t *tensor.Tensor) (*tensor.Tensor, error) { return s.detach(t), nil }

// ReturnNew returns the result of an intermediate op, which the caller owns, or its error under the name of the scope's operator.
func (s *Scope) ReturnNew(t *tensor.Tensor, err error) (*tensor.Tensor, error) {
	s.Check(err)
	return t, nil
}

// ReturnBoth returns two results to the caller.
func (s *Scope) ReturnBoth(first, second *tensor.Tensor) (*tensor.Tensor, *tensor.Tensor, error) {
	first, second = s.detach(first), s.detach(second)
	return first, second, nil
}

// ReturnAll returns a list of results to the caller.
func (s *Scope) ReturnAll(list []*tensor.Tensor) ([]*tensor.Tensor, error) {
	for i, t := range list {
		list[i] = s.detach(t)
	}
	return list, nil
}

// detach returns a temporary that the scope no longer owns, or an alias of another tensor.
func (s *Scope) detach(t *tensor.Tensor) *tensor.Tensor {
	if t == nil {
		return nil
	}
	if i := slices.Index(s.more, t); i >= 0 {
		s.more = slices.Delete(s.more, i, i+1)
		return t
	}
	if i := slices.Index(s.room[:s.count], t); i >= 0 {
		s.count--
		s.room[i] = s.room[s.count]
		return t
	}
	return t.Alias()
}

// Holds reports whether t is a temporary.
func (s *Scope) Holds(t *tensor.Tensor) bool {
	return slices.Contains(s.room[:s.count], t) || slices.Contains(s.more, t)
}

// Drop releases a temporary before the others, and nothing else.
func (s *Scope) Drop(t *tensor.Tensor) {
	if s.Holds(t) {
		s.detach(t).Release()
	}
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
