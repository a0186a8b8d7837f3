package dtype

import (
	"sync/atomic"

	"github.com/libtensor/libtensor/engine/inherit"
)

var defaultDType atomic.Int32

func init() {
	defaultDType.Store(int32(Float32))
	inherit.Value(&defaultDType)
}

// Default returns the dtype of float scalars and of factories that are given none (PyTorch's get_default_dtype).
func Default() DType { return DType(defaultDType.Load()) }

// DefaultComplex returns the dtype of complex scalars: that whose parts have the default dtype, complex64 where they would be bfloat16.
func DefaultComplex() DType {
	if d := Default(); d != BFloat16 {
		return d.ToComplex()
	}
	return Complex64
}

// SetDefault changes Default; it reports false, and changes nothing, unless d is a floating dtype.
func SetDefault(d DType) bool {
	if !d.Valid() || !d.IsFloatingPoint() {
		return false
	}
	defaultDType.Store(int32(d))
	return true
}

// Rank is the priority of an operand in promotion.
type Rank uint8

// An operand with dimensions outweighs a zero-dimensional one, and that outweighs a plain number, of the same category.
const (
	Dimensioned Rank = iota
	ZeroDim
	Number
)

// Result gathers operands and returns the dtype they promote to, by PyTorch's three rules:
// https://pytorch.org/docs/stable/tensor_attributes.html. The zero value is empty.
type Result struct {
	joined [3]DType
	seen   [3]bool
}

// Add joins an operand of dtype d. Numbers that float or are complex count as the default dtype or its complex; integers beyond int64
// make uint64 of the other integers, which wrap around.
func (r *Result) Add(d DType, rank Rank) {
	if rank == Number {
		if d.IsFloatingPoint() {
			d = Default()
		} else if d.IsComplex() {
			d = DefaultComplex()
		}
	}
	switch joined := r.joined[rank]; {
	case !r.seen[rank]:
	case rank == Number && (d == Uint64 && joined.Category() < Floating || joined == Uint64 && d.Category() < Floating):
		d = Uint64
	default:
		d = Promote(joined, d)
	}
	r.joined[rank], r.seen[rank] = d, true
}

// DType returns the promoted dtype, None when nothing was added.
func (r *Result) DType() DType {
	d := None
	for rank, seen := range r.seen {
		if seen {
			d = selectHigher(d, r.joined[rank])
		}
	}
	return d
}

// selectHigher returns a, unless b, of lower rank, has a higher category. A complex b then takes the precision of a floating-point a.
func selectHigher(a, b DType) DType {
	switch {
	case a == None:
		return b
	case b.Category() <= a.Category():
		return a
	case a.IsFloat8() || b.IsFloat8():
		return Unpromoted
	case a.IsFloatingPoint():
		return a.ToComplex()
	}
	return b
}
