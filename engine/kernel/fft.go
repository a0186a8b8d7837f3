package kernel

// #include "fft.h"
import "C"

import "unsafe"

// FFTPlan holds the arguments for the plan of a Fourier transform; it mirrors lt_fft_plan.
type FFTPlan struct {
	Plan, Own, Shared                uintptr
	N, Real, Adjacent                int64
	PlanBytes, OwnBytes, SharedBytes int64
	Groups                           [2]int64
	Unfinished                       int64
}

// FFT is a call of Fourier transforms; it mirrors lt_fft.
type FFT struct {
	Plan, In, Out, Own, Shared, Copy, Made      uintptr
	N, Kind, Inverse, Step, Line                int64
	Begin, End                                  int64
	InStep, OutStep, Ndim, CopyBytes, MadeBytes int64
	Scale                                       float64
	Sizes, InStrides, OutStrides                [64]int64
}

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

// The two must agree to the byte.
var (
	_ [unsafe.Sizeof(FFTPlan{}) - C.sizeof_lt_fft_plan]struct{}
	_ [C.sizeof_lt_fft_plan - unsafe.Sizeof(FFTPlan{})]struct{}
	_ [unsafe.Sizeof(FFT{}) - C.sizeof_lt_fft]struct{}
	_ [C.sizeof_lt_fft - unsafe.Sizeof(FFT{})]struct{}
)
