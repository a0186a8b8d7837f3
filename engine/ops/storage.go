package ops

import (
	"cmp"
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/launch"
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
	if data == nil {
		if n, err := shape.Numel("from_data", size); err != nil || n > 0 {
			return nil, cmp.Or(err, status.Valuef("from_data: data is NULL but shape %v has %d elements", size, n))
		}
	}
	s := within("from_data")
	defer s.Close()
	t := s.Keep(tensor.Empty(s.Op, size, d, device.Host))
	s.Do(func() error {
		return launch.On(t).Write(s.Op, launch.Writing{To: t, Set: func(to []byte) { copy(to, unsafe.Slice((*byte)(data), len(to))) }})
	})
	return s.Give(t)
}

// FromBlob shares another owner's bytes.
func FromBlob(data unsafe.Pointer, nbytes int64, d dtype.DType, size, stride []int64, deleter, context unsafe.Pointer, readOnly bool) (*tensor.Tensor, error) {
	switch {
	case d == dtype.None:
		return nil, status.Valuef("from_blob: a dtype is required")
	case nbytes < 0 || data == nil && nbytes > 0:
		return nil, status.Valuef("from_blob: %d bytes at %v", nbytes, data)
	case uintptr(data)%uintptr(d.Alignment()) != 0:
		return nil, status.Valuef("from_blob: the address %v is not aligned to %d bytes, as elements of %v must be; copy the data instead", data, d.Alignment(), d)
	}
	if _, err := shape.Numel("from_blob", size); err != nil {
		return nil, err
	}
	if stride == nil {
		stride = shape.ContiguousStrides(size)
	}
	return tensor.FromExternal("from_blob", data, nbytes, d, size, stride, storage.External{Deleter: deleter, Context: context}, readOnly)
}

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

// Lend is what an array of another library needs of a tensor: a tensor that holds the memory, its address, and whether it
// must not be written. The storage stays in its place from now on.
func Lend(self *tensor.Tensor) (held *tensor.Tensor, data unsafe.Pointer, readOnly bool, err error) {
	if !launch.Known(self) {
		return nil, nil, false, status.Runtimef("lend: a meta tensor has no memory that another library could use")
	}
	self.Storage().Fix()
	data, err = DataPtr(self)
	return self.Alias(), data, self.Storage().ReadOnly(), err
}
