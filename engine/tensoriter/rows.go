package tensoriter

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// OperandDType reads one letter of a kernel's signature: those of abi.h, and f for float32, d for float64.
func OperandDType(letter byte, compute dtype.DType) dtype.DType {
	switch letter {
	case 'b':
		return dtype.Bool
	case 'i':
		return dtype.Int32
	case 'l':
		return dtype.Int64
	case 'f':
		return dtype.Float32
	case 'd':
		return dtype.Float64
	case 'R':
		return compute.ToReal()
	case 'C':
		return compute.ToComplex()
	}
	return compute // T and X
}

// Arrange sets data, sizes and strides: dimensions from the fastest to the slowest, with adjacent ones merged if every operand allows it.
func Arrange(l *kernelapi.Loop, outputs int, operands []*tensor.Tensor) {
	l.Outputs, l.Operands = int32(outputs), int32(len(operands))
	sizes := operands[0].Sizes()
	flat := true
	for i, t := range operands {
		if l.Data[i] = uintptr(t.Data()); l.Data[i] == 0 {
			panic("a kernel is run over a tensor without bytes")
		}
		flat = flat && (t.IsContiguous() && t.Numel() == operands[0].Numel() || t.Numel() == 1)
	}
	if flat {
		l.Ndim = 1
		l.Sizes[0] = operands[0].Numel()
		for i, t := range operands {
			l.Strides[i][0] = t.DType().Size()
			if t.Numel() == 1 {
				l.Strides[i][0] = 0
			}
		}
		return
	}
	ndim := len(sizes)
	var flatStrides [kernelapi.MaxOperands * 8]int64
	buffer := flatStrides[:]
	if len(operands)*ndim > len(buffer) {
		buffer = make([]int64, len(operands)*ndim)
	}
	var rows [kernelapi.MaxOperands][]int64
	for i, t := range operands {
		rows[i] = buffer[i*ndim : (i+1)*ndim]
		shape.BroadcastStrides(rows[i], t.Sizes(), t.Strides(), sizes, t.DType().Size())
	}
	order := shape.Permutation(sizes, rows[:len(operands)]...)
	n := 0
	for i := ndim - 1; i >= 0; i-- {
		d := order[i]
		if sizes[d] == 1 {
			continue
		}
		if n > 0 && continuesDim(l, rows[:len(operands)], n-1, d) {
			l.Sizes[n-1] *= sizes[d]
			continue
		}
		l.Sizes[n] = sizes[d]
		for k := range operands {
			l.Strides[k][n] = rows[k][d]
		}
		n++
	}
	if n == 0 {
		l.Sizes[0] = 1
		for k := range operands {
			l.Strides[k][0] = 0
		}
		n = 1
	}
	l.Ndim = int32(n)
}

// continuesDim reports whether dimension d continues loop dimension at for every operand.
func continuesDim(l *kernelapi.Loop, rows [][]int64, at, d int) bool {
	for k, row := range rows {
		if row[d] != l.Strides[k][at]*l.Sizes[at] {
			return false
		}
	}
	return true
}

// ArrangeFlipped is Arrange for the elements of one tensor and those of another, of the same shape and dtype, in reverse order of some
// dimensions.
func ArrangeFlipped(l *kernelapi.Loop, to, from *tensor.Tensor, flipped []bool) {
	l.Operands, l.Outputs = 2, 1
	size := to.DType().Size()
	order := shape.Permutation(to.Sizes(), to.Strides())
	slices.Reverse(order)
	l.Data[0], l.Data[1] = uintptr(to.Data()), uintptr(from.Data())
	n := 0
	for _, d := range order {
		count, step, back := to.Sizes()[d], to.Strides()[d]*size, from.Strides()[d]*size
		if count == 1 {
			continue
		}
		if flipped[d] {
			l.Data[1] += uintptr((count - 1) * back)
			back = -back
		}
		if n > 0 && step == l.Strides[0][n-1]*l.Sizes[n-1] && back == l.Strides[1][n-1]*l.Sizes[n-1] {
			l.Sizes[n-1] *= count
			continue
		}
		l.Sizes[n], l.Strides[0][n], l.Strides[1][n] = count, step, back
		n++
	}
	if n == 0 {
		l.Sizes[0], l.Strides[0][0], l.Strides[1][0] = 1, size, size
		n = 1
	}
	l.Ndim = int32(n)
}
