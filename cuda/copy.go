package cuda

import (
	"math/bits"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/libtensor/libtensor/cuda/driver"
	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

func devicePtr(t *tensor.Tensor) cu.DevicePtr { return cu.DevicePtr(t.Data()) }

func byteSize(t *tensor.Tensor) int64 { return t.Numel() * t.DType().Size() }

func isHost(t *tensor.Tensor) bool { return t.Device().Type == device.CPU }

// copyTensor copies a tensor to another one, on a device, between devices, or between a device and the host. Between memories, contiguous
// tensors of the source's dtype are transferred; strides and dtypes are converted before or afterwards.
func copyTensor(op string, w backend.Copying) (err error) {
	if !backend.Known(w.From) {
		return status.NotImplementedf("%s: cannot copy out of meta tensor; no data!", op)
	}
	if w.To.Numel() == 0 {
		return nil
	}
	if w.To.Device() == w.From.Device() {
		return withCurrentStream(op, w.To.Device(), func(m *deviceStream) error { return m.copyOnDevice(op, w) })
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	from := backend.RowMajor(&s, w.From, w.From.DType())
	if w.To.IsContiguous() && w.To.DType() == from.DType() && w.To.Numel() == from.Numel() {
		return transferBytes(op, w.To, from, w.Async)
	}
	there := s.Track(tensor.Empty(op, from.Sizes(), from.DType(), w.To.Device()))
	s.Check(transferBytes(op, there, from, false))
	s.Check(backend.Copy(op, w.To, there))
	return nil
}

// transferBytes copies the bytes of a contiguous tensor to another of the same dtype in another memory. The host waits for the copy, unless
// it is asynchronous and the host's memory is pinned. Other memory of the host has been read when the call returns.
func transferBytes(op string, to, from *tensor.Tensor, async bool) error {
	switch {
	case isHost(from):
		return withCurrentStream(op, to.Device(), func(m *deviceStream) error {
			if !from.Storage().Pinned() {
				return m.uploadBytes(op, devicePtr(to), byteSize(from), from.Data())
			}
			if err := m.enqueueUpload(op, devicePtr(to), byteSize(from), from.Data()); err != nil {
				return err
			}
			return m.finishHostCopy(op, from, async)
		})
	case isHost(to):
		pinned := to.Storage().Pinned()
		return withCurrentStream(op, from.Device(), func(m *deviceStream) error {
			if err := cu.MemcpyDtoHAsync(to.Data(), devicePtr(from), byteSize(from), m.stream); err != nil {
				return makeDriverError(op, "cuMemcpyDtoHAsync", err)
			}
			return m.finishHostCopy(op, to, pinned && async)
		})
	}
	return copyBetweenDevices(op, to, from)
}

// finishHostCopy completes a copy from or to host memory: it waits for the stream, or, if later is set, records that the stream uses the
// memory, which is pinned.
func (m *deviceStream) finishHostCopy(op string, t *tensor.Tensor, later bool) error {
	if !later {
		return m.synchronizeStream(op)
	}
	pinnedMemory.recordUser(t.Storage().Whole().Data(), m)
	return nil
}

// maxStaged is the largest number of bytes that are copied to a device through pinned memory, without waiting for the stream.
const maxStaged = 1 << 20

// uploadBytes copies n bytes of pageable host memory to the device. The driver may read such memory at any time until the copy has
// completed: the call copies few bytes to pinned memory, which the stream then reads, and waits for the copy of others.
func (m *deviceStream) uploadBytes(op string, to cu.DevicePtr, n int64, from unsafe.Pointer) error {
	if n > maxStaged {
		if err := m.enqueueUpload(op, to, n, from); err != nil {
			return err
		}
		return m.synchronizeStream(op)
	}
	staged, err := pinnedMemory.Pin(op, 1<<bits.Len64(uint64(n-1))) // few sizes, so that blocks are reused
	if err != nil {
		return err
	}
	defer pinnedMemory.Unpin(staged)
	copy(unsafe.Slice((*byte)(staged), n), unsafe.Slice((*byte)(from), n))
	if err := m.enqueueUpload(op, to, n, staged); err != nil {
		return err
	}
	pinnedMemory.recordUser(staged, m)
	return nil
}

// enqueueUpload enqueues a copy of n bytes of host memory to the device.
func (m *deviceStream) enqueueUpload(op string, to cu.DevicePtr, n int64, from unsafe.Pointer) error {
	return makeDriverError(op, "cuMemcpyHtoDAsync", cu.MemcpyHtoDAsync(to, from, n, m.stream))
}

// copyToHost copies the bytes of a contiguous tensor to the host, and waits for them.
func (m *deviceStream) copyToHost(op string, to unsafe.Pointer, from *tensor.Tensor) error {
	if err := cu.MemcpyDtoHAsync(to, devicePtr(from), byteSize(from), m.stream); err != nil {
		return makeDriverError(op, "cuMemcpyDtoHAsync", err)
	}
	return m.synchronizeStream(op)
}

// copyBetweenDevices copies from one device to another. The target's stream waits for pending writes to the source, and the source's stream
// until its memory has been read.
func copyBetweenDevices(op string, to, from *tensor.Tensor) error {
	context, err := openContext(op, from.Device())
	if err != nil {
		return err
	}
	return withCurrentStream(op, to.Device(), func(target *deviceStream) error {
		var source *deviceStream
		err := context.runInStream(op, func(m *deviceStream) error {
			source = m
			return target.waitForStream(op, source)
		})
		if err != nil {
			return err
		}
		if entered, err := driver.Enter(target.context, target.index); err != nil { // if it was not restored
			return makeDriverError(op, entered.Call(), err)
		}
		if err := target.enablePeerAccess(op, context); err != nil {
			return err
		}
		if err := cu.MemcpyPeerAsync(devicePtr(to), target.context, devicePtr(from), source.context, byteSize(from), target.stream); err != nil {
			return makeDriverError(op, "cuMemcpyPeerAsync", err)
		}
		return source.waitForStream(op, target)
	})
}

// copyOnDevice copies and converts elements by a kernel, or contiguous memory of one dtype by the driver.
func (m *deviceStream) copyOnDevice(op string, w backend.Copying) error {
	var rows kernelapi.Loop
	if w.Flipped != nil {
		tensoriter.ArrangeFlipped(&rows, w.To, w.From, w.Flipped)
	} else {
		tensoriter.Arrange(&rows, 1, []*tensor.Tensor{w.To, w.From})
	}
	to, from := w.To.DType(), w.From.DType()
	if to == from || to.IsIntegral() && from.IsIntegral() && to.Size() == from.Size() {
		l := loop{memory: [loopOperands]dtype.DType{to.Raw(), to.Raw()}}
		return m.launchRows(op, kernels.Wide("move", to.Size()), l.asArguments(), &rows)
	}
	l := loop{memory: [loopOperands]dtype.DType{to, from}}
	if err := checkDTypes(op, to, from); err != nil {
		return err
	}
	return m.launchRows(op, kernels.Alone("convert"), l.asArguments(), &rows)
}

// fillTensor writes one value everywhere.
func fillTensor(op string, w backend.Filling) (err error) {
	if w.From != nil {
		if w.Value, err = backend.Item(op, w.From); err != nil {
			return err
		}
	}
	if w.To.Numel() == 0 {
		return nil
	}
	var l loop
	l.memory[0] = w.To.DType().Raw()
	tensor.Put(unsafe.Pointer(&l.params), w.To.DType(), w.Value)
	var rows kernelapi.Loop
	tensoriter.Arrange(&rows, 1, []*tensor.Tensor{w.To})
	return withCurrentStream(op, w.To.Device(), func(m *deviceStream) error {
		return m.launchRows(op, kernels.Wide("fill", w.To.DType().Size()), l.asArguments(), &rows)
	})
}

// concatenateTensors copies contiguous tensors to adjacent memory, one after the other.
func concatenateTensors(op string, w backend.Joining) error {
	return withCurrentStream(op, w.To.Device(), func(m *deviceStream) error {
		at := devicePtr(w.To)
		for _, t := range w.From {
			if t.Numel() == 0 {
				continue
			}
			if err := cu.MemcpyDtoDAsync(at, devicePtr(t), byteSize(t), m.stream); err != nil {
				return makeDriverError(op, "cuMemcpyDtoDAsync", err)
			}
			at += cu.DevicePtr(byteSize(t))
		}
		return nil
	})
}

// allocateAligned returns n bytes that are aligned for any dtype.
func allocateAligned(n int64) []byte {
	words := make([]complex128, (n+15)/16)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}

func readTensor(op string, t *tensor.Tensor) ([]byte, error) {
	if t.Numel() == 0 {
		return nil, nil
	}
	bytes := allocateAligned(byteSize(t))
	return bytes, withCurrentStream(op, t.Device(), func(m *deviceStream) error {
		return m.copyToHost(op, unsafe.Pointer(unsafe.SliceData(bytes)), t)
	})
}

func writeTensor(op string, w backend.Writing) error {
	if w.To.Numel() == 0 {
		return nil
	}
	bytes := allocateAligned(byteSize(w.To))
	w.Set(bytes)
	return withCurrentStream(op, w.To.Device(), func(m *deviceStream) error {
		return m.uploadBytes(op, devicePtr(w.To), int64(len(bytes)), pointerTo(bytes))
	})
}
