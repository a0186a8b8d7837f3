package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Resize changes self's shape, growing its storage where the new shape reaches further.
func Resize(self *tensor.Tensor, size []int64, f shape.MemoryFormat) error {
	return resizeTensor("resize_", self, size, f)
}

func resizeTensor(op string, self *tensor.Tensor, size []int64, f shape.MemoryFormat) error {
	if f == shape.Preserve {
		return status.Runtimef("%s: unsupported memory format %v", op, f)
	}
	if slices.Equal(size, self.Sizes()) && (f == shape.NoFormat || self.IsFormat(f)) {
		return nil
	}
	strides, err := shape.FormatStrides(op, size, f)
	if err != nil {
		return err
	}
	same := slices.Equal(size, self.Sizes())
	if err := self.ResizeStrided(op, slices.Clone(size), strides); err != nil {
		return err
	}
	if !same {
		self.BumpVersion()
	}
	return nil
}

// ResizeAs is Resize to the shape of template, and to its format when f is Preserve.
func ResizeAs(self, template *tensor.Tensor, f shape.MemoryFormat) error {
	if f == shape.Preserve {
		f = shape.SuggestFormat(template.Sizes(), template.Strides())
	}
	return resizeTensor("resize_as_", self, template.Sizes(), f)
}

// Set makes self an empty tensor over a new storage.
func Set(self *tensor.Tensor) error {
	s, err := storage.New("set_", 0, self.Device(), false)
	if err != nil {
		return err
	}
	defer s.Release()
	return self.Set("set_", s, self.DType(), []int64{0}, []int64{1}, 0)
}

// SetTensor makes self the view that source is.
func SetTensor(self, source *tensor.Tensor) error {
	if self.DType() != source.DType() {
		return status.Runtimef("set_: could not set tensor of type %v to a tensor of type %v", source.DType(), self.DType())
	}
	return setStorage(self, source.Storage(), source.Sizes(), source.Strides(), source.Offset())
}

// SetTensorGeometry makes self a view of source's storage with the given offset, sizes and strides.
func SetTensorGeometry(self, source *tensor.Tensor, offset int64, size, stride []int64) error {
	if self.DType() != source.DType() {
		return status.Runtimef("set_: could not set tensor of type %v to a tensor of type %v", source.DType(), self.DType())
	}
	return SetStorageGeometry(self, source.Storage(), offset, size, stride)
}

// SetStorage views all of a storage in one dimension.
func SetStorage(self *tensor.Tensor, source *storage.Storage) error {
	return setStorage(self, source, []int64{source.Nbytes() / self.DType().Size()}, []int64{1}, 0)
}

// SetStorageGeometry views a storage with any geometry; no stride means row-major.
func SetStorageGeometry(self *tensor.Tensor, source *storage.Storage, offset int64, size, stride []int64) error {
	if len(stride) == 0 {
		stride = shape.ContiguousStrides(size)
	}
	return setStorage(self, source, size, stride, offset)
}

func setStorage(self *tensor.Tensor, s *storage.Storage, size, stride []int64, offset int64) error {
	if s.Device() != self.Device() {
		return status.Runtimef("set_: attempted to set the storage of a tensor on device %v to a storage on different device %v", self.Device(),
			s.Device())
	}
	if err := checkAligned("set_", s, self.DType()); err != nil {
		return err
	}
	return self.Set("set_", s, self.DType(), size, stride, offset)
}

// checkAligned returns an error for storages that are not aligned for elements of d.
func checkAligned(op string, s *storage.Storage, d dtype.DType) error {
	if uintptr(s.Data())%uintptr(d.Alignment()) != 0 {
		return status.Runtimef("%s: the storage at %v is not aligned to the %d bytes that elements of %v need; clone() it", op, s.Data(),
			d.Alignment(), d)
	}
	return nil
}
