package ops

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// pinnedLike makes a tensor of self's geometry in pinned memory of the host.
func pinnedLike(op string, self *tensor.Tensor, d dtype.DType, f shape.MemoryFormat) (_ *tensor.Tensor, err error) {
	s := newScope(op)
	defer s.Close(&err)
	like := s.Track(emptyLike(op, self, d, device.Device{Type: device.Meta, Index: -1}, f))
	bytes, err := storage.NewPinned(op, like.Storage().Nbytes())
	if err != nil {
		return nil, err
	}
	defer bytes.Release()
	return tensor.New(op, bytes, d, like.Sizes(), like.Strides(), 0)
}

// PinMemory copies self to pinned memory; it returns self if self is pinned already.
func PinMemory(self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	if self.Device().Type != device.CPU {
		return nil, status.Runtimef("pin_memory: only dense CPU tensors can be pinned, not one on %v", self.Device())
	}
	if self.Storage().Pinned() {
		return self.Alias(), nil
	}
	s := newScope("pin_memory")
	defer s.Close(&err)
	out := s.Track(pinnedLike(s.Op, self, self.DType(), shape.Preserve))
	s.copyTensor(out, self)
	return s.Return(out)
}

// IsPinned reports whether the memory of self is pinned.
func IsPinned(self *tensor.Tensor) (bool, error) { return self.Storage().Pinned(), nil }

// StoragePinMemory copies a storage to pinned memory.
func StoragePinMemory(self *storage.Storage) (_ *storage.Storage, err error) {
	if self.Device().Type != device.CPU {
		return nil, status.Runtimef("pin_memory: only memory of the CPU can be pinned, not that of %v", self.Device())
	}
	if self.Pinned() {
		return self.Retain(), nil
	}
	s := newScope("pin_memory")
	defer s.Close(&err)
	size := []int64{self.Nbytes()}
	from := s.Track(tensor.New(s.Op, self, dtype.Uint8, size, shape.ContiguousStrides(size), 0))
	out := s.Track(pinnedLike(s.Op, from, dtype.Uint8, shape.Preserve))
	s.copyTensor(out, from)
	return out.Storage().Retain(), nil
}

// StorageIsPinned reports whether the memory is pinned.
func StorageIsPinned(self *storage.Storage) (bool, error) { return self.Pinned(), nil }

// copyAsync copies self without waiting for the device: a copy to the host uses pinned memory.
func copyAsync(op string, self *tensor.Tensor, d dtype.DType, dev device.Device, f shape.MemoryFormat) (_ *tensor.Tensor, err error) {
	s := newScope(op)
	defer s.Close(&err)
	var out *tensor.Tensor
	if dev.Type == device.CPU && self.Device().Type != device.CPU && backend.Known(self) {
		out = s.Track(pinnedLike(op, self, d, f))
	} else {
		out = s.Track(emptyLike(op, self, d, dev, f))
	}
	s.Check(backend.On(out, self).Copy(op, backend.Copying{To: out, From: self, Async: true}))
	return s.Return(out)
}
