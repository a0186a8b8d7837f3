// Package build provides the builder of composite operators, derivatives and transform rules: Builder has a method for each operator, which
// calls the dispatcher and owns the result.
package build

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Builder calls operators for one composite operator: the intermediate ops. Its scope owns their results until Close, and ends the function
// at the first error. The methods in gen_operators.go have the names and arguments of the operators.
type Builder struct {
	C dispatch.Context
	owner.Scope
}

// New returns the builder of the operator op, whose intermediate ops are dispatched with c. Nothing may fail between New and defer
// Close(&err).
func New(c dispatch.Context, op string) *Builder {
	return &Builder{C: c, Scope: owner.Scope{Op: op}}
}

// FloatNumber is Number for a float.
func (b *Builder) FloatNumber(v float64) *tensor.Tensor { return b.Number(dtype.FloatScalar(v)) }

// IntNumber is Number for an integer.
func (b *Builder) IntNumber(v int64) *tensor.Tensor { return b.Number(dtype.IntScalar(v)) }

// CheckStrided rejects sparse operands, whose entries the intermediate ops would treat as all elements, or reject without the name of the
// operator.
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

// MatchLazyBits returns t as the memory of out stores it: with its elements computed, and conjugated or negated where out's are when they
// are read.
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
	return backend.RowMajor(&b.Scope, t, d)
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
