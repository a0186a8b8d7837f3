package cuda

import (
	"reflect"
	"sync/atomic"

	"gorgonia.org/cu"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// hasSeveralStreams is set when the application creates a stream: from then on, several streams may use a block.
var hasSeveralStreams atomic.Bool

// recordStorage records that the stream uses the block of a storage, which may belong to another stream.
func (m *deviceStream) recordStorage(s *storage.Storage) {
	if s = s.Whole(); s.Owned() && s.Data() != nil {
		m.pool.recordUser(cu.DevicePtr(s.Data()), m.defaultStream(), m)
	}
}

// recordStream records that a stream of the application uses a tensor (record_stream).
func recordStream(op string, w backend.Using) error {
	m, err := resolveStream(op, w.Stream)
	if err == nil && m.getDevice() != w.Of.Device() {
		err = status.Runtimef("%s: the stream is on %v, but the tensor is on %v", op, m.getDevice(), w.Of.Device())
	}
	if err == nil {
		m.recordStorage(w.Of.Storage())
	}
	return err
}

// recordingUses wraps a launch so that the blocks of its tensors are first recorded as used by the current streams: a tensor can be freed
// without knowledge of the streams that still use it.
func recordingUses[W any](f func(op string, w W) error) func(op string, w W) error {
	return func(op string, w W) error {
		if hasSeveralStreams.Load() {
			if err := recordTensors(op, w); err != nil {
				return err
			}
		}
		return f(op, w)
	}
}

// recordingUsesOf is recordingUses for launches that return a result.
func recordingUsesOf[W, R any](f func(op string, w W) (R, error)) func(op string, w W) (R, error) {
	return func(op string, w W) (r R, err error) {
		if hasSeveralStreams.Load() {
			if err := recordTensors(op, w); err != nil {
				return r, err
			}
		}
		return f(op, w)
	}
}

func recordTensors(op string, w any) error {
	return visitTensors(reflect.ValueOf(w), func(t *tensor.Tensor) error {
		if t == nil || t.Device().Type != device.CUDA {
			return nil
		}
		return withCurrentStream(op, t.Device(), func(m *deviceStream) error {
			m.recordStorage(t.Storage())
			return nil
		})
	})
}

var tensorType = reflect.TypeFor[*tensor.Tensor]()

// visitTensors calls f with each tensor in the fields of a launch.
func visitTensors(v reflect.Value, f func(*tensor.Tensor) error) error {
	switch {
	case v.Type() == tensorType:
		return f((*tensor.Tensor)(v.UnsafePointer()))
	case v.Kind() == reflect.Struct:
		for _, field := range v.Fields() {
			if err := visitTensors(field, f); err != nil {
				return err
			}
		}
	case v.Kind() == reflect.Array || v.Kind() == reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.Pointer, reflect.Struct, reflect.Array:
			for i := range v.Len() {
				if err := visitTensors(v.Index(i), f); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
