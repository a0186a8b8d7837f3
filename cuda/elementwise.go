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
	threads      = 256     // of a block
	mostBlocks   = 1 << 16 // of a launch: threads of larger ones do several elements
	// Above this number of threads, each processes several elements, which it loads together if they are contiguous.
	enoughThreads = 1 << 18
	atOnce        = 4
)

// loop mirrors lt::Loop of kernels/elementwise.h. An operand without an address is the number in numbers.
type loop struct {
	data    [loopOperands]uintptr
	strides [loopOperands][loopDims]int64
	sizes   [loopDims]int64
	numel   int64

	multipliers [loopDims]uint32
	shifts      [loopDims]uint8
	vectors     uint32
	ndim        int32

	memory, compute [loopOperands]dtype.DType
	converts        conversion
	constants       uint8
	_               [6]byte
	params          [64]byte
	numbers         [loopOperands][16]byte
}

// conversion marks the operands in memory with other dtypes than the compute dtype.
type conversion uint8

const (
	nothing conversion = iota
	halves             // float16 and bfloat16, computed in float32
	anything
)

// arguments are those of a launch, l among them.
type arguments struct {
	l    *loop
	at   unsafe.Pointer
	size uintptr
}

func (l *loop) alone() arguments { return arguments{l, unsafe.Pointer(l), unsafe.Sizeof(*l)} }

// elementwise runs a kernel over operands of a device, which numbers of the host may join.
func elementwise(op string, w backend.Elementwise) error {
	operands := w.Operands[:len(w.Kernel.Operands())]
	dev, err := sharedDevice(op, w.Kernel.Outputs(), operands)
	if err != nil || operands[0].Numel() == 0 {
		return err
	}
	var l loop
	if w.Params != nil {
		l.params = *w.Params
	}
	if err := l.prepare(op, w.Kernel, w.Compute, operands); err != nil {
		return err
	}
	return on(op, dev, func(m *machine) error {
		return m.walk(op, entry(w.Kernel, w.Compute), l.alone(), w.Kernel.Outputs(), operands)
	})
}

// entry returns the form of a kernel for a dtype.
func entry(k kernelapi.Kernel, compute dtype.DType) kernels.Entry {
	return kernels.Of(k.Name(), compute)
}

// converts returns an error for dtypes that no kernel here reads or writes: elements of uint16, uint32, uint64 and eight-bit floats are
// moved and filled only.
func converts(op string, dtypes ...dtype.DType) error {
	for _, d := range dtypes {
		if d.IsIntegral() && !d.IsSigned() && d != dtype.Uint8 || d.IsFloat8() {
			return status.NotImplementedf("%s is not implemented on cuda for dtype %v; move the tensors to the cpu", op, d)
		}
	}
	return nil
}

// prepare sets the dtypes of operands, and the numbers of the host among them.
func (l *loop) prepare(op string, k kernelapi.Kernel, compute dtype.DType, operands []*tensor.Tensor) error {
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
			l.converts = max(l.converts, halves)
		} else {
			l.converts = anything
		}
		if err := converts(op, l.memory[i], l.compute[i]); err != nil {
			return err
		}
		if k.Fixed()>>i&1 != 0 || i < k.Outputs() && !k.IsWhole() {
			return status.NotImplementedf("%s: not implemented for operands of dtype %v when computing in %v", op, l.memory[i], l.compute[i])
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

// walk lays the operands out and launches an entry over them.
func (m *machine) walk(op string, entry kernels.Entry, a arguments, outputs int, operands []*tensor.Tensor) error {
	var rows kernelapi.Loop
	tensoriter.Arrange(&rows, outputs, operands)
	for i, t := range operands {
		if isHost(t) {
			rows.Data[i] = 0
			rows.Strides[i] = [64]int64{}
		}
	}
	return m.launch(op, entry, a, &rows)
}

// launch runs an entry over rows, one launch for each index of the dimensions that exceed those of a launch.
func (m *machine) launch(op string, entry kernels.Entry, a arguments, rows *kernelapi.Loop) error {
	if form, ok := m.contiguous(entry, a.l, rows); ok {
		f, err := m.function(op, form)
		if err != nil {
			return err
		}
		n := int64(a.l.vectors)
		if n == 0 {
			n = a.l.numel
		}
		return m.start(op, f, n, a.at, a.size)
	}
	f, err := m.function(op, entry)
	if err != nil {
		return err
	}
	return m.outer(op, f, a, rows, int(rows.Ndim))
}

func (m *machine) outer(op string, f cu.Function, a arguments, rows *kernelapi.Loop, ndim int) error {
	if ndim > loopDims {
		d := ndim - 1
		inner := *rows
		for range rows.Sizes[d] {
			if err := m.outer(op, f, a, &inner, d); err != nil {
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
	l.divisors()
	return m.start(op, f, max(l.numel/atOnce, min(l.numel, enoughThreads)), a.at, a.size)
}

// start launches a kernel for n threads.
func (m *machine) start(op string, f cu.Function, n int64, args unsafe.Pointer, size uintptr) error {
	blocks := int(min((n+threads-1)/threads, mostBlocks))
	return failed(op, "cuLaunchKernel", driver.Launch(f, blocks, threads, m.stream, args, size))
}

// call is start for an entry.
func call[T any](m *machine, op string, entry kernels.Entry, n int64, args *T) error {
	f, err := m.function(op, entry)
	if err != nil {
		return err
	}
	return m.start(op, f, n, unsafe.Pointer(args), unsafe.Sizeof(*args))
}
