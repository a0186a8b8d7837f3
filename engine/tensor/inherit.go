package tensor

import (
	"slices"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/inherit"
	"github.com/libtensor/libtensor/engine/storage"
)

func init() { inherit.Value(&detaches) }

// Heirs makes the tensors of a forked child from those in the heap of its parent's runtime, which stays readable. Nothing that is made keeps
// a pointer to what the parent's runtime could still change.
type Heirs struct {
	storages map[*storage.Storage]*storage.Storage
}

// NewHeirs returns Heirs that have made nothing yet.
func NewHeirs() *Heirs { return &Heirs{map[*storage.Storage]*storage.Storage{}} }

// InheritHistory returns the history that old becomes in a forked child, or why the tensor with it is lost. The layer of gradients sets it.
var InheritHistory func(h *Heirs, old History) (made History, lost string)

// lost is the state of a tensor that a forked child does not take over: why.
type lost string

// Storage returns the heir of a storage, without a reference of its own for the caller; nil where there is none.
func (h *Heirs) Storage(old *storage.Storage) *storage.Storage {
	if old == nil {
		return nil
	}
	if s, seen := h.storages[old]; seen {
		return s
	}
	s := storage.Inherit(old, h.Storage)
	h.storages[old] = s
	return s
}

// Tensor returns the heir of a tensor. Where there is none it returns a tensor whose every use is an error that says why.
func (h *Heirs) Tensor(old *Tensor) *Tensor {
	s := h.Storage(old.storage)
	if s == nil {
		return h.lose(old, "is on device "+old.device.String())
	}
	if _, _, err := checkGeometry("fork", s, old.dtype, old.sizes, old.strides, old.offset); err != nil {
		return h.lose(old, "was being changed by another thread")
	}
	t := &Tensor{storage: s, offset: old.offset, numel: old.numel, reach: old.reach, device: old.device, dtype: old.dtype, kind: old.kind}
	t.setGeometry(old.sizes, old.strides)
	t.contiguous = old.contiguous
	t.kind.history, t.kind.state = nil, nil
	if old.kind.names != nil {
		t.SetNames(slices.Clone(*old.kind.names))
	}
	switch state := old.kind.state.(type) {
	case nil:
	case *Quantizer:
		q := *state
		t.kind.state = &q
	case *Parts:
		p := &Parts{Coalesced: state.Coalesced, Values: h.Tensor(state.Values)}
		for _, indices := range state.Indices {
			p.Indices = append(p.Indices, h.Tensor(indices))
		}
		if why, is := p.Values.kind.state.(lost); is {
			p.release()
			return h.lose(old, string(why))
		}
		t.kind.state = p
	case lost:
		return h.lose(old, string(state))
	default:
		return h.lose(old, "belongs to a transform")
	}
	if old.kind.history != nil {
		made, why := InheritHistory(h, old.kind.history)
		if why != "" {
			t.leave()
			return h.lose(old, why)
		}
		t.kind.history = made
		if made == nil {
			t.kind.keys &^= Gradient
		}
	}
	s.Retain()
	return t
}

// lose returns a tensor of the sizes of old that is busy for ever.
func (h *Heirs) lose(old *Tensor, why string) *Tensor {
	none := &storage.Storage{}
	t := &Tensor{storage: none.Retain(), device: device.Device{Type: device.Meta, Index: -1}, dtype: old.dtype}
	t.setGeometry(old.sizes, nil)
	t.kind.state = lost(why)
	t.changing.Store(1)
	return t
}
