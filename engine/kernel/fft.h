// The interface of Go and the Fourier transforms.
#ifndef LIBTENSOR_KERNEL_FFT_H
#define LIBTENSOR_KERNEL_FFT_H

#include "abi.h"

// Creates the plan of transforms of n points, with `real` of real input. A first call, with plan 0,
// computes plan_bytes; a second one writes the plan, which contains no addresses, and computes the
// rest: the scratch of a thread and of a line, and the `groups` of both rounds of a line that
// threads can share, 0 if they cannot. If the plan is `unfinished`, a third call with scratch is
// needed. `adjacent`: elements of adjacent lines are contiguous.
typedef struct {
  uintptr_t plan, own, shared;
  int64_t n, real, adjacent;
  int64_t plan_bytes, own_bytes, shared_bytes;
  int64_t groups[2], unfinished;
} lt_fft_plan;

enum { LT_FFT_COMPLEX, LT_FFT_ONESIDED, LT_FFT_TWOSIDED, LT_FFT_REAL };

// The operation of a call: all of the lines from begin to end, or a step of line `line`, with the
// groups from begin to end in the two rounds. The first call computes the space for copies of a
// line: copy_bytes of one before the transform, made_bytes of one after it.
enum { LT_FFT_ALL, LT_FFT_ROOM, LT_FFT_PREPARE, LT_FFT_COLUMNS, LT_FFT_ROWS, LT_FFT_FINISH };

// Transforms of n points along lines with strides of in_step and out_step bytes: complex to
// complex, real to the first half or to all of the complex results, Hermitian complex to real. The
// other dimensions, the fastest first, have strides in bytes. Results are multiplied by scale.
typedef struct {
  uintptr_t plan, in, out, own, shared, copy, made;
  int64_t n, kind, inverse, step, line, begin, end;
  int64_t in_step, out_step, ndim, copy_bytes, made_bytes;
  double scale;
  int64_t sizes[LT_DIMS], in_strides[LT_DIMS], out_strides[LT_DIMS];
} lt_fft;

#endif
