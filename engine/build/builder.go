// Package build provides the builder of composite operators, derivatives and transform rules: Builder has a method for each operator, which calls the
// dispatcher and owns the result.
package build

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Builder calls operators for one composite operator: the intermediate ops. It owns their results until Close. The methods in gen_operators.go have the
// names and arguments of the operators. The first error ends the function that deferred Close, which returns it; code between two operators therefore
// needs no checks.
type Builder struct {
	C     dispatch.Context
	Op    string // in errors
	scope owner.Scope
}

// New returns the builder of the operator op, whose intermediate ops are dispatched with c. Nothing may fail between New and defer Close(&err).
func New(c dispatch.Context, op string) *Builder {
	return &Builder{C: c, Op: op, scope: owner.Scope{Op: op}}
}

// CallWithScope returns the result of a function below the dispatcher, which keeps its temporaries and its error in a scope.
func CallWithScope[T any](b *Builder, f func(s *owner.Scope) T) T {
	r := f(&b.scope)
	b.Check(b.scope.Err)
	return r
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

// Close releases the temporaries. It is deferred with the address of the function's named error, and stores there the error that ended the function.
func (b *Builder) Close(err *error) {
	defer b.scope.Close()
	if v := recover(); v != nil {
		*err = errorOf(v)
	}
}

// ReleaseAll releases the temporaries of a builder within the functions of another one, which returns the errors of both.
func (b *Builder) ReleaseAll() { b.scope.Close() }

// Check ends the function if err is not nil.
func (b *Builder) Check(err error) {
	switch {
	case err == nil:
	case b.Op == "":
		panic(failure{err})
	default:
		panic(failure{status.In(b.Op, err)})
	}
}

// Failf ends the function with an error of the operator.
func (b *Builder) Failf(format string, a ...any) {
	panic(failure{status.Runtimef("%s: "+format, append([]any{b.Op}, a...)...)})
}

// Try runs a part of a function, and returns the error that ended it.
func (b *Builder) Try(part func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errorOf(v)
		}
	}()
	part()
	return nil
}

// Evaluate returns the result of a formula, which the caller owns, or nil.
func (b *Builder) Evaluate(formula func() *tensor.Tensor) (made *tensor.Tensor, err error) {
	if err = b.Try(func() { made = formula() }); err != nil || made == nil {
		return nil, err
	}
	return b.Return(made)
}

// Track remembers t, the result of an intermediate op, as a temporary.
func (b *Builder) Track(t *tensor.Tensor, err error) *tensor.Tensor {
	b.scope.Track(t, nil)
	b.Check(err)
	return t
}

// TrackAll is Track for a list.
func (b *Builder) TrackAll(list []*tensor.Tensor, err error) []*tensor.Tensor {
	for _, t := range list {
		b.scope.Track(t, nil)
	}
	b.Check(err)
	return list
}

// Return returns t to the caller, who owns it from here on. A tensor that is not a temporary is returned as an alias, and nil as nil.
func (b *Builder) Return(t *tensor.Tensor) (*tensor.Tensor, error) { return b.scope.Return(t) }

// ReturnBoth returns two results to the caller.
func (b *Builder) ReturnBoth(first, second *tensor.Tensor) (*tensor.Tensor, *tensor.Tensor, error) {
	return b.scope.ReturnBoth(first, second)
}

// ReturnAll returns a list of results to the caller.
func (b *Builder) ReturnAll(list []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return b.scope.ReturnAll(list)
}

// ReturnNew returns the result of an operator, which the caller owns, or its error under the name of the builder's operator.
func (b *Builder) ReturnNew(t *tensor.Tensor, err error) (*tensor.Tensor, error) {
	b.Check(err)
	return t, nil
}

// CheckWritten is Check for an operator that has written to its first operand.
func (b *Builder) CheckWritten(_ *tensor.Tensor, err error) { b.Check(err) }

// Scope has the temporaries, for functions below the dispatcher that return some of them.
func (b *Builder) Scope() *owner.Scope { return &b.scope }

// Holds reports whether t is a temporary.
func (b *Builder) Holds(t *tensor.Tensor) bool { return b.scope.Holds(t) }

// Drop releases a temporary before the others, and nothing else.
func (b *Builder) Drop(t *tensor.Tensor) { b.scope.Drop(t) }

// Number returns an operand that counts as a plain number.
func (b *Builder) Number(v dtype.Scalar) *tensor.Tensor { return b.Track(tensor.FixedNumber(v)) }

// FloatNumber is Number for a float.
func (b *Builder) FloatNumber(v float64) *tensor.Tensor { return b.Number(dtype.FloatScalar(v)) }

// IntNumber is Number for an integer.
func (b *Builder) IntNumber(v int64) *tensor.Tensor { return b.Number(dtype.IntScalar(v)) }

// CheckStrided rejects sparse operands, whose entries the intermediate ops would treat as all elements, or reject without the name of the operator.
func (b *Builder) CheckStrided(list ...*tensor.Tensor) {
	for _, t := range list {
		if t != nil && t.Keys()&tensor.Sparse != 0 {
			b.Check(dispatch.Unsupported(b.Op, (t.Keys() & tensor.Sparse).First()))
		}
	}
}

// ReadElement returns the only element of t; unknown where t has no data.
func (b *Builder) ReadElement(t *tensor.Tensor) (v dtype.Scalar, known bool) {
	if !backend.Known(t) {
		return v, false
	}
	v, err := b.C.Item(t)
	b.Check(err)
	return v, true
}

// MatchLazyBits returns t as the memory of out stores it: with its elements computed, and conjugated or negated where out's are when they are read.
func (b *Builder) MatchLazyBits(t, out *tensor.Tensor) *tensor.Tensor {
	if t == nil || out == nil || t.Lazy()|out.Lazy() == 0 {
		return t
	}
	if out.Lazy()&tensor.Negative != 0 && dtype.CanCast(t.DType(), out.DType()) {
		t = b.CastTo(t, out.DType())
	}
	return b.ResolveNeg(b.ResolveConj(b.Track(dispatch.Toggled(b.C, t, out.Lazy()))))
}

// CastTo returns t in dtype d: t itself if it has that already, or if d is none.
func (b *Builder) CastTo(t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	if t.DType() == d || d == dtype.None {
		return t
	}
	return b.Track(b.C.ToOptions(t, d, tensor.NoLayout, device.None, false, false, shape.Preserve))
}

// AsContiguous returns t in row-major order: t itself if it is so already.
func (b *Builder) AsContiguous(t *tensor.Tensor) *tensor.Tensor {
	if t.IsContiguous() {
		return t
	}
	return b.Contiguous(t)
}

// AsShape reshapes t, and returns t itself if its sizes are equal.
func (b *Builder) AsShape(t *tensor.Tensor, sizes ...int64) *tensor.Tensor {
	if slices.Equal(t.Sizes(), sizes) {
		return t
	}
	return b.Reshape(t, sizes...)
}

// RowMajor returns t in dtype d and row-major order, read through any lazy bits, as kernels take it.
func (b *Builder) RowMajor(t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	return CallWithScope(b, func(s *owner.Scope) *tensor.Tensor { return backend.RowMajor(s, t, d) })
}

// ReorderDims views t with its dimensions in the given order: t itself if they are already.
func (b *Builder) ReorderDims(t *tensor.Tensor, order ...int64) *tensor.Tensor {
	if slices.IsSorted(order) {
		return t
	}
	return b.Permute(t, order...)
}

// ZerosBeside returns a tensor of zeros on the device of t.
func (b *Builder) ZerosBeside(t *tensor.Tensor, d dtype.DType, sizes ...int64) *tensor.Tensor {
	return b.NewZerosWith(t, sizes, d, tensor.NoLayout, device.None)
}

// OnesBeside returns a tensor of ones on the device of t.
func (b *Builder) OnesBeside(t *tensor.Tensor, d dtype.DType, sizes ...int64) *tensor.Tensor {
	return b.NewOnesWith(t, sizes, d, tensor.NoLayout, device.None)
}

// EmptyBeside returns an uninitialized tensor on the device of t.
func (b *Builder) EmptyBeside(t *tensor.Tensor, d dtype.DType, sizes ...int64) *tensor.Tensor {
	return b.NewEmptyWith(t, sizes, d, tensor.NoLayout, device.None)
}
