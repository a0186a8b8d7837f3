// Package ops contains the operators that launch kernels, one file for each family. An operator checks its arguments, infers the
// result's dtype, shape and strides, and launches the kernel (engine/backend). Files do not depend on each other in cycles.
//
// Ownership: a returned tensor is a new reference, which the caller releases; a function releases its own temporaries. An operator
// with an out parameter allocates the result if out is nil, and otherwise writes to out and returns it; passing an input as
// out is the in-place variant.
package ops

import (
	"math"

	"github.com/libtensor/libtensor/engine/tensor"
)

// Int is an optional integer; NoInt is its absence.
type Int int64

// NoInt is TENSOR_NONE of the C interface.
const NoInt Int = math.MinInt64

// Or returns the value, or def in its absence.
func (i Int) Or(def int64) int64 {
	if i == NoInt {
		return def
	}
	return int64(i)
}

// IsNone reports whether the integer is absent.
func (i Int) IsNone() bool { return i == NoInt }

// List returns the integer as the only item of a list, or nil if it is absent.
func (i Int) List() []int64 {
	if i.IsNone() {
		return nil
	}
	return []int64{int64(i)}
}

// Bool is an optional bool.
type Bool int8

// The values of Bool.
const (
	NoBool Bool = -1
	False  Bool = 0
	True   Bool = 1
)

// IndexKind is the type of an index item. The values are those of tensor_index_kind in tensor.h.
type IndexKind int32

// The kinds of index items.
const (
	IndexInt IndexKind = iota
	IndexSlice
	IndexNewAxis
	IndexEllipsis
	IndexTensor
	IndexBool
)

// IndexItem is one item of an index, as in x[item, item].
type IndexItem struct {
	Kind              IndexKind
	Tensor            *tensor.Tensor
	Start, Stop, Step int64 // math.MinInt64 where absent
}
