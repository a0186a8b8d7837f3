package cuda

import (
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

func place(t *tensor.Tensor) cu.DevicePtr { return cu.DevicePtr(t.Data()) }

func nbytes(t *tensor.Tensor) int64 { return t.Numel() * t.DType().Size() }

func isHost(t *tensor.Tensor) bool { return t.Device().Type == device.CPU }

// copyTo copies a tensor to another one, on a device, between devices, or between a device and the host. Between memories, contiguous
// tensors of the source's dtype are transferred; strides and dtypes are converted before or afterwards.
func copyTo(op string, w backend.Copying) (err error) {
	if !backend.Known(w.From) {
		return status.NotImplementedf("%s: cannot copy out of meta tensor; no data!", op)
	}
	if w.To.Numel() == 0 {
		return nil
	}
	if w.To.Device() == w.From.Device() {
		return on(op, w.To.Device(), func(m *machine) error { return m.copy(op, w) })
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	from := backend.RowMajor(&s, w.From, w.From.DType())
	if w.To.IsContiguous() && w.To.DType() == from.DType() && w.To.Numel() == from.Numel() {
		return transfer(op, w.To, from, w.Async)
	}
	there := s.Track(tensor.Empty(op, from.Sizes(), from.DType(), w.To.Device()))
	s.Check(transfer(op, there, from, false))
	s.Check(backend.Copy(op, w.To, there))
	return nil
}

// transfer copies the bytes of a contiguous tensor to another of the same dtype in another memory. The host waits for data from the device,
// and for its pinned memory to be read, unless the copy is asynchronous; the driver has read other memory when it returns.
func transfer(op string, to, from *tensor.Tensor, async bool) error {
	switch {
	case isHost(from):
		pinned := from.Storage().Pinned()
		return on(op, to.Device(), func(m *machine) error {
			if err := cu.MemcpyHtoDAsync(place(to), from.Data(), nbytes(from), m.stream); err != nil {
				return failed(op, "cuMemcpyHtoDAsync", err)
			}
			return m.reads(op, from, pinned, !pinned || async)
		})
	case isHost(to):
		pinned := to.Storage().Pinned()
		return on(op, from.Device(), func(m *machine) error {
			if err := cu.MemcpyDtoHAsync(to.Data(), place(from), nbytes(from), m.stream); err != nil {
				return failed(op, "cuMemcpyDtoHAsync", err)
			}
			return m.reads(op, to, pinned, pinned && async)
		})
	}
	return between(op, to, from)
}

// reads completes a copy from or to host memory: it waits for the stream, or, if later is set, records that the stream uses pinned memory.
func (m *machine) reads(op string, t *tensor.Tensor, pinned, later bool) error {
	if !later {
		return m.synchronize(op)
	}
	if pinned {
		pins.usedBy(t.Storage().Whole().Data(), m)
	}
	return nil
}

// fetch copies the bytes of a contiguous tensor to the host, and waits for them.
func (m *machine) fetch(op string, to unsafe.Pointer, from *tensor.Tensor) error {
	if err := cu.MemcpyDtoHAsync(to, place(from), nbytes(from), m.stream); err != nil {
		return failed(op, "cuMemcpyDtoHAsync", err)
	}
	return m.synchronize(op)
}

// between copies from one device to another. The target's stream waits for pending writes to the source, and the source's stream until its
// memory has been read.
func between(op string, to, from *tensor.Tensor) error {
	card, err := open(op, from.Device())
	if err != nil {
		return err
	}
	return on(op, to.Device(), func(target *machine) error {
		var source *machine
		err := card.run(op, func(m *machine) error {
			source = m
			return target.waitFor(op, source)
		})
		if err != nil {
			return err
		}
		if _, err := driver.Enter(target.context, target.index); err != nil {
			return failed(op, "cuCtxSetCurrent", err)
		}
		if err := target.reach(op, card); err != nil {
			return err
		}
		if err := cu.MemcpyPeerAsync(place(to), target.context, place(from), source.context, nbytes(from), target.stream); err != nil {
			return failed(op, "cuMemcpyPeerAsync", err)
		}
		return source.waitFor(op, target)
	})
}

// copy copies on the device.
func (m *machine) copy(op string, w backend.Copying) error {
	var rows kernelapi.Loop
	if w.Flipped != nil {
		tensoriter.ArrangeFlipped(&rows, w.To, w.From, w.Flipped)
	} else {
		tensoriter.Arrange(&rows, 1, []*tensor.Tensor{w.To, w.From})
	}
	to, from := w.To.DType(), w.From.DType()
	if to == from || to.IsIntegral() && from.IsIntegral() && to.Size() == from.Size() {
		l := loop{memory: [loopOperands]dtype.DType{to.Raw(), to.Raw()}}
		return m.launch(op, kernels.Wide("move", to.Size()), l.alone(), &rows)
	}
	l := loop{memory: [loopOperands]dtype.DType{to, from}}
	if err := converts(op, to, from); err != nil {
		return err
	}
	return m.launch(op, kernels.Alone("convert"), l.alone(), &rows)
}

// fill writes one value everywhere.
func fill(op string, w backend.Filling) (err error) {
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
	return on(op, w.To.Device(), func(m *machine) error {
		return m.launch(op, kernels.Wide("fill", w.To.DType().Size()), l.alone(), &rows)
	})
}

// join concatenates tensors.
func join(op string, w backend.Joining) error {
	return on(op, w.To.Device(), func(m *machine) error {
		at := place(w.To)
		for _, t := range w.From {
			if t.Numel() == 0 {
				continue
			}
			if err := cu.MemcpyDtoDAsync(at, place(t), nbytes(t), m.stream); err != nil {
				return failed(op, "cuMemcpyDtoDAsync", err)
			}
			at += cu.DevicePtr(nbytes(t))
		}
		return nil
	})
}

// aligned are bytes that may be seen as elements of any dtype.
func aligned(n int64) []byte {
	words := make([]complex128, (n+15)/16)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}

func read(op string, t *tensor.Tensor) ([]byte, error) {
	if t.Numel() == 0 {
		return nil, nil
	}
	bytes := aligned(nbytes(t))
	return bytes, on(op, t.Device(), func(m *machine) error { return m.fetch(op, unsafe.Pointer(unsafe.SliceData(bytes)), t) })
}

func write(op string, w backend.Writing) error {
	if w.To.Numel() == 0 {
		return nil
	}
	bytes := aligned(nbytes(w.To))
	w.Set(bytes)
	return on(op, w.To.Device(), func(m *machine) error {
		return failed(op, "cuMemcpyHtoDAsync", cu.MemcpyHtoDAsync(place(w.To), unsafe.Pointer(unsafe.SliceData(bytes)), int64(len(bytes)),
			m.stream))
	})
}
