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

// FromFile maps a file as a tensor of one dimension.
func FromFile(filename string, share Bool, size Int, d dtype.DType, l tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	if d == dtype.None {
		d = dtype.Default()
	}
	dev, err := device.Resolve("from_file", dev)
	if err != nil {
		return nil, err
	}
	switch n := size.Or(0); {
	case dev != device.Host:
		return nil, status.Runtimef("from_file: a file can be mapped on the cpu, not on %v", dev)
	case l != tensor.NoLayout && l != tensor.Strided:
		return nil, status.Runtimef("from_file: only the strided layout is supported")
	case n < 0 || n > d.Elements(1<<62):
		return nil, status.Runtimef("from_file: cannot map %d elements of %v of file <%s>", n, d, filename)
	default:
		s, err := storage.FromFile("from_file", filename, share == True, n*d.Size())
		if err != nil {
			return nil, err
		}
		defer s.Release()
		return tensor.New("from_file", s, d, []int64{n}, shape.ContiguousStrides([]int64{n}), 0)
	}
}

// StorageFromFile maps the first bytes of a file.
func StorageFromFile(filename string, share bool, nbytes int64) (*storage.Storage, error) {
	return storage.FromFile("storage_from_file", filename, share, nbytes)
}

// StorageFilename returns the file that changes go to.
func StorageFilename(self *storage.Storage) (string, error) { return self.Filename(), nil }

// StorageShareMemory moves a storage into memory that other processes can map.
func StorageShareMemory(self *storage.Storage) error { return self.Share("share_memory_") }

// StorageIsShared reports whether other processes can map the bytes.
func StorageIsShared(self *storage.Storage) (bool, error) { return self.Shared(), nil }

// StorageDescriptor returns the descriptor with which another process maps a shared storage.
func StorageDescriptor(self *storage.Storage) (int64, error) {
	return self.Descriptor("storage_descriptor")
}

// StorageFromDescriptor maps the storage that another process shared.
func StorageFromDescriptor(descriptor, nbytes int64) (*storage.Storage, error) {
	return storage.FromDescriptor("storage_from_descriptor", descriptor, nbytes)
}

// ShareMemory moves the storage of self into memory that other processes can map.
func ShareMemory(self *tensor.Tensor) error { return self.Storage().Share("share_memory_") }

// IsShared reports whether other processes can map the bytes of self. Meta tensors, which have none, count as shared.
func IsShared(self *tensor.Tensor) (bool, error) {
	return !backend.Known(self) || self.Storage().Shared(), nil
}
