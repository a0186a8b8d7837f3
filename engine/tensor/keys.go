package tensor

import "math/bits"

// Keys name what a tensor is beside plain dense values: each bit is a layer of the operators' façade (engine/aten), which a
// call on the tensor enters before it reaches the operator itself. Plain tensors have none.
type Keys uint8

// The keys, in the order in which their layers are entered.
const (
	Gradient Keys = 1 << iota
	Named
	SparseCOO
	SparseCompressed
	Quantized
	Extension1 // kinds that are not the library's own
	Extension2

	KeyCount = iota // the number of keys
)

// First is the key whose layer is entered first, alone.
func (k Keys) First() Keys { return k & -k }

// Number is the place of a single key among all of them.
func (k Keys) Number() int { return bits.TrailingZeros8(uint8(k)) }

// Keys of the tensor.
func (t *Tensor) Keys() Keys { return t.kind.keys }

// SetKeys makes the tensor one of other kinds, for the layers of these to keep state with it.
func (t *Tensor) SetKeys(k Keys, state any) { t.kind.keys, t.kind.state = k, state }

// State is what the layers of the tensor's keys keep with it.
func (t *Tensor) State() any { return t.kind.state }

// kind is what a tensor is beside its storage, dtype and geometry. A recycled tensor gets a new one in one assignment.
type kind struct {
	layout Layout
	number bool // stands for a plain number in promotion
	keys   Keys
	state  any
}
