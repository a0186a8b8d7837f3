// Turns a function of elements into a row: contiguous, one operand constant, and strided forms of
// one loop.
#ifndef LIBTENSOR_KERNEL_ROWS_H
#define LIBTENSOR_KERNEL_ROWS_H

#include "prelude.h"

namespace lt {
namespace {

template <class R, class A, class F>
LT_INLINE void unary_row(char *const *data, const int64_t *s, int64_t n, F f) {
  if (s[0] == (int64_t)sizeof(R) && s[1] == (int64_t)sizeof(A)) {
    R *out = (R *)data[0];
    const A *a = (const A *)data[1];
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = f(a[i]);
    return;
  }
  char *out = data[0], *a = data[1];
  for (int64_t i = 0; i < n; i++, out += s[0], a += s[1]) *(R *)out = f(*(const A *)a);
}

template <class R, class A, class B, class F>
LT_INLINE void binary_row(char *const *data, const int64_t *s, int64_t n, F f) {
  if (s[0] == (int64_t)sizeof(R)) {
    R *out = (R *)data[0];
    const A *a = (const A *)data[1];
    const B *b = (const B *)data[2];
    if (s[1] == (int64_t)sizeof(A) && s[2] == (int64_t)sizeof(B)) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) out[i] = f(a[i], b[i]);
      return;
    }
    if (s[1] == (int64_t)sizeof(A) && s[2] == 0) {
      const B v = *b;
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) out[i] = f(a[i], v);
      return;
    }
    if (s[1] == 0 && s[2] == (int64_t)sizeof(B)) {
      const A v = *a;
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) out[i] = f(v, b[i]);
      return;
    }
  }
  char *out = data[0], *a = data[1], *b = data[2];
  for (int64_t i = 0; i < n; i++, out += s[0], a += s[1], b += s[2])
    *(R *)out = f(*(const A *)a, *(const B *)b);
}

template <class R, class A, class B, class C, class F>
LT_INLINE void ternary_row(char *const *data, const int64_t *s, int64_t n, F f) {
  if (s[0] == (int64_t)sizeof(R) && s[1] == (int64_t)sizeof(A) && s[2] == (int64_t)sizeof(B) &&
      s[3] == (int64_t)sizeof(C)) {
    R *out = (R *)data[0];
    const A *a = (const A *)data[1];
    const B *b = (const B *)data[2];
    const C *c = (const C *)data[3];
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = f(a[i], b[i], c[i]);
    return;
  }
  char *out = data[0], *a = data[1], *b = data[2], *c = data[3];
  for (int64_t i = 0; i < n; i++, out += s[0], a += s[1], b += s[2], c += s[3])
    *(R *)out = f(*(const A *)a, *(const B *)b, *(const C *)c);
}

}  // namespace
}  // namespace lt

// Kernel structs from an expression in a (and b) of dtype T; the result has dtype R.
#define LT_UNARY_TO(NAME, R, ...)                                                         \
  struct NAME {                                                                           \
    template <class T>                                                                    \
    static void row(char *const *data, const int64_t *strides, int64_t n, const void *) { \
      unary_row<R, T>(data, strides, n, [](T a) -> R { return __VA_ARGS__; });            \
    }                                                                                     \
  };
#define LT_BINARY_TO(NAME, R, ...)                                                        \
  struct NAME {                                                                           \
    template <class T>                                                                    \
    static void row(char *const *data, const int64_t *strides, int64_t n, const void *) { \
      binary_row<R, T, T>(data, strides, n, [](T a, T b) -> R { return __VA_ARGS__; });   \
    }                                                                                     \
  };
#define LT_UNARY(NAME, ...) LT_UNARY_TO(NAME, T, __VA_ARGS__)
#define LT_BINARY(NAME, ...) LT_BINARY_TO(NAME, T, __VA_ARGS__)

// Tables: LT_ROW(OP, T) is the row of kernel struct OP for type T. A kernel struct has `template
// <class T> static void row(char *const *, const int64_t *, int64_t, const void *)`.
#define LT_ROW(OP, T) (void *)lt::OP::row<T>
#define LT_NONE nullptr
// clang-format off
#define LT_SHORT_INTEGERS(OP) LT_ROW(OP, uint8_t), LT_ROW(OP, int8_t), LT_ROW(OP, int16_t), LT_ROW(OP, int32_t), LT_ROW(OP, int64_t)
#define LT_INTEGERS(OP) LT_SHORT_INTEGERS(OP), LT_ROW(OP, uint16_t), LT_ROW(OP, uint32_t), LT_ROW(OP, uint64_t)
// If the bits of a result do not depend on the sign of its operands, unsigned integers share the
// rows of signed ones.
#define LT_MODULAR(OP) LT_SHORT_INTEGERS(OP), LT_ROW(OP, int16_t), LT_ROW(OP, int32_t), LT_ROW(OP, int64_t)
#define LT_FLOATS(OP) LT_NONE, LT_NONE, LT_ROW(OP, float), LT_ROW(OP, double)
#define LT_COMPLEX(OP) LT_ROW(OP, lt::Complex64), LT_ROW(OP, lt::Complex128), LT_NONE, LT_NONE
#define LT_NO_INTEGERS LT_NONE, LT_NONE, LT_NONE, LT_NONE, LT_NONE, LT_NONE, LT_NONE, LT_NONE
#define LT_NO_FLOATS LT_NONE, LT_NONE, LT_NONE, LT_NONE
#define LT_NO_COMPLEX LT_NONE, LT_NONE, LT_NONE, LT_NONE
// The dtypes that a kernel is made for; 16-bit floats are computed on in float32, so that few tables have them.
#define LT_ALL(OP) {LT_ROW(OP, lt::Bool), LT_INTEGERS(OP), LT_FLOATS(OP), LT_COMPLEX(OP)}
#define LT_NUMBERS(OP) {LT_NONE, LT_INTEGERS(OP), LT_FLOATS(OP), LT_COMPLEX(OP)}
#define LT_ORDERED(OP) {LT_ROW(OP, lt::Bool), LT_INTEGERS(OP), LT_FLOATS(OP), LT_NO_COMPLEX}
#define LT_REALS(OP) {LT_NONE, LT_INTEGERS(OP), LT_FLOATS(OP), LT_NO_COMPLEX}
#define LT_INTEGRAL(OP) {LT_NONE, LT_INTEGERS(OP), LT_NO_FLOATS, LT_NO_COMPLEX}
#define LT_MODULAR_ALL(OP) {LT_ROW(OP, lt::Bool), LT_MODULAR(OP), LT_FLOATS(OP), LT_COMPLEX(OP)}
#define LT_MODULAR_NUMBERS(OP) {LT_NONE, LT_MODULAR(OP), LT_FLOATS(OP), LT_COMPLEX(OP)}
#define LT_MODULAR_INTEGRAL(OP) {LT_NONE, LT_MODULAR(OP), LT_NO_FLOATS, LT_NO_COMPLEX}
#define LT_BITS(OP) {LT_ROW(OP, lt::Bool), LT_MODULAR(OP), LT_NO_FLOATS, LT_NO_COMPLEX}
#define LT_FLOATING(OP) {LT_NONE, LT_NO_INTEGERS, LT_FLOATS(OP), LT_NO_COMPLEX}
#define LT_FLOATING_COMPLEX(OP) {LT_NONE, LT_NO_INTEGERS, LT_FLOATS(OP), LT_COMPLEX(OP)}
#define LT_COMPLEX_ONLY(OP) {LT_NONE, LT_NO_INTEGERS, LT_NO_FLOATS, LT_COMPLEX(OP)}
// Kernels on 16-bit floats in their storage format: by their bits, or with their own conversion.
#define LT_STORED_FLOATS(OP) LT_ROW(OP, lt::Float16), LT_ROW(OP, lt::BFloat16), LT_ROW(OP, float), LT_ROW(OP, double)
#define LT_STORED_FLOATING(OP) {LT_NONE, LT_NO_INTEGERS, LT_STORED_FLOATS(OP), LT_NO_COMPLEX}
#define LT_STORED_FLOATING_COMPLEX(OP) {LT_NONE, LT_NO_INTEGERS, LT_STORED_FLOATS(OP), LT_COMPLEX(OP)}
#define LT_STORED_NUMBERS(OP) {LT_NONE, LT_INTEGERS(OP), LT_STORED_FLOATS(OP), LT_COMPLEX(OP)}
#define LT_STORED_MODULAR(OP) {LT_NONE, LT_MODULAR(OP), LT_STORED_FLOATS(OP), LT_COMPLEX(OP)}
// clang-format on

// A kernel of one function that serves every dtype.
#define LT_SINGLE(NAME, FUNCTION)  \
  {                                \
    NAME, "", { (void *)FUNCTION } \
  }
#define LT_END           \
  {                      \
    nullptr, nullptr, {} \
  }

#endif
