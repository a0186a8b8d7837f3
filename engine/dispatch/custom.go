package dispatch

import (
	"slices"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// Custom is a call of an operator that the program has defined, without its tensors.
type Custom interface {
	Name() string
	// Composite reports whether the function calls operators that support autograd and transforms, and is called with the tensors as they are.
	Composite() bool
	// Writes reports whether the operator writes to tensor i.
	Writes(i int) bool
	// Run calls the function, or the one for meta tensors. The caller owns the results.
	Run(c Context, given []*tensor.Tensor, meta bool) ([]*tensor.Tensor, error)
	// Batched calls the rule of vmap with batch dimensions in front of those tensors that mapped marks. It reports for each result whether it
	// has a batch dimension; done is false if the operator has no rule.
	Batched(c Context, given []*tensor.Tensor, mapped []bool, size int64) (made []*tensor.Tensor, batched []bool, done bool, err error)
	// IsPlain reports whether all results are tensors.
	IsPlain() bool
	// Saves reports whether the derivative reads tensor i, first of the arguments and then of the results.
	Saves(i int, isResult bool) bool
	// Derivative returns a copy of the call that outlives it, for the backward pass.
	Derivative() (Derivative, error)
}

// Derivative is the derivative of a call of a custom operator.
type Derivative interface {
	// Backward returns the gradients of the tensors among the arguments from those of the results and the saved tensors.
	Backward(c Context, grads, saved []*tensor.Tensor) ([]*tensor.Tensor, error)
	Release()
}

// differentiateCustom is engine/autograd's function for custom operators, which imports this package.
var differentiateCustom func(c Context, given []*tensor.Tensor, x Custom) ([]*tensor.Tensor, error)

// RecordCustom sets it, when the program starts.
func RecordCustom(f func(c Context, given []*tensor.Tensor, x Custom) ([]*tensor.Tensor, error)) {
	differentiateCustom = f
}

// CallCustom calls a custom operator.
func (c Context) CallCustom(given []*tensor.Tensor, x Custom) (made []*tensor.Tensor, err error) {
	if x.Composite() {
		return x.Run(c, given, false)
	}
	switch key := c.highestKey(keysOf(given)); key {
	case 0:
		return runCustom(c, given, x)
	case tensor.Transformed:
		err = runTransformed(c, &Call{
			Operator: &Operator{Name: x.Name(), names: "tensors call", whole: Context.CallCustom},
			Args:     []any{&given, &x},
			Results:  []any{&made},
		})
		return made, err
	case tensor.Gradient:
		return differentiateCustom(c, given, x)
	case tensor.Conjugate, tensor.Negative:
		return resolveCustom(c, given, x)
	default:
		return c.Excluding(key).CallCustom(given, x)
	}
}

// resolveCustom calls the operator with copies of conjugated and negated views.
func resolveCustom(c Context, given []*tensor.Tensor, x Custom) (_ []*tensor.Tensor, err error) {
	s := owner.Scope{Op: x.Name()}
	defer s.Close(&err)
	resolved := slices.Clone(given)
	for i, t := range given {
		if t.Lazy() == 0 {
			continue
		}
		if x.Writes(i) {
			return nil, status.NotImplementedf("%s: an argument that the operator writes to is a conjugated or negated view; call resolve_conj() and resolve_neg() first",
				x.Name())
		}
		past := c.Excluding(tensor.Gradient)
		once := s.Track(past.ResolveConj(t))
		resolved[i] = s.Track(past.ResolveNeg(once))
	}
	return c.CallCustom(resolved, x)
}

// runCustom calls the function of the operator without autograd, and checks its results.
func runCustom(c Context, given []*tensor.Tensor, x Custom) ([]*tensor.Tensor, error) {
	meta := slices.ContainsFunc(given, func(t *tensor.Tensor) bool { return t.Device().Type == device.Meta })
	for i, t := range given {
		if x.Writes(i) && t.Storage() != nil && t.Storage().ReadOnly() {
			return nil, status.Runtimef("%s: an argument that the operator writes to is read-only; pass a clone()", x.Name())
		}
		if x.Writes(i) && t.Storage() != nil && t.Components() == nil && tensoriter.SelfOverlaps(t) {
			return nil, tensoriter.Writable(x.Name(), t)
		}
	}
	plain := make([]*tensor.Tensor, len(given))
	for i, t := range given {
		plain[i] = t.Plain()
		defer plain[i].Release()
	}
	made, err := x.Run(c.Recorded(false), plain, meta)
	if err != nil {
		return nil, err
	}
	for i, t := range made {
		if sharesMemory(t, given) || sharesMemory(t, made[:i]) {
			for _, t := range made {
				t.Release()
			}
			return nil, status.Runtimef("%s: result %d shares memory with an argument or another result; return a clone()", x.Name(), i)
		}
	}
	for i, t := range given {
		if x.Writes(i) {
			t.BumpVersion()
		}
	}
	return made, nil
}

// sharesMemory reports whether a tensor with elements shares its memory with others.
func sharesMemory(t *tensor.Tensor, others []*tensor.Tensor) bool {
	if t == nil || t.Components() != nil || t.Storage() == nil || t.Numel() == 0 {
		return false
	}
	return slices.ContainsFunc(others, func(other *tensor.Tensor) bool { return other != nil && other.Storage() == t.Storage() })
}

// Custom returns the call of a custom operator, nil for other operators.
func (x *Call) Custom() Custom {
	if len(x.Args) == 2 {
		if at, ok := x.Args[1].(*Custom); ok {
			return *at
		}
	}
	return nil
}

// writesCustom reports whether the operator is a custom one that writes to an argument.
func (x *Call) writesCustom() bool {
	custom := x.Custom()
	if custom == nil {
		return false
	}
	for i := range Value[[]*tensor.Tensor](x, 0) {
		if custom.Writes(i) {
			return true
		}
	}
	return false
}
