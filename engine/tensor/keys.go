package tensor

import (
	"math/bits"
	"sync/atomic"
)

// DispatchKeys describe a tensor other than a plain dense one: each bit is a dispatch key (engine/dispatch), and a call on the tensor
// passes through the code for the key before it reaches the kernel. Plain tensors have none.
type DispatchKeys uint16

// The keys, in the order in which the dispatcher handles them. Wrapped tensors come first, whatever tensors they wrap. Operators on sparse
// tensors call operators on their dense parts, which are part of the autograd graph.
const (
	Transformed DispatchKeys = 1 << iota
	Autocast                 // of calls, not of tensors: operators whose arguments are converted to other dtypes
	SparseCOO                // in the order of layouts
	SparseCSR
	SparseCSC
	SparseBSR
	SparseBSC
	Named // before gradients, so that the autograd graph does not contain names
	Gradient
	Conjugate // after gradients, as views are
	Negative
	Quantized
	Extension1 // kinds that are not the library's own
	Extension2

	KeyCount = iota // the number of keys
)

// Sparse are the keys of the sparse layouts.
const Sparse = SparseCOO | SparseCSR | SparseCSC | SparseBSR | SparseBSC

// Lazy are the keys of tensors with lazy conjugation or negation.
const Lazy = Conjugate | Negative

// First returns the key whose layer is entered first, alone.
func (k DispatchKeys) First() DispatchKeys { return k & -k }

// Number returns the place of a single key among all of them.
func (k DispatchKeys) Number() int { return bits.TrailingZeros16(uint16(k)) }

// Keys of the tensor.
func (t *Tensor) Keys() DispatchKeys { return t.kind.keys }

// SetKeys makes the tensor one of other kinds, for the layers of these to keep state with it.
func (t *Tensor) SetKeys(k DispatchKeys, state any) { t.kind.keys, t.kind.state = k, state }

// Lazy returns the keys among Conjugate and Negative that the tensor has.
func (t *Tensor) Lazy() DispatchKeys { return t.kind.keys & Lazy }

// SetLazy makes t read its memory by the keys in lazy alone.
func (t *Tensor) SetLazy(lazy DispatchKeys) { t.kind.keys = t.kind.keys&^Lazy | lazy }

// WithLazy returns an alias that reads its memory by the keys in lazy alone.
func (t *Tensor) WithLazy(lazy DispatchKeys) *Tensor {
	a := t.Alias()
	a.SetLazy(lazy)
	return a
}

// CountLike makes t count in promotion as other does.
func (t *Tensor) CountLike(other *Tensor) { t.kind.zeroDim = other.kind.zeroDim }

// AutogradMeta is the autograd metadata of a tensor, shared by its aliases and reference-counted.
type AutogradMeta interface {
	Retain()
	Release()
	Describe() (call string, wanted bool) // the operation that created the tensor, "" for none, and whether it requires grad
	Moved(t *Tensor, written bool)        // t has another storage or geometry, which counts as a write or not
}

// Node is an operation on the autograd graph. Autograd metadata, later operations and callers refer to it.
type Node interface {
	Release()     // releases a reference
	Name() string // of the call
}

// AutogradMeta returns the autograd metadata of the tensor, or nil. For a sparse tensor it is that of its values, and for a wrapped one
// that of all batch elements.
func (t *Tensor) AutogradMeta() AutogradMeta {
	if t.kind.state == nil {
		return t.kind.autograd
	}
	return t.Behind().kind.autograd
}

// SetAutogradMeta replaces the autograd metadata of the tensor, and takes ownership of the reference. With nil, the tensor has neither
// metadata nor the dispatch key.
func (t *Tensor) SetAutogradMeta(h AutogradMeta) {
	if b := t.Behind(); b != t {
		b.SetAutogradMeta(h)
		return
	}
	old := t.kind.autograd
	t.kind.autograd = h
	if t.kind.keys &^= Gradient; h != nil {
		t.kind.keys |= Gradient
	}
	if old != nil {
		old.Release()
	}
}

// WantGradient makes a tensor a leaf that requires grad. Package autograd sets it.
var WantGradient func(t *Tensor)

// HideLeaf hides a leaf, which only a nested derivative uses, from traversals of the graph. Package autograd sets it.
var HideLeaf func(t *Tensor)

// GradientWanted reports whether the tensor requires grad.
func (t *Tensor) GradientWanted() bool {
	h := t.AutogradMeta()
	if h == nil {
		return false
	}
	call, wanted := h.Describe()
	return wanted || call != ""
}

// SlopeWanted reports whether the tensor or one of its tangents requires grad.
func (t *Tensor) SlopeWanted() bool {
	w := t.Wrapped()
	if w == nil {
		return t.GradientWanted()
	}
	return w.Value.SlopeWanted() || w.Tangent != nil && w.Tangent.SlopeWanted()
}

// SetDetached marks a result of detach(): it is not a view, and it and its views have different autograd metadata from other tensors over
// its memory.
func (t *Tensor) SetDetached() { t.kind.detached, t.kind.viewing = detachCount.Add(1), false }

// detachCount is the number of calls of detach().
var detachCount atomic.Uint64

// Detached returns the number of the detach() that returned the tensor or its base, or 0 for none.
func (t *Tensor) Detached() uint64 { return t.kind.detached }

// Viewing reports whether the tensor was made as a view of another one.
func (t *Tensor) Viewing() bool { return t.kind.viewing }

// CountApart sets a separate version counter for the tensor and its future views, which other tensors over the storage do not share.
func (t *Tensor) CountApart() { t.kind.writes = new(atomic.Int64) }

// Version returns the number of writes by operators to the tensor and to tensors that share its memory.
func (t *Tensor) Version() int64 {
	if w := t.kind.writes; w != nil {
		return t.storage.Version() + w.Load()
	}
	return t.storage.Version()
}

// BumpVersion counts a write to the tensor.
func (t *Tensor) BumpVersion() {
	if w := t.kind.writes; w != nil {
		w.Add(1)
		return
	}
	t.storage.BumpVersion()
}

// Plain returns an alias without autograd metadata and names.
func (t *Tensor) Plain() *Tensor {
	a := t.Alias()
	a.SetAutogradMeta(nil)
	a.SetNames(nil)
	return a
}

// State returns the data of the tensor's dispatch keys.
func (t *Tensor) State() any { return t.kind.state }

// retainAll adds references to the metadata for an alias of the tensor.
func (k *metadata) retainAll() {
	if k.autograd != nil {
		k.autograd.Retain()
	}
	switch s := k.state.(type) {
	case *SparseComponents:
		k.state = s.alias()
	case *Wrapped:
		k.state = s.alias()
	}
}

// releaseMetadata releases the metadata of a tensor that is being released.
func (t *Tensor) releaseMetadata() {
	if t.Components() != nil {
		t.releaseComponents()
	}
	if w := t.Wrapped(); w != nil {
		t.kind.state = nil
		w.Value.Recycle()
		if w.Tangent != nil {
			w.Tangent.Recycle()
		}
	}
	if t.kind.autograd != nil {
		t.SetAutogradMeta(nil)
	}
}

// metadata holds the data of a tensor other than its storage, dtype and geometry. A recycled tensor gets new metadata in one assignment.
type metadata struct {
	layout   Layout
	detached uint64        // the number of the detach() that returned it or its base
	viewing  bool          // it was made as a view of another tensor
	writes   *atomic.Int64 // counts writes to the tensor and its views; nil if the storage does
	wrapped  bool          // a wrapped number: represents a plain number in promotion
	zeroDim  bool          // it counts in promotion as a tensor without dimensions, whatever it has
	fixed    bool          // an operator's function created it from a plain scalar, and it was not passed as a tensor
	keys     DispatchKeys
	state    any
	autograd AutogradMeta
	names    *[]string // of the dimensions; nil if none is named
}
