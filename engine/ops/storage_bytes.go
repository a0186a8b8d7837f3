package ops

import (
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/format"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

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

// StorageId is the same for all handles of a storage, and another one for every other storage.
func StorageId(self *storage.Storage) (int64, error) {
	return int64(uintptr(unsafe.Pointer(self))), nil
}

// StorageResize changes the size in bytes.
func StorageResize(self *storage.Storage, nbytes int64) error {
	return self.Resize("storage_resize_", nbytes)
}

// StorageResizable tells whether StorageResize can change the size.
func StorageResizable(self *storage.Storage) (bool, error) { return self.Resizable(), nil }

// StorageDevice tells where the bytes live.
func StorageDevice(self *storage.Storage) (device.Device, error) { return self.Device(), nil }

// StorageUseCount is the number of references.
func StorageUseCount(self *storage.Storage) (int64, error) { return self.Refs(), nil }

// StorageView is all of a storage as a tensor of one dimension.
func StorageView(self *storage.Storage, d dtype.DType) (*tensor.Tensor, error) {
	if d == dtype.None {
		d = dtype.Uint8
	}
	d = d.Stored()
	if err := aligned("storage_view", self, d); err != nil {
		return nil, err
	}
	return tensor.New("storage_view", self, d, []int64{d.Elements(self.Nbytes())}, []int64{1}, 0)
}

// StorageSlice shares some of a storage's bytes.
func StorageSlice(self *storage.Storage, start, stop int64) (*storage.Storage, error) {
	return self.Slice("storage_slice", start, stop)
}

// StorageClone copies a storage.
func StorageClone(self *storage.Storage) (*storage.Storage, error) {
	made, err := storage.New("storage_clone", self.Nbytes(), self.Device(), false)
	if err != nil {
		return nil, err
	}
	copy(made.Bytes(), self.Bytes())
	return made, nil
}

// StorageFill sets every byte to the low byte of value.
func StorageFill(self *storage.Storage, value int64) error {
	if err := changeable("storage_fill_", self); err != nil {
		return err
	}
	bytes := self.Bytes()
	if len(bytes) > 0 {
		bytes[0] = byte(value)
	}
	for done := 1; done < len(bytes); done *= 2 {
		copy(bytes[done:], bytes[:done])
	}
	return nil
}

// StorageCopy copies the bytes of source.
func StorageCopy(self, source *storage.Storage) error {
	switch {
	case self.Nbytes() != source.Nbytes():
		return status.Runtimef("storage_copy_: size does not match, self has %d bytes but source has %d", self.Nbytes(), source.Nbytes())
	case self.Device().Type == device.Meta:
		return nil
	case source.Device().Type == device.Meta:
		return status.NotImplementedf("storage_copy_: cannot copy out of a meta storage, which has no bytes")
	}
	if err := changeable("storage_copy_", self); err != nil {
		return err
	}
	copy(self.Bytes(), source.Bytes())
	return nil
}

// StorageByteswap reverses the bytes of every element of d; those of complex elements part by part.
func StorageByteswap(self *storage.Storage, d dtype.DType) error {
	if d == dtype.None {
		return status.Typef("storage_byteswap_: a dtype is required")
	}
	if self.Nbytes()%d.Size() != 0 {
		return status.Runtimef("storage_byteswap_: %d bytes are not a multiple of the %d bytes of an element of %v", self.Nbytes(), d.Size(), d)
	}
	if err := changeable("storage_byteswap_", self); err != nil {
		return err
	}
	size := d.Stored().ToReal().Size()
	for element := range slices.Chunk(self.Bytes(), int(size)) {
		slices.Reverse(element)
	}
	return nil
}

func changeable(op string, s *storage.Storage) error {
	if s.ReadOnly() {
		return status.Runtimef("%s: the storage is read-only: it belongs to another owner who forbids writing", op)
	}
	return nil
}

// StorageToString prints bytes, or elements of d.
func StorageToString(self *storage.Storage, d dtype.DType) (string, error) {
	dev := self.Device().String()
	if d == dtype.None {
		return format.UntypedStorage(self.Bytes(), self.Nbytes(), dev), nil
	}
	if err := aligned("storage_to_string", self, d); err != nil {
		return "", err
	}
	return format.TypedStorage(d, d.Elements(self.Nbytes()), dev, func(i int64) dtype.Scalar {
		return tensor.Get(unsafe.Add(self.Data(), i*d.Size()), d.Stored())
	}), nil
}
