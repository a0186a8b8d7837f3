// Package owner has who releases what an operator makes.
package owner

import (
	"slices"

	"github.com/libtensor/libtensor/engine/tensor"
)

// Scope owns the temporaries of an operator, and the result until it is handed over: what an operator makes is kept here the
// moment it is made, and one deferred Close releases it on every way out. What is built on a scope does nothing after the
// first error, so that a composition reads like a formula.
type Scope struct {
	Op   string // in errors
	Err  error  // the first one
	made []*tensor.Tensor
	room [6]*tensor.Tensor // for the first of them
}

// Close releases every temporary.
func (s *Scope) Close() {
	for _, t := range s.made {
		t.Release()
	}
}

// Keep remembers t as a temporary.
func (s *Scope) Keep(t *tensor.Tensor, err error) *tensor.Tensor {
	if s.Err == nil {
		s.Err = err
	}
	if t != nil {
		if s.made == nil {
			s.made = s.room[:0]
		}
		s.made = append(s.made, t)
	}
	return t
}

// Give hands t over: its owner is the caller from here on. A tensor that is not a temporary is given as an alias.
func (s *Scope) Give(t *tensor.Tensor) (*tensor.Tensor, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	if i := slices.Index(s.made, t); i >= 0 {
		s.made = slices.Delete(s.made, i, i+1)
		return t, nil
	}
	return t.Alias(), nil
}

// GiveAll hands a list over.
func (s *Scope) GiveAll(list []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	for i, t := range list {
		list[i], _ = s.Give(t)
	}
	return list, nil
}
