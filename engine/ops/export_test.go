package ops

import "github.com/libtensor/libtensor/engine/tensor"

// What the tests outside of the package, which run over the façade, need of it.
var (
	CastTo     = castTo
	FillWith   = fillWith
	Expanded   = expanded
	Lanes      = lanes
	Permuted   = permuted
	Power      = power
	ReleaseAll = releaseAll
	Reshaped   = reshaped

	Given    = given
	Ramp     = ramp
	Flat     = flat
	OnMeta   = onMeta
	SameBits = sameBits
	CodeOf   = codeOf
	Cycle    = cycle
)

// Elements are the elements of a contiguous tensor.
func Elements[T any](t *tensor.Tensor) []T { return elements[T](t) }
