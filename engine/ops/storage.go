package ops

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/format"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// FromData copies row-major elements into a fresh tensor.
func FromData(data unsafe.Pointer, size []int64, d dtype.DType) (*tensor.Tensor, error) {
	if d == dtype.None {
		d = dtype.Default()
	}
	t, err := tensor.Empty("from_data", size, d, device.Host)
	if err != nil || t.Numel() == 0 {
		return t, err
	}
	if data == nil {
		t.Release()
		return nil, status.Valuef("from_data: data is NULL but shape %v has %d elements", size, t.Numel())
	}
	n := t.Numel() * d.Size()
	copy(unsafe.Slice((*byte)(t.Data()), n), unsafe.Slice((*byte)(data), n))
	return t, nil
}

// FromBlob shares another owner's bytes.
func FromBlob(data unsafe.Pointer, nbytes int64, d dtype.DType, size, stride []int64, deleter, context unsafe.Pointer, readOnly bool) (*tensor.Tensor, error) {
	switch {
	case d == dtype.None:
		return nil, status.Valuef("from_blob: a dtype is required")
	case nbytes < 0 || data == nil && nbytes > 0:
		return nil, status.Valuef("from_blob: %d bytes at %v", nbytes, data)
	case uintptr(data)%uintptr(alignOf(d)) != 0:
		return nil, status.Valuef("from_blob: the address %v is not aligned to %d bytes, as elements of %v must be; copy the data instead", data, alignOf(d), d)
	}
	if _, err := shape.Numel("from_blob", size); err != nil {
		return nil, err
	}
	if stride == nil {
		stride = shape.ContiguousStrides(size)
	}
	// Until the geometry is proved, the bytes stay the caller's: a probe without a deleter checks it.
	probe := storage.FromExternal(data, nbytes, device.Host, nil, readOnly)
	t, err := tensor.New("from_blob", probe, d, size, stride, 0)
	if err != nil {
		return nil, err
	}
	owned := storage.FromExternal(data, nbytes, device.Host, &storage.External{Deleter: deleter, Context: context}, readOnly)
	defer owned.Release()
	return t, t.Set("from_blob", owned, d, size, stride, 0)
}

// alignOf is the alignment of an element: that of its real parts.
func alignOf(d dtype.DType) int64 { return d.ToReal().Size() }

// DataPtr is the address of the first element.
func DataPtr(self *tensor.Tensor) (unsafe.Pointer, error) {
	if self.Numel() == 0 {
		return nil, nil
	}
	return self.Data(), nil
}

// IsReadOnly tells whether the bytes must not be written.
func IsReadOnly(self *tensor.Tensor) (bool, error) { return self.Storage().ReadOnly(), nil }

// UntypedStorage is the storage of a tensor.
func UntypedStorage(self *tensor.Tensor) (*storage.Storage, error) {
	return self.Storage().Retain(), nil
}

// StorageNew makes a zeroed storage.
func StorageNew(nbytes int64, dev device.Device) (*storage.Storage, error) {
	dev, err := device.Resolve("storage_new", dev)
	if err != nil {
		return nil, err
	}
	return storage.New("storage_new", nbytes, dev, true)
}

// StorageNbytes is the size in bytes.
func StorageNbytes(self *storage.Storage) (int64, error) { return self.Nbytes(), nil }

// StorageDataPtr is the address of the first byte.
func StorageDataPtr(self *storage.Storage) (unsafe.Pointer, error) { return self.Data(), nil }

// StorageResize changes the size in bytes.
func StorageResize(self *storage.Storage, nbytes int64) error {
	return self.Resize("storage_resize_", nbytes)
}

// StorageFix makes the bytes stay where they are.
func StorageFix(self *storage.Storage) error {
	self.Fix()
	return nil
}

// StorageDevice tells where the bytes live.
func StorageDevice(self *storage.Storage) (device.Device, error) { return self.Device(), nil }

// StorageUseCount is the number of references.
func StorageUseCount(self *storage.Storage) (int64, error) { return self.Refs(), nil }

// StorageToString prints bytes, or elements of d.
func StorageToString(self *storage.Storage, d dtype.DType) (string, error) {
	dev := self.Device().String()
	if d == dtype.None {
		return format.UntypedStorage(self.Bytes(), self.Nbytes(), dev), nil
	}
	return format.TypedStorage(d, self.Nbytes()/d.Size(), dev, func(i int64) dtype.Scalar {
		return tensor.Get(unsafe.Add(self.Data(), i*d.Size()), d)
	}), nil
}

// MemoryStats reads the account of storages' bytes.
func MemoryStats() (inUse, peak, cached, blocks int64, err error) {
	s := storage.MemoryStats()
	return s.InUse, s.Peak, s.Cached, s.Blocks, nil
}

// ResetPeakMemoryStats sets the peak to the bytes in use.
func ResetPeakMemoryStats() error {
	storage.ResetPeak()
	return nil
}

// EmptyCache gives cached bytes back to the system.
func EmptyCache() error {
	storage.EmptyCache()
	return nil
}

// SetMemoryLimit bounds the bytes in use.
func SetMemoryLimit(nbytes int64) error {
	if nbytes < 0 {
		return status.Valuef("set_memory_limit: %d bytes; expected 0 for no limit, or more", nbytes)
	}
	storage.SetLimit(nbytes)
	return nil
}
