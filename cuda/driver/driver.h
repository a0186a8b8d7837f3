// The CUDA driver as far as gorgonia.org/cu does not offer it.
#ifndef LIBTENSOR_CUDA_DRIVER_H
#define LIBTENSOR_CUDA_DRIVER_H

#include <stddef.h>

// The reason why no driver can be called, for users; empty if there is one.
__attribute__((visibility("hidden"))) const char *lt_driver_absence(void);

#endif
