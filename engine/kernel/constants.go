package kernel

// #include "alignment.h"
// #include "blocks.h"
// #include "fft.h"
// #include "lu.h"
// #include "pooling.h"
// #include "recurrence.h"
// #include "reduce.h"
// #include "scan.h"
// #include "small.h"
// #include "update.h"
import "C"

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/kernelapi"
)

// Activations of a linear layer of blocks are rounded in items of ActivationValues, which take ActivationBytes.
const (
	ActivationValues = C.LT_BLOCK
	ActivationBytes  = int64(unsafe.Sizeof(Activations{}))
)

// The kinds of transforms.
const (
	FFTComplex  = C.LT_FFT_COMPLEX
	FFTOnesided = C.LT_FFT_ONESIDED
	FFTTwosided = C.LT_FFT_TWOSIDED
	FFTReal     = C.LT_FFT_REAL
)

// The steps of a line that threads share.
const (
	FFTAll     = C.LT_FFT_ALL
	FFTRoom    = C.LT_FFT_ROOM
	FFTPrepare = C.LT_FFT_PREPARE
	FFTColumns = C.LT_FFT_COLUMNS
	FFTRows    = C.LT_FFT_ROWS
	FFTFinish  = C.LT_FFT_FINISH
)

// The kinds of cells.
const (
	TanhCell  = C.LT_TANH
	ReluCell  = C.LT_RELU
	LSTMCell  = C.LT_LSTM
	GRUCell   = C.LT_GRU
	CarryCell = C.LT_CARRY
)

// LULimit is the largest number of columns of a block, and of rows of a triangle, in an LU factorization.
const LULimit = C.LT_LU

// SmallLimit is the most rows and columns of small matrices.
const SmallLimit = C.LT_SMALL

// The constants of package kernelapi must have the values of C's.
var (
	_ [kernelapi.TotalBytes]struct{}    = [C.LT_TOTAL]struct{}{}
	_ [kernelapi.SortIndex]struct{}     = [C.LT_SORT_INDEX]struct{}{}
	_ [kernelapi.Adagrad]struct{}       = [C.LT_ADAGRAD]struct{}{}
	_ [kernelapi.AlignmentRoom]struct{} = [C.LT_ALIGNMENT_ROOM]struct{}{}
	_ [kernelapi.PoolDims]struct{}      = [C.LT_POOL_DIMS]struct{}{}
)
