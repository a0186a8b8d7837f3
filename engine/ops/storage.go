package ops

import (
	"cmp"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// FromData copies row-major elements into a fresh tensor.
func FromData(data uintptr, size []int64, d dtype.DType) (_ *tensor.Tensor, err error) {
	if d == dtype.None {
		d = dtype.Default()
	}
	if data == 0 {
		if n, err := shape.Numel("from_data", size); err != nil || n > 0 {
			return nil, cmp.Or(err, status.Valuef("from_data: data is NULL but shape %v has %d elements", size, n))
		}
	}
	s := newScope("from_data")
	defer s.Close(&err)
	t := s.Track(tensor.Empty(s.Op, size, d, device.Host))
	s.Check(backend.On(t).Write(s.Op, backend.Writing{To: t, Set: func(to []byte) {
		copy(to, unsafe.Slice((*byte)(toPointer(data, int64(len(to)))), len(to)))
	}}))
	return s.Return(t)
}

// FromBlob shares another owner's bytes.
func FromBlob(data uintptr, nbytes int64, d dtype.DType, size, stride []int64, deleter, context uintptr,
	readOnly bool) (*tensor.Tensor, error) {
	return FromBlobOn(device.Host, data, nbytes, d, size, stride, deleter, context, readOnly)
}

// FromBlobOn is FromBlob for memory of a device.
func FromBlobOn(dev device.Device, data uintptr, nbytes int64, d dtype.DType, size, stride []int64, deleter, context uintptr,
	readOnly bool) (*tensor.Tensor, error) {
	dev, err := device.Resolve("from_blob", dev)
	switch {
	case err != nil:
		return nil, err
	case dev.Type == device.Meta:
		return nil, status.Valuef("from_blob: a meta tensor has no memory; use another device")
	case d == dtype.None:
		return nil, status.Valuef("from_blob: a dtype is required")
	case nbytes < 0:
		return nil, status.Valuef("from_blob: nbytes must not be negative, but got %d", nbytes)
	case data == 0 && nbytes > 0:
		return nil, status.Valuef("from_blob: data is NULL; pass the address of %d bytes", nbytes)
	case data%uintptr(d.Alignment()) != 0:
		return nil, status.Valuef("from_blob: the address %#x is not aligned to %d bytes, as elements of %v must be; copy the data instead", data,
			d.Alignment(), d)
	}
	if _, err := shape.Numel("from_blob", size); err != nil {
		return nil, err
	}
	if stride == nil {
		stride = shape.ContiguousStrides(size)
	}
	return tensor.FromExternal("from_blob", toPointer(data, nbytes), nbytes, d, size, stride,
		storage.External{Deleter: deleter, Context: context}, readOnly, dev)
}

// toPointer converts the address of nbytes of external memory. It returns nil for 0 bytes, for which any address is valid.
func toPointer(address uintptr, nbytes int64) unsafe.Pointer {
	if nbytes == 0 {
		return nil
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// DataPtr returns the address of the first element.
func DataPtr(self *tensor.Tensor) (uintptr, error) {
	if self.Numel() == 0 {
		return 0, nil
	}
	return uintptr(self.Data()), nil
}

// IsReadOnly reports whether the bytes must not be written.
func IsReadOnly(self *tensor.Tensor) (bool, error) { return self.Storage().ReadOnly(), nil }

// UntypedStorage returns the storage of a tensor.
func UntypedStorage(self *tensor.Tensor) (*storage.Storage, error) {
	return self.Storage().Retain(), nil
}

// Lend exports a tensor to another array library: it returns a tensor that owns the memory, the address, and whether the memory is
// read-only. The storage is pinned to its address from now on.
func Lend(self *tensor.Tensor) (held *tensor.Tensor, data uintptr, readOnly bool, err error) {
	if !backend.Known(self) {
		return nil, 0, false, status.Runtimef("export: a meta tensor has no memory to export")
	}
	if h := self.AutogradMeta(); h != nil {
		if call, wanted := h.Describe(); wanted || call != "" {
			return nil, 0, false, status.Runtimef("export: Can't export tensors that require gradient, use tensor.detach()")
		}
	}
	switch lazy := self.Lazy(); {
	case lazy&tensor.Conjugate != 0:
		return nil, 0, false, status.Runtimef("export: Can't export tensors with the conjugate bit set, use tensor.resolve_conj()")
	case lazy != 0:
		return nil, 0, false, status.Runtimef("export: Can't export tensors with the negative bit set, use tensor.resolve_neg()")
	}
	self.Storage().Fix()
	data, err = DataPtr(self)
	return self.Alias(), data, self.Storage().ReadOnly(), err
}
