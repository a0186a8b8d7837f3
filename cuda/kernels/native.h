// The place of engine/kernel/src/native.h, which takes functions of complex numbers from libm: a
// device has none, and no kernel for complex numbers where they would be needed.
#ifndef LIBTENSOR_CUDA_NATIVE_H
#define LIBTENSOR_CUDA_NATIVE_H
#define LIBTENSOR_KERNEL_NATIVE_H

#include "../../engine/kernel/src/chunks.h"

namespace lt {
namespace {

LT_INLINE float hypotenuse(float x, float y) {
  return float(__builtin_sqrt(double(x) * x + double(y) * y));
}
LT_INLINE double hypotenuse(double x, double y) { return __builtin_hypot(x, y); }

// Names that kernels for complex numbers have.
Complex128 cexp(Complex128);
Complex128 clog(Complex128);

}  // namespace
}  // namespace lt

#define LT_FUNCTION(NAME, REAL, COMPLEX)                                                  \
  struct NAME {                                                                           \
    template <class T>                                                                    \
    static void row(char *const *data, const int64_t *strides, int64_t n, const void *) { \
      vector_unary<T>(data, strides, n, [](Vec<T> a) -> Vec<T> { return REAL; });         \
    }                                                                                     \
  };

#endif
