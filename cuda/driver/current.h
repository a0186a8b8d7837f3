// A thread's current device and streams, by their numbers.
#ifndef LIBTENSOR_CUDA_CURRENT_H
#define LIBTENSOR_CUDA_CURRENT_H

#include <cuda.h>

enum { LT_DEVICES = 64 };

__attribute__((visibility("hidden"))) int lt_current_device(void);
__attribute__((visibility("hidden"))) void lt_set_current_device(int device);
__attribute__((visibility("hidden"))) int lt_current_stream(int device);
__attribute__((visibility("hidden"))) void lt_set_current_stream(int device, int stream);
// The calling thread's current stream on a device, the context that was current before, NULL for
// none or the device's, and the last function of the driver that was called.
typedef struct {
  int stream;
  CUcontext former;
  const char *call;
} lt_entered;

// Makes the context of a device current.
__attribute__((visibility("hidden"))) CUresult lt_cuda_enter(CUcontext context, int device,
                                                             lt_entered *entered);
// Makes a former context current again, which another library may have set.
__attribute__((visibility("hidden"))) void lt_cuda_leave(CUcontext former);

#endif
