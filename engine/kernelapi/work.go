package kernelapi

import "github.com/libtensor/libtensor/engine/dtype"

// MaxOperands is the largest number of operands of an elementwise kernel.
const MaxOperands = 8

// TotalBytes is the size of a reduction's running total, and SortIndex that of an index while lines are sorted.
const (
	TotalBytes = 32
	SortIndex  = 4
)

// SortEntry returns the scratch, in bytes, for the entry of an element of size bytes: its key and its index.
func SortEntry(size int64) int64 { return size + SortIndex }

// Loop is one run of an elementwise kernel over strided operands, outputs first, dimension 0 innermost, strides in bytes.
type Loop struct {
	Row                     uintptr
	Operands, Outputs, Ndim int32
	Memory, Compute         [MaxOperands]dtype.DType
	Stream                  bool
	Fixed                   uint8
	Data                    [MaxOperands]uintptr
	Sizes                   [64]int64
	Strides                 [MaxOperands][64]int64
	Params                  [64]byte
}

// Reduction is one reduction of a strided input.
type Reduction struct {
	Op                      uintptr
	In                      uintptr
	Out                     [2]uintptr
	Totals                  uintptr
	Kept, Reduced, Pieces   int32
	Memory, Compute         dtype.DType
	OutMemory               [2]dtype.DType
	Columns, Base, Count    int64
	Params                  [2]float64
	KeptSizes, KeptIn       [64]int64
	KeptOut                 [2][64]int64
	ReducedSizes, ReducedIn [64]int64
}

// The kinds of updates.
const (
	SGD = iota
	Adam
	AdamW
	Adagrad
)

// ParameterUpdate is an update of a parameter by its gradient. Tensors are the parameter, its gradient and up to three states; 0 for unused ones.
type ParameterUpdate struct {
	Kind, Maximize                     int32
	Nesterov, First                    int32
	Tensors                            [5]uintptr
	N                                  int64
	Scale, Decay                       float64
	Decoupled, Step, Beta1, Beta2, Eps float64
	Rate                               float64
	Root                               float64
}

// QuantizedPair are the parameters of kernels of two quantized operands.
type QuantizedPair struct {
	AScale, BScale, Factor        float32
	AZero, BZero, Zero, Low, High int32
}
