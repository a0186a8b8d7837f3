package kernel

// #include "recurrence.h"
import "C"

import "unsafe"

// The kinds of cells.
const (
	TanhCell  = C.LT_TANH
	ReluCell  = C.LT_RELU
	LSTMCell  = C.LT_LSTM
	GRUCell   = C.LT_GRU
	CarryCell = C.LT_CARRY
)

// Recurrence is a step of the rows of some sequences; it mirrors lt_recurrence.
type Recurrence struct {
	From, Weight, Sums                               uintptr
	FromRow, Rows, Depth, Vectors, Units, Begin, End int64
	X, Bias, H, C, Gates, Cell, Hidden               uintptr
	Given, Carry, CarryCell, Slopes                  uintptr
	Kind, Backward                                   int32
}

// RecurrencePacking has a matrix packed for steps; it mirrors lt_recurrence_packing.
type RecurrencePacking struct {
	Matrix, Packed                                                           uintptr
	Lanes, First, Depth, Whole, Step, Unit, Gate, Vectors, Units, Begin, End int64
}

// Go and C must agree to the byte.
var (
	_ [unsafe.Sizeof(Recurrence{}) - C.sizeof_lt_recurrence]struct{}
	_ [C.sizeof_lt_recurrence - unsafe.Sizeof(Recurrence{})]struct{}
	_ [unsafe.Sizeof(RecurrencePacking{}) - C.sizeof_lt_recurrence_packing]struct{}
	_ [C.sizeof_lt_recurrence_packing - unsafe.Sizeof(RecurrencePacking{})]struct{}
)
