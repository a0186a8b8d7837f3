// The CUDA driver as far as gorgonia.org/cu does not offer it.
#ifndef LIBTENSOR_CUDA_DRIVER_H
#define LIBTENSOR_CUDA_DRIVER_H

#include <stddef.h>

// Why there is no driver to call, in words; empty where there is one.
__attribute__((visibility("hidden"))) const char *lt_driver_absence(void);

#endif
