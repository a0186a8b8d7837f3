package owner

import (
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Formula is a scope of steps that end it where they fail, which Evaluate and Try turn into their error: long computations of the engine's own
// read as formulas.
type Formula struct{ Scope }

// failure is the panic of a step.
type failure struct{ err error }

// Check ends the formula if err is not nil.
func (f *Formula) Check(err error) {
	switch {
	case err == nil:
	case f.Op == "":
		panic(failure{err})
	default:
		panic(failure{status.In(f.Op, err)})
	}
}

// Track remembers t, the result of a step, as a temporary.
func (f *Formula) Track(t *tensor.Tensor, err error) *tensor.Tensor {
	f.Scope.Track(t, nil)
	f.Check(err)
	return t
}

// TrackAll is Keep for a list.
func (f *Formula) TrackAll(list []*tensor.Tensor, err error) []*tensor.Tensor {
	for _, t := range list {
		f.Scope.Track(t, nil)
	}
	f.Check(err)
	return list
}

// Evaluate runs a formula without a result, and returns its error.
func (f *Formula) Evaluate(formula func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			ended, ok := v.(failure)
			if !ok {
				panic(v)
			}
			err = ended.err
		}
	}()
	formula()
	return nil
}

// Try returns the result of a formula, which the caller owns, or nil.
func (f *Formula) Try(formula func() *tensor.Tensor) (made *tensor.Tensor, err error) {
	if err = f.Evaluate(func() { made = formula() }); err != nil || made == nil {
		return nil, err
	}
	return f.Return(made)
}
