// The libraries of CUDA, of which this library needs none: each is opened when it is first used.
#ifndef LIBTENSOR_CUDA_NVIDIA_LIBRARY_H
#define LIBTENSOR_CUDA_NVIDIA_LIBRARY_H

// The CUDA version of the driver, such as 12040; 0 without a driver.
__attribute__((visibility("hidden"))) int lt_driver_version(void);

#endif
