package ops

import (
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// Internals for tests of the external package, which call operators through the dispatcher.
var (
	CastTo   = rowMajorCopy
	FillWith = fillWith
	Expanded = view.Expand
	Lanes    = splitAround
	Permuted = view.Permute
	Reshaped = reshapeTensor

	Given    = given
	Ramp     = ramp
	Flat     = flat
	OnMeta   = onMeta
	SameBits = sameBits
	CodeOf   = codeOf
	Cycle    = cycle
)

// ReleaseAll releases a list.
func ReleaseAll(list []*tensor.Tensor) {
	for _, t := range list {
		t.Release()
	}
}

// Elements are the elements of a contiguous tensor.
func Elements[T any](t *tensor.Tensor) []T { return elements[T](t) }
