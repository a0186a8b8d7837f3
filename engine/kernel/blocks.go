package kernel

// #include "blocks.h"
import "C"

import "unsafe"

// Activations of a linear layer of blocks are rounded in items of ActivationValues, which take ActivationBytes.
const (
	ActivationValues = C.LT_BLOCK
	ActivationBytes  = C.sizeof_lt_activations
)

// BlockInput is the conversion of rows to activations; it mirrors lt_block_input.
type BlockInput struct {
	Values, Activations uintptr
	Rows, K             int64
}

// BlockLinear is a product of activations and rows of blocks; it mirrors lt_block_linear.
type BlockLinear struct {
	Weight, Activations, Bias, Out uintptr
	M, N, K, Row, OutRow           int64
	Type                           int32
}

// BlockValues is the conversion of blocks to float32; it mirrors lt_block_values.
type BlockValues struct {
	Blocks, Out uintptr
	Count       int64
	Type        int32
}

// WeightLinear is a product with weights of 8 or 4 bits; it mirrors lt_weight_linear.
type WeightLinear struct {
	Input, Weight, Scales, Out       uintptr
	M, N, K, OutRow, Group, ScaleRow int64
}

// Go and C must agree to the byte.
var (
	_ [unsafe.Sizeof(BlockInput{}) - C.sizeof_lt_block_input]struct{}
	_ [C.sizeof_lt_block_input - unsafe.Sizeof(BlockInput{})]struct{}
	_ [unsafe.Sizeof(BlockLinear{}) - C.sizeof_lt_block_linear]struct{}
	_ [C.sizeof_lt_block_linear - unsafe.Sizeof(BlockLinear{})]struct{}
	_ [unsafe.Sizeof(BlockValues{}) - C.sizeof_lt_block_values]struct{}
	_ [C.sizeof_lt_block_values - unsafe.Sizeof(BlockValues{})]struct{}
	_ [unsafe.Sizeof(WeightLinear{}) - C.sizeof_lt_weight_linear]struct{}
	_ [C.sizeof_lt_weight_linear - unsafe.Sizeof(WeightLinear{})]struct{}
)
