package tensor

import (
	"slices"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/inherit"
	"github.com/libtensor/libtensor/engine/storage"
)

func init() { inherit.Value(&detachCount) }

// Heirs copies tensors and storages from the heap of the parent's runtime into a forked child. The parent's heap stays readable. The copies
// contain no pointers into it; data pointers of storages stay the same.
type Heirs struct {
	storages map[*storage.Storage]*storage.Storage
}

// NewHeirs returns an empty Heirs.
func NewHeirs() *Heirs { return &Heirs{map[*storage.Storage]*storage.Storage{}} }

// InheritAutogradMeta copies the autograd metadata of a tensor, or returns the reason for which a child cannot use the tensor.
// engine/autograd sets it.
var InheritAutogradMeta func(h *Heirs, old AutogradMeta) (made AutogradMeta, lost string)

// lostState is the state of a tensor that a forked child cannot use. Its value is the reason, for the error message.
type lostState string

// Storage returns the copy of a storage of the parent, without adding a reference for the caller. It returns nil if the memory is not
// accessible in the child (CUDA devices).
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

// Tensor returns the copy of a tensor of the parent. If the child cannot use the tensor, every use of the copy returns a
// TENSOR_ERROR_FORKED error with the reason.
func (h *Heirs) Tensor(old *Tensor) *Tensor {
	s := h.Storage(old.storage)
	if s == nil {
		return h.newLost(old, "is on device "+old.device.String()+
			", whose memory a forked child does not inherit; copy it to the CPU before the fork")
	}
	if _, _, err := checkGeometry("fork", s, old.dtype, old.sizes, old.strides, old.offset); err != nil {
		return h.newLost(old, "was being changed by another thread; fork while no other thread writes to it")
	}
	t := &Tensor{storage: s, offset: old.offset, numel: old.numel, reach: old.reach, device: old.device, dtype: old.dtype, kind: old.kind}
	t.setGeometry(old.sizes, old.strides)
	t.contiguous = old.contiguous
	t.kind.autograd, t.kind.state = nil, nil
	if old.kind.names != nil {
		t.SetNames(slices.Clone(*old.kind.names))
	}
	switch state := old.kind.state.(type) {
	case nil:
	case *Quantizer:
		q := *state
		t.kind.state = &q
	case *SparseComponents:
		p := &SparseComponents{Coalesced: state.Coalesced, Values: h.Tensor(state.Values)}
		for _, indices := range state.Indices {
			p.Indices = append(p.Indices, h.Tensor(indices))
		}
		if why, is := p.Values.kind.state.(lostState); is {
			p.release()
			return h.newLost(old, string(why))
		}
		t.kind.state = p
	case lostState:
		return h.newLost(old, string(state))
	default:
		return h.newLost(old, "belongs to a transform, which a forked child does not inherit; fork outside of the transform")
	}
	if old.kind.autograd != nil {
		made, why := InheritAutogradMeta(h, old.kind.autograd)
		if why != "" {
			t.releaseMetadata()
			return h.newLost(old, why)
		}
		t.kind.autograd = made
		if made == nil {
			t.kind.keys &^= Gradient
		}
	}
	s.Retain()
	return t
}

// newLost returns a tensor with the sizes and dtype of old whose uses return an error with the reason: it is permanently marked as being
// changed.
func (h *Heirs) newLost(old *Tensor, why string) *Tensor {
	none := &storage.Storage{}
	t := &Tensor{storage: none.Retain(), device: device.Device{Type: device.Meta, Index: -1}, dtype: old.dtype}
	t.setGeometry(old.sizes, nil)
	t.kind.state = lostState(why)
	t.changing.Store(1)
	return t
}
