package kernel

// #include "convolution.h"
import "C"

import "unsafe"

// Axis is a dimension of a convolution; it mirrors lt_axis.
type Axis struct {
	Size, Taps, Stride, Step, Origin, Begin, End, ImageStep, PositionStep int64
}

// Convolution makes a result of an image and weights; it mirrors lt_convolution.
type Convolution struct {
	Image, Weight, Bias, Result, Room               uintptr
	Bytes, Groups, Channels, Rows                   int64
	ImageGroup, WeightGroup, BiasGroup, ResultGroup int64
	ImageChannel, WeightRow, ResultRow              int64
	Axes                                            [C.LT_AXES]Axis
}

// ConvolutionTurn transposes weights for images computed from results; it mirrors lt_convolution_turn.
type ConvolutionTurn struct {
	From, To                             uintptr
	Rows, Channels, RowStep, ChannelStep int64
	Taps, TapSteps                       [C.LT_AXES]int64
}

// ConvolutionWeight holds the arguments of a convolution's weight gradient. It mirrors lt_convolution_weight.
type ConvolutionWeight struct {
	Image, Positions, Result, Room                                                   uintptr
	Bytes, Images, Channels, Rows, AllRows, Groups, ResultGroup                      int64
	ImageImage, PositionsImage, ImageChannel, PositionsRow, ResultRow, ResultChannel int64
	TapSteps, Box                                                                    [C.LT_AXES]int64
	Axes                                                                             [C.LT_AXES]Axis
}

// Go and C must agree to the byte.
var (
	_ [unsafe.Sizeof(Convolution{}) - C.sizeof_lt_convolution]struct{}
	_ [C.sizeof_lt_convolution - unsafe.Sizeof(Convolution{})]struct{}
	_ [unsafe.Sizeof(ConvolutionTurn{}) - C.sizeof_lt_convolution_turn]struct{}
	_ [C.sizeof_lt_convolution_turn - unsafe.Sizeof(ConvolutionTurn{})]struct{}
	_ [unsafe.Sizeof(ConvolutionWeight{}) - C.sizeof_lt_convolution_weight]struct{}
	_ [C.sizeof_lt_convolution_weight - unsafe.Sizeof(ConvolutionWeight{})]struct{}
)
