// Vectors of which the first elements count, in memory. Few are of less than a whole vector.
#ifndef LIBTENSOR_KERNEL_PARTS_H
#define LIBTENSOR_KERNEL_PARTS_H

#include "vec.h"

namespace lt {
namespace {

template <class T>
__attribute__((noinline)) Vec<T> load_few(const T *p, int n) {
  return load_partial(p, n);
}
template <class T>
__attribute__((noinline)) void store_few(T *p, Vec<T> x, int n) {
  store_partial(p, x, n);
}

template <class T>
LT_INLINE Vec<T> load_part(const T *p, int n) {
  return n == Vec<T>::N ? load(p) : load_few(p, n);
}
template <class T>
LT_INLINE void store_part(T *p, Vec<T> x, int n) {
  if (n == Vec<T>::N)
    store(p, x);
  else
    store_few(p, x, n);
}

}  // namespace
}  // namespace lt
#endif
