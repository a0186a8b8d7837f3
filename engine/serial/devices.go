package serial

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// recordOf returns bytes from to to of a storage: a slice of its memory, or a copy from a device.
func recordOf(op string, s *storage.Storage, from, to int64) ([]byte, error) {
	if s.Device().Type == device.CPU {
		return s.Bytes()[from:to], nil
	}
	t, err := asBytes(op, s, from, to)
	if err != nil {
		return nil, err
	}
	defer t.Release()
	return backend.On(t).Read(op, t)
}

// RecordOf returns the bytes of a contiguous uint8 tensor of one dimension: its own, or a copy of those of a device.
func RecordOf(op string, t *tensor.Tensor) ([]byte, error) {
	if t.DType() != dtype.Uint8 || t.Dim() != 1 || !t.IsContiguous() || t.IsMeta() {
		return nil, status.Valuef("%s: a record must be a contiguous uint8 tensor of one dimension, not %v of shape %v on %v", op, t.DType(),
			t.Sizes(), t.Device())
	}
	if t.Numel() == 0 { // which may have any offset
		return nil, nil
	}
	return recordOf(op, t.Storage(), t.Offset(), t.Offset()+t.Numel())
}

func asBytes(op string, s *storage.Storage, from, to int64) (*tensor.Tensor, error) {
	return tensor.New(op, s, dtype.Uint8, []int64{to - from}, []int64{1}, from)
}

// copyToDevice copies the bytes of a host storage to a device storage.
func copyToDevice(op string, to, from *storage.Storage) error {
	t, err := asBytes(op, to, 0, to.Nbytes())
	if err != nil {
		return err
	}
	defer t.Release()
	return backend.On(t).Write(op, backend.Writing{To: t, Set: func(bytes []byte) { copy(bytes, from.Bytes()) }})
}
