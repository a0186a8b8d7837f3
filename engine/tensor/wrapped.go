package tensor

import (
	"sync/atomic"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
)

// Level is a transform that is under way: a function that is called for many examples at once.
type Level struct {
	Number     uint32 // larger than those of the levels around it
	Outer      *Level // the one that this began in; nil for none
	Size       int64  // how many examples there are
	Randomness string // what becomes of random operators: error, same or different
	over       atomic.Bool
}

// End tells that the transform has come to its end.
func (l *Level) End() { l.over.Store(true) }

// Over tells whether it has.
func (l *Level) Over() bool { return l.over.Load() }

// Wrapped is what a tensor of a transform keeps, which stands for one example: all of them. Its value can be a tensor of a transform around.
type Wrapped struct {
	Value *Tensor // the examples, along its first dimension
	Level *Level
}

// Wrapped is what t keeps as the tensor of a transform; nil of any other.
func (t *Tensor) Wrapped() *Wrapped {
	if t == nil || t.kind.state == nil {
		return nil
	}
	w, _ := t.kind.state.(*Wrapped)
	return w
}

// MappedBy tells whether the transform of a number maps over t, at whatever level of the stack.
func (t *Tensor) MappedBy(number int64) bool {
	for w := t.Wrapped(); w != nil; w = w.Value.Wrapped() {
		if int64(w.Level.Number) == number {
			return true
		}
	}
	return false
}

// Behind is the tensor that has the elements and the history of t: the values of a sparse one, all examples of a transform's.
func (t *Tensor) Behind() *Tensor {
	switch s := t.kind.state.(type) {
	case *Parts:
		return s.Values
	case *Wrapped:
		return s.Value.Behind()
	}
	return t
}

// Wrap makes a tensor that stands for one of the examples along the first dimension of value, of which it has an alias.
func Wrap(op string, value *Tensor, l *Level) (*Tensor, error) {
	if value.Dim() == 0 || value.sizes[0] != l.Size {
		return nil, status.Runtimef("%s: sizes %v have no first dimension of %d examples", op, value.sizes, l.Size)
	}
	switch {
	case value.Parts() != nil, value.Quantizer() != nil:
		return nil, status.NotImplementedf("%s: vmap is not implemented for %s tensors; to_dense() and dequantize() convert", op, value.what())
	case value.Names() != nil:
		return nil, status.NotImplementedf("%s: vmap is not implemented for named tensors; rename(None) gives one without names", op)
	}
	t, err := EmptyStrided(op, value.sizes[1:], value.strides[1:], value.dtype, device.Device{Type: device.Meta, Index: -1})
	if err != nil {
		return nil, err
	}
	t.device = value.device
	t.SetKeys(Transformed, &Wrapped{value.Alias(), l})
	return t, nil
}
