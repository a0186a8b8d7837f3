package ops

import (
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/format"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// StorageNew creates a zeroed storage.
func StorageNew(nbytes int64, dev device.Device) (*storage.Storage, error) {
	dev, err := device.Resolve("storage_new", dev)
	if err != nil {
		return nil, err
	}
	return storage.New("storage_new", nbytes, dev, true)
}

// StorageNbytes returns the size in bytes.
func StorageNbytes(self *storage.Storage) (int64, error) { return self.Nbytes(), nil }

// StorageDataPtr returns the address of the first byte.
func StorageDataPtr(self *storage.Storage) (uintptr, error) { return uintptr(self.Data()), nil }

// StorageId is the same for all handles of a storage, and another one for every other storage.
func StorageId(self *storage.Storage) (int64, error) {
	return int64(uintptr(unsafe.Pointer(self))), nil
}

// StorageResize changes the size in bytes.
func StorageResize(self *storage.Storage, nbytes int64) error {
	return bumpVersion(self, self.Resize("storage_resize_", nbytes))
}

// bumpVersion increments the version of a storage that was written to without an error, and returns the error.
func bumpVersion(written *storage.Storage, err error) error {
	if err == nil {
		written.BumpVersion()
	}
	return err
}

// StorageResizable reports whether StorageResize can change the size.
func StorageResizable(self *storage.Storage) (bool, error) { return self.Resizable(), nil }

// StorageDevice reports where the bytes live.
func StorageDevice(self *storage.Storage) (device.Device, error) { return self.Device(), nil }

// StorageUseCount returns the number of references.
func StorageUseCount(self *storage.Storage) (int64, error) { return self.Refs(), nil }

// StorageView returns all of a storage as a tensor of one dimension.
func StorageView(self *storage.Storage, d dtype.DType) (_ *tensor.Tensor, err error) {
	s := newScope("storage_view")
	defer s.Close(&err)
	if d == dtype.None {
		d = dtype.Uint8
	}
	if err := checkAligned(s.Op, self, d); err != nil {
		return nil, err
	}
	return s.Return(s.viewElements(self, d))
}

// StorageSlice shares some of a storage's bytes.
func StorageSlice(self *storage.Storage, start, stop int64) (*storage.Storage, error) {
	return self.Slice("storage_slice", start, stop)
}

// viewElements views all of a storage as elements of d, one after another.
func (s *scope) viewElements(of *storage.Storage, d dtype.DType) *tensor.Tensor {
	return s.Track(tensor.New(s.Op, of, d.Stored(), []int64{d.Elements(of.Nbytes())}, []int64{1}, 0))
}

// viewChangedBytes views the bytes of a storage that an operator writes.
func (s *scope) viewChangedBytes(self *storage.Storage) *tensor.Tensor {
	bytes := s.viewElements(self, dtype.Uint8)
	s.Check(tensoriter.Writable(s.Op, bytes))
	return bytes
}

// StorageClone copies a storage.
func StorageClone(self *storage.Storage) (_ *storage.Storage, err error) {
	s := newScope("storage_clone")
	defer s.Close(&err)
	made := s.copyContiguous(s.viewElements(self, dtype.Uint8), dtype.Uint8)
	return made.Storage().Retain(), nil
}

// StorageFill sets every byte to the low byte of value.
func StorageFill(self *storage.Storage, value int64) (err error) {
	s := newScope("storage_fill_")
	defer s.Close(&err)
	bytes := s.viewChangedBytes(self)
	s.Check(fillWith(bytes, dtype.IntScalar(int64(byte(value)))))
	return bumpVersion(self, nil)
}

// StorageCopy copies the bytes of source.
func StorageCopy(self, source *storage.Storage) (err error) {
	s := newScope("storage_copy_")
	defer s.Close(&err)
	if self.Nbytes() != source.Nbytes() {
		return status.Runtimef("%s: size does not match, self has %d bytes but source has %d", s.Op, self.Nbytes(), source.Nbytes())
	}
	to, from := s.viewChangedBytes(self), s.viewElements(source, dtype.Uint8)
	s.Check(assignTensor(s.Op, to, from))
	return bumpVersion(self, nil)
}

// StorageByteswap reverses the bytes of every element of d; those of complex elements part by part.
func StorageByteswap(self *storage.Storage, d dtype.DType) (err error) {
	s := newScope("storage_byteswap_")
	defer s.Close(&err)
	if d == dtype.None {
		return status.Typef("%s: a dtype is required", s.Op)
	}
	if self.Nbytes()%d.Size() != 0 {
		return status.Runtimef("%s: %d bytes are not a multiple of the %d bytes of an element of %v", s.Op, self.Nbytes(), d.Size(), d)
	}
	bytes, size := s.viewChangedBytes(self), d.Stored().ToReal().Size()
	if !backend.Known(bytes) {
		return bumpVersion(self, nil)
	}
	old, err := backend.On(bytes).Read(s.Op, bytes)
	if err != nil {
		return err
	}
	return bumpVersion(self, backend.On(bytes).Write(s.Op, backend.Writing{To: bytes, Set: func(to []byte) {
		copy(to, old)
		for element := range slices.Chunk(to, int(size)) {
			slices.Reverse(element)
		}
	}}))
}

// StorageToString prints bytes, or elements of d.
func StorageToString(self *storage.Storage, d dtype.DType) (_ string, err error) {
	s := newScope("storage_to_string")
	defer s.Close(&err)
	typed := d != dtype.None
	if !typed {
		d = dtype.Uint8
	} else if err := checkAligned(s.Op, self, d); err != nil {
		return "", err
	}
	all := s.viewElements(self, d)
	var at func(i int64) dtype.Scalar
	if backend.Known(all) {
		at, err = backend.Elements(s.Op, all)
		s.Check(err)
	}
	if typed {
		return format.TypedStorage(d, all.Numel(), self.Device().String(), at), nil
	}
	return format.UntypedStorage(self.Nbytes(), self.Device().String(), at), nil
}
