// cuFFT, which is opened when a Fourier transform is first computed.
#ifndef LIBTENSOR_CUDA_CUFFT_LIBRARY_H
#define LIBTENSOR_CUDA_CUFFT_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LT_HIDDEN __attribute__((visibility("hidden")))

enum { LT_CUFFT_RANK = 3 };
// Codes of cuFFT.
enum { LT_CUFFT_ALLOC_FAILED = 2 };
enum { LT_C2C = 0x29, LT_R2C = 0x2a, LT_C2R = 0x2c, LT_Z2Z = 0x69, LT_D2Z = 0x6a, LT_Z2D = 0x6c };

// The symbols that a library must have, and the slots for their addresses, in the same order.
enum { LT_CUFFT_NAMES = 12 };
LT_HIDDEN extern const char *const lt_cufft_names[LT_CUFFT_NAMES];
LT_HIDDEN extern void *const lt_cufft_slots;
// These return a status of cuFFT, and if it is not 0 the function that failed. They need the
// context of the device. A plan is of `batch` transforms of contiguous arrays of `rank` sizes, and
// needs a work area of `bytes`.
LT_HIDDEN int lt_cufft_plan(int *plan, int rank, const int64_t *sizes, int type, int64_t batch,
                            size_t *bytes, const char **function);
LT_HIDDEN int lt_cufft_transform(int plan, int type, bool inverse, uintptr_t stream, uint64_t room,
                                 uint64_t from, uint64_t to, const char **function);
LT_HIDDEN int lt_cufft_forget(int plan, const char **function);

#endif
