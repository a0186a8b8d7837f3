// A thread's current device and streams, by their numbers.
#ifndef LIBTENSOR_CUDA_CURRENT_H
#define LIBTENSOR_CUDA_CURRENT_H

#include <cuda.h>

enum { LT_DEVICES = 64 };

__attribute__((visibility("hidden"))) int lt_current_device(void);
__attribute__((visibility("hidden"))) void lt_set_current_device(int device);
__attribute__((visibility("hidden"))) int lt_current_stream(int device);
__attribute__((visibility("hidden"))) void lt_set_current_stream(int device, int stream);
// Sets the context of a device, and returns its current stream.
__attribute__((visibility("hidden"))) CUresult lt_cuda_enter(CUcontext context, int device,
                                                             int *stream);

#endif
