// What Go and the Fourier transforms agree on.
#ifndef LIBTENSOR_KERNEL_FFT_H
#define LIBTENSOR_KERNEL_FFT_H

#include "abi.h"

// Makes the plan of transforms of n points, `real` ones of real numbers. A first call, where plan
// is 0, finds plan_bytes; a second one writes the plan, which holds no addresses, and finds the
// rest: the scratch of a thread and of a line, and the `groups` of both rounds of a line that
// threads can share, 0 where they cannot. A plan that is `unfinished` then needs a third call, with
// scratch. `adjacent` tells that numbers of neighbouring lines lie side by side.
typedef struct {
  uintptr_t plan, own, shared;
  int64_t n, real, adjacent;
  int64_t plan_bytes, own_bytes, shared_bytes;
  int64_t groups[2], unfinished;
} lt_fft_plan;

enum { LT_FFT_COMPLEX, LT_FFT_ONESIDED, LT_FFT_TWOSIDED, LT_FFT_REAL };

// What a call does: all of the lines from begin to end, or a step of line `line`, of which the two
// rounds do the groups from begin to end. The first call finds the room that it needs for copies of
// a line: copy_bytes of one before the transform, made_bytes of one behind it.
enum { LT_FFT_ALL, LT_FFT_ROOM, LT_FFT_PREPARE, LT_FFT_COLUMNS, LT_FFT_ROWS, LT_FFT_FINISH };

// Transforms of n points along lines, whose numbers are in_step and out_step bytes apart: complex
// to complex, real to the first half or to all of the complex results, Hermitian complex to real.
// The other dimensions, the fastest first, have strides in bytes. Results are multiplied by scale.
typedef struct {
  uintptr_t plan, in, out, own, shared, copy, made;
  int64_t n, kind, inverse, step, line, begin, end;
  int64_t in_step, out_step, ndim, copy_bytes, made_bytes;
  double scale;
  int64_t sizes[LT_DIMS], in_strides[LT_DIMS], out_strides[LT_DIMS];
} lt_fft;

#endif
