package cuda

import (
	"slices"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/libtensor/libtensor/cuda/driver"
	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

const (
	loopOperands = 4
	loopDims     = 16
	blockThreads = 256     // in a block
	maxBlocks    = 1 << 16 // of a launch: threads of larger ones do several elements
	// Above this number of threads, each processes several elements, which it loads together if they are contiguous.
	enoughThreads  = 1 << 18
	elementsAtOnce = 4
)

// conversion marks the operands in memory with other dtypes than the compute dtype.
type conversion uint8

const (
	convertNone conversion = iota
	convertHalf            // float16 and bfloat16, computed in float32
	convertAny
)

// arguments are those of a launch, l among them.
type arguments struct {
	l    *loop
	at   unsafe.Pointer
	size uintptr
}

func (l *loop) asArguments() arguments { return arguments{l, unsafe.Pointer(l), unsafe.Sizeof(*l)} }

// runElementwise runs a kernel over operands of a device, which numbers of the host may join.
func runElementwise(op string, w backend.Elementwise) error {
	operands := w.Operands[:len(w.Kernel.Operands())]
	dev, err := sharedDevice(op, w.Kernel.Outputs(), operands)
	if err != nil || operands[0].Numel() == 0 {
		return err
	}
	var l loop
	if w.Params != nil {
		l.params = *w.Params
	}
	if err := l.prepareOperands(op, w.Kernel, w.Compute, operands); err != nil {
		return err
	}
	return withCurrentStream(op, dev, func(m *deviceStream) error {
		return m.launchOperands(op, findEntry(w.Kernel, w.Compute), l.asArguments(), w.Kernel.Outputs(), operands)
	})
}

// findEntry returns the form of a kernel for a dtype.
func findEntry(k kernelapi.Kernel, compute dtype.DType) kernels.Entry {
	return kernels.Of(k.Name(), compute)
}

// checkDTypes returns an error for dtypes that no kernel here reads or writes: elements of eight-bit floats are moved and filled only.
func checkDTypes(op string, dtypes ...dtype.DType) error {
	for _, d := range dtypes {
		if d.IsFloat8() {
			return status.NotImplementedf("%s is not implemented on cuda for dtype %v; move the tensors to the cpu", op, d)
		}
	}
	return nil
}

// prepareOperands sets the dtypes of operands, and the numbers of the host among them, for a kernel that accesses its fixed operands and
// partial outputs in memory: these are not converted.
func (l *loop) prepareOperands(op string, k kernelapi.Kernel, compute dtype.DType, operands []*tensor.Tensor) error {
	if err := l.setDTypes(op, k, compute, operands); err != nil {
		return err
	}
	for i := range operands {
		if l.memory[i] != l.compute[i] && (k.Fixed()>>i&1 != 0 || i < k.Outputs() && !k.IsWhole()) {
			return status.NotImplementedf("%s: not implemented for operands of dtype %v when computing in %v", op, l.memory[i], l.compute[i])
		}
	}
	return nil
}

// setDTypes sets the dtypes of operands, and the numbers of the host among them.
func (l *loop) setDTypes(op string, k kernelapi.Kernel, compute dtype.DType, operands []*tensor.Tensor) error {
	for i, t := range operands {
		l.memory[i], l.compute[i] = t.DType(), tensoriter.OperandDType(k.Operands()[i], compute)
		if isHost(t) {
			l.memory[i] = l.compute[i]
			tensor.Put(unsafe.Pointer(&l.numbers[i]), l.compute[i], t.Item())
		}
		if l.memory[i] == l.compute[i] {
			continue
		}
		if l.memory[i].IsReducedFloat() && l.compute[i] == dtype.Float32 {
			l.converts = max(l.converts, convertHalf)
		} else {
			l.converts = convertAny
		}
		if err := checkDTypes(op, l.memory[i], l.compute[i]); err != nil {
			return err
		}
	}
	return nil
}

// sharedDevice returns the device of all operands, which zero-dim inputs of the host join.
func sharedDevice(op string, outputs int, operands []*tensor.Tensor) (dev device.Device, err error) {
	at := slices.IndexFunc(operands, func(t *tensor.Tensor) bool { return !isHost(t) })
	dev = operands[at].Device()
	for i, t := range operands {
		if t.Device() != dev && (!isHost(t) || t.Dim() > 0 || i < outputs) {
			return dev, tensoriter.TwoDevices(op, dev, t.Device())
		}
	}
	return dev, nil
}

// launchOperands lays the operands out and launches an entry over them.
func (m *deviceStream) launchOperands(op string, entry kernels.Entry, a arguments, outputs int, operands []*tensor.Tensor) error {
	var rows kernelapi.Loop
	tensoriter.Arrange(&rows, outputs, operands)
	for i, t := range operands {
		if isHost(t) {
			rows.Data[i] = 0
			rows.Strides[i] = [64]int64{}
		}
	}
	return m.launchRows(op, entry, a, &rows)
}

// launchRows runs an entry over rows, one launch for each index of the dimensions that exceed those of a launch.
func (m *deviceStream) launchRows(op string, entry kernels.Entry, a arguments, rows *kernelapi.Loop) error {
	if form, ok := m.chooseContiguousEntry(entry, a.l, rows); ok {
		f, err := m.loadFunction(op, form)
		if err != nil {
			return err
		}
		n := int64(a.l.vectors)
		if n == 0 {
			n = a.l.numel
		}
		return m.launchFunction(op, f, n, a.at, a.size)
	}
	f, err := m.loadFunction(op, entry)
	if err != nil {
		return err
	}
	return m.launchOuterDims(op, f, a, rows, int(rows.Ndim))
}

func (m *deviceStream) launchOuterDims(op string, f cu.Function, a arguments, rows *kernelapi.Loop, ndim int) error {
	if ndim > loopDims {
		d := ndim - 1
		inner := *rows
		for range rows.Sizes[d] {
			if err := m.launchOuterDims(op, f, a, &inner, d); err != nil {
				return err
			}
			for k := range inner.Operands {
				if inner.Data[k] != 0 {
					inner.Data[k] += uintptr(rows.Strides[k][d])
				}
			}
		}
		return nil
	}
	l := a.l
	l.ndim, l.numel = int32(ndim), 1
	for d, size := range rows.Sizes[:ndim] {
		l.sizes[d] = size
		l.numel *= size
	}
	for k := range rows.Operands {
		l.data[k] = rows.Data[k]
		copy(l.strides[k][:ndim], rows.Strides[k][:ndim])
	}
	l.computeDivisors()
	return m.launchFunction(op, f, max(l.numel/elementsAtOnce, min(l.numel, enoughThreads)), a.at, a.size)
}

// launchFunction launches a kernel for n threads.
func (m *deviceStream) launchFunction(op string, f cu.Function, n int64, args unsafe.Pointer, size uintptr) error {
	blocks := int(min((n+blockThreads-1)/blockThreads, maxBlocks))
	err := m.retryWithoutCache(op, func() error { return driver.Launch(f, blocks, blockThreads, m.stream, args, size) })
	return makeDriverError(op, "cuLaunchKernel", err)
}

// launchEntry loads an entry and launches it for n threads.
func launchEntry[T any](m *deviceStream, op string, entry kernels.Entry, n int64, args *T) error {
	f, err := m.loadFunction(op, entry)
	if err != nil {
		return err
	}
	return m.launchFunction(op, f, n, unsafe.Pointer(args), unsafe.Sizeof(*args))
}
