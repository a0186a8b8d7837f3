package cpu

import (
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// Grain is the number of elements below which work is not split.
const Grain = 1 << 15

// StreamBytes is the size of an output from which it is written past the caches: none holds it until it is read. Tests
// lower it.
var StreamBytes int64 = 1 << 26

// StreamVariable is the environment variable that sets StreamBytes at the first call.
const StreamVariable = "LIBTENSOR_STREAM_BYTES"

func init() {
	if n, err := strconv.ParseInt(os.Getenv(StreamVariable), 10, 64); err == nil && n > 0 {
		StreamBytes = n
	}
}

var loops = sync.Pool{New: func() any { return new(kernelapi.Loop) }}

// runElementwise runs a kernel over operands.
func runElementwise(op string, w backend.Elementwise) error {
	k, compute := w.Kernel, w.Compute
	row, err := kernel.Of(k).For(op, compute)
	if err != nil || w.Operands[0].Numel() == 0 {
		return err
	}
	operands := w.Operands[:len(k.Operands())]
	if tiny := kernel.Of(k).Tiny(compute); tiny != nil && runTiny(tiny, compute, operands) {
		return nil
	}
	if stored := storedForm(k, compute, operands); stored != kernelapi.None {
		k, compute = stored, operands[0].DType()
		row = kernel.Of(k).Row(compute)
	}
	l := loops.Get().(*kernelapi.Loop)
	defer loops.Put(l)
	l.Row = row
	if w.Params != nil {
		l.Params = *w.Params
	}
	if err := prepareLoop(op, l, k, compute, operands); err != nil {
		return err
	}
	splitLoop(l, kernel.Elementwise)
	return nil
}

// storedForms are the forms of kernels that read and write 16-bit floats in memory, without conversions of blocks: of two such
// operands, and of one and a number in float32.
var storedForms = map[kernelapi.Kernel]struct{ both, scalar kernelapi.Kernel }{
	kernelapi.Add: {kernelapi.AddStored, kernelapi.AddNumber},
	kernelapi.Sub: {kernelapi.SubStored, kernelapi.SubNumber},
	kernelapi.Mul: {kernelapi.MulStored, kernelapi.MulNumber},
	kernelapi.Div: {kernelapi.DivStored, kernelapi.DivNumber},
}

// storedForm returns the form of a kernel for operands in their dtype in memory, or kernelapi.None if there is none for the CPU or
// the operands.
func storedForm(k kernelapi.Kernel, compute dtype.DType, operands []*tensor.Tensor) kernelapi.Kernel {
	d := operands[0].DType()
	if compute != dtype.Float32 || d == compute || len(operands) != 3 || operands[1].DType() != d {
		return kernelapi.None
	}
	form := storedForms[k].both
	if other := operands[2]; other.Numel() == 1 {
		form = storedForms[k].scalar
	} else if other.DType() != d {
		return kernelapi.None
	}
	if !kernel.Of(form).Has(d) {
		return kernelapi.None
	}
	return form
}

// hasMatch reports whether a kernel without outputs finds a match: it stops once the flag in its parameters is set.
func hasMatch(op string, w backend.Elementwise) (bool, error) {
	row, err := kernel.Of(w.Kernel).For(op, w.Compute)
	if err != nil || w.Operands[0].Numel() == 0 {
		return false, err
	}
	l := loops.Get().(*kernelapi.Loop)
	defer loops.Put(l)
	l.Row = row
	l.Params = backend.Params{}
	if err := prepareLoop(op, l, w.Kernel, w.Compute, w.Operands[:len(w.Kernel.Operands())]); err != nil {
		return false, err
	}
	dropRepeatedDims(l)
	return findMatch(l, func(flag *int64) bool { return *flag != 0 }) != nil, nil
}

// findMatch runs a kernel that reports a match in its parameters. It returns the parameters of a part with a match, or nil.
func findMatch[T any](l *kernelapi.Loop, found func(*T) bool) *T {
	var at atomic.Pointer[T]
	splitLoop(l, func(piece *kernelapi.Loop) {
		kernel.Elementwise(piece)
		if p := *paramsOf[T](piece); found(&p) {
			at.Store(&p)
		}
	})
	return at.Load()
}

// errFloat8 is the error of prepareLoop for operands that need withoutFloat8.
var errFloat8 = status.NotImplementedf("not implemented for float8 dtypes; convert to float32")

// prepareLoop fills in l for a kernel, whose row is set, and its operands.
func prepareLoop(op string, l *kernelapi.Loop, k kernelapi.Kernel, compute dtype.DType, operands []*tensor.Tensor) error {
	l.Fixed = k.Fixed()
	for i, t := range operands {
		l.Memory[i], l.Compute[i] = t.DType(), tensoriter.OperandDType(k.Operands()[i], compute)
		if l.Memory[i] != l.Compute[i] && (k.Fixed()>>i&1 != 0 || i < k.Outputs() && !k.IsWhole() || l.Memory[i].IsQuantized()) {
			return status.NotImplementedf("%s: not implemented for operands of dtype %v when computing in %v", op, l.Memory[i], l.Compute[i])
		}
		if l.Memory[i] != l.Compute[i] && l.Memory[i].IsFloat8() {
			return errFloat8
		}
	}
	tensoriter.Arrange(l, k.Outputs(), operands)
	l.Stream = k.IsWhole() && operands[0].Numel()*operands[0].DType().Size() >= StreamBytes && hasDisjointOutputs(l)
	return nil
}

// dropRepeatedDims reduces the loop to one iteration of the dimensions that all operands repeat.
func dropRepeatedDims(l *kernelapi.Loop) {
	for d := range l.Ndim {
		repeated := true
		for k := range l.Operands {
			repeated = repeated && l.Strides[k][d] == 0
		}
		if repeated {
			l.Sizes[d] = 1
		}
	}
}

// hasDisjointOutputs reports whether the memory between the first and the last byte of every output is free of inputs.
func hasDisjointOutputs(l *kernelapi.Loop) bool {
	span := func(k int32) (lo, hi uintptr) {
		lo, hi = l.Data[k], l.Data[k]+uintptr(l.Memory[k].Size())
		for d := range l.Ndim {
			hi += uintptr((l.Sizes[d] - 1) * l.Strides[k][d])
		}
		return lo, hi
	}
	for out := range l.Outputs {
		lo, hi := span(out)
		for in := l.Outputs; in < l.Operands; in++ {
			if from, to := span(in); from < hi && lo < to {
				return false
			}
		}
	}
	return true
}

// runTiny runs the Go loop for a few contiguous elements of one dtype; one operand may be a scalar of another dtype. It returns false if
// the operands do not qualify.
func runTiny(tiny kernel.Tiny, d dtype.DType, operands []*tensor.Tensor) bool {
	n := operands[0].Numel()
	if n > kernel.TinyLimit {
		return false
	}
	var data [3]unsafe.Pointer
	var strides [3]uintptr
	number := 0
	for i, t := range operands {
		data[i] = t.Data()
		switch {
		case t.DType() != d:
			if !t.IsWrappedNumber() || i == 0 || number != 0 {
				return false
			}
			number = i
		case t.Numel() == n && t.IsContiguous():
			strides[i] = uintptr(d.Size())
		case t.Numel() != 1:
			return false
		}
	}
	if number != 0 {
		l := loops.Get().(*kernelapi.Loop)
		defer loops.Put(l)
		tensor.Put(unsafe.Pointer(&l.Params), d, operands[number].Item())
		data[number] = unsafe.Pointer(&l.Params)
	}
	tiny(data[0], data[1], data[2], strides[0], strides[1], strides[2], n)
	return true
}

// Rows are divided into parts of at least leastRow elements, or of a thread's share, up to mostRow.
const leastRow, mostRow = 128, 4096

// splitLoop runs l. It divides a large l along its longest outer dimension for several threads.
func splitLoop(l *kernelapi.Loop, run func(*kernelapi.Loop)) {
	total := int64(1)
	for _, s := range l.Sizes[:l.Ndim] {
		total *= s
	}
	if total < 2*Grain || parallel.Threads() == 1 && parallel.Interruptible.Load() == 0 {
		run(l)
		return
	}
	d := chooseSplitDim(l)
	if d < 0 {
		run(l)
		return
	}
	n, grain := l.Sizes[d], int64(1)
	if d == 0 && l.Ndim > 1 {
		// Parts of rows repeat the work for each row.
		grain = max(leastRow, min((n+int64(parallel.Threads())-1)/int64(parallel.Threads()), mostRow))
	}
	parallel.ForInterruptible(n, max(Grain*n/total, grain), func(begin, end int64) {
		piece := loops.Get().(*kernelapi.Loop)
		*piece = *l
		piece.Sizes[d] = end - begin
		for k := range piece.Operands {
			piece.Data[k] += uintptr(begin * l.Strides[k][d])
		}
		run(piece)
		loops.Put(piece)
	})
}

// chooseSplitDim returns the outermost dimension that can be shared out to threads, -1 when there is none: along a dimension in which an
// output stays in place, several elements are written to the same memory, in order.
func chooseSplitDim(l *kernelapi.Loop) int {
	d := int(l.Ndim) - 1
	for ; d >= 0; d-- {
		moves := l.Sizes[d] >= int64(parallel.Threads())
		for k := range l.Outputs {
			moves = moves && l.Strides[k][d] != 0
		}
		if moves {
			break
		}
	}
	return d
}

// paramsOf views the parameters of a loop.
func paramsOf[T any](l *kernelapi.Loop) *T { return (*T)(unsafe.Pointer(&l.Params)) }
