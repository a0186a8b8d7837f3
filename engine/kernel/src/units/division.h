// Division with rounding, and remainders. Operators check integers for zero divisors before they
// run these kernels.
#include "../chunks.h"

namespace lt {
namespace {

// Integers: the most negative one divided by -1 wraps. Up to 32 bits, the quotient of floats that
// hold both exactly is further from the next integer than its rounding error, and floats divide
// many at a time.
template <class T>
LT_INLINE T quotient(T a, T b) {
  const bool wraps = T(-1) < 0 && b == T(-1);
  if constexpr (sizeof(T) <= 2)
    return wraps ? T(-a) : T((int32_t)(float(a) / float(b)));
  else if constexpr (sizeof(T) == 4)
    return wraps ? T(-a) : T((int64_t)(double(a) / double(b)));
  else
    return wraps ? T(-a) : T(a / b);
}

// finish(a, b, quotient(a, b)) for a row. If 64-bit floats are converted in vectors, 64-bit
// integers that they represent are divided like shorter ones.
template <class T, class F>
LT_INLINE void quotient_row(char *const *data, const int64_t *strides, int64_t n, F finish) {
#ifdef __AVX512DQ__
  if constexpr (sizeof(T) == 8)
    return chunked<T, T, T>(data, strides, n, [&](T *out, int64_t m, const T *a, const T *b) {
      constexpr uint64_t kHalf = T(-1) < 0 ? (uint64_t)1 << 52 : 0;
      uint64_t far = 0;
      for (int64_t i = 0; i < m; i++)
        far |= (((uint64_t)a[i] + kHalf) | ((uint64_t)b[i] + kHalf)) >> 53;
#pragma GCC ivdep
      for (int64_t i = 0; !far && i < m; i++)
        out[i] = finish(a[i], b[i], T(double(a[i]) / double(b[i])));
      for (int64_t i = 0; far && i < m; i++) out[i] = finish(a[i], b[i], quotient(a[i], b[i]));
    });
  else
#endif
    binary_row<T, T, T>(data, strides, n,
                        [&](T a, T b) -> T { return finish(a, b, quotient(a, b)); });
}

template <class T>
LT_INLINE T fmod_slow(T a, T b) {
  return sizeof(T) == 4 ? T(__builtin_fmodf(a, b)) : T(__builtin_fmod(a, b));
}

// a - b trunc(a / b), exactly, if the quotient is small and the divisor finite; otherwise it sets
// *far. The product is subtracted by a fused operation, and a quotient that was rounded up to an
// integer results in a negative remainder. NaN results as required.
#if LT_FMA
template <class T>
LT_INLINE T fmod_fast(T a, T b, IntOf<T> *far) {
  constexpr bool narrow = sizeof(T) == 4;
  const T x = T(__builtin_fabs(a)), y = T(__builtin_fabs(b));
  const T q = narrow ? T(__builtin_truncf(float(x / y))) : T(__builtin_trunc(x / y));
  *far |= (q >= T(narrow ? 0x1p22 : 0x1p51) ? IntOf<T>(1) : IntOf<T>(0)) |
          (y > T(narrow ? __FLT_MAX__ : __DBL_MAX__) ? IntOf<T>(1) : IntOf<T>(0));
  const T r =
      narrow ? T(__builtin_fmaf(float(-q), float(y), float(x))) : T(__builtin_fma(-q, y, x));
  return T(__builtin_copysign(r < 0 ? r + y : r, a));
}
#else
template <class T>
LT_INLINE T fmod_fast(T a, T b, IntOf<T> *) {
  return fmod_slow(a, b);
}
#endif

// The rest with the divisor's sign, from the rest with the dividend's.
template <class T>
LT_INLINE T to_divisor_sign(T r, T b) {
  return (r != 0) & ((r < 0) != (b < 0)) ? T(r + b) : r;
}

// floor(a / b) from r = fmod(a, b), as CPython's float floor division rounds.
template <class T>
LT_INLINE T floor_from_fmod(T a, T b, T r) {
  T q = (a - r) / b;
  q -= (r != 0) & ((r < 0) != (b < 0)) ? T(1) : T(0);
  T f = sizeof(T) == 4 ? T(__builtin_floorf(float(q))) : T(__builtin_floor(q));
  f += q - f > T(0.5) ? T(1) : T(0);
  f = q == 0 ? T(__builtin_copysign(T(0), a / b)) : f;
  return b == 0 ? a / b : f;
}

// finish(a, b, fmod(a, b)) for a row; elements with a large or non-finite quotient are recomputed.
template <class T, class F>
LT_INLINE void fmod_row(char *const *data, const int64_t *strides, int64_t n, F finish) {
  chunked<T, T, T>(data, strides, n, [&](T *out, int64_t m, const T *a, const T *b) {
    T r[chunk_of<T>];
    IntOf<T> far = 0;
    for (int64_t i = 0; i < m; i++) r[i] = fmod_fast(a[i], b[i], &far);
    if (far)
      for (int64_t i = 0; i < m; i++) r[i] = fmod_slow(a[i], b[i]);
#pragma GCC ivdep
    for (int64_t i = 0; i < m; i++) out[i] = finish(a[i], b[i], r[i]);
  });
}

#define LT_DIVISION(NAME, INTEGER, FLOATING)                                              \
  struct NAME {                                                                           \
    template <class T>                                                                    \
    static void row(char *const *data, const int64_t *strides, int64_t n, const void *) { \
      if constexpr (kind_of<T> == kInteger)                                               \
        quotient_row<T>(data, strides, n, [](T a, T b, T q) -> T {                        \
          (void)a;                                                                        \
          (void)b;                                                                        \
          return INTEGER;                                                                 \
        });                                                                               \
      else                                                                                \
        FLOATING;                                                                         \
    }                                                                                     \
  };
#define LT_FMOD_ROW(FINISH)                              \
  fmod_row<T>(data, strides, n, [](T a, T b, T r) -> T { \
    (void)a;                                             \
    (void)b;                                             \
    return FINISH;                                       \
  })

template <class T>
LT_INLINE T trunc_divide(T a, T b) {
  return sizeof(T) == 4 ? T(__builtin_truncf(float(a / b))) : T(__builtin_trunc(a / b));
}

LT_DIVISION(TruncDivide, q, (binary_row<T, T, T>(data, strides, n, trunc_divide<T>)))
LT_DIVISION(FloorDivide, (a < 0) != (b < 0) && T(q * b) != a ? T(q - 1) : q,
            LT_FMOD_ROW(floor_from_fmod(a, b, r)))
LT_DIVISION(Remainder, to_divisor_sign(T(a - q * b), b), LT_FMOD_ROW(to_divisor_sign(r, b)))
LT_DIVISION(Fmod, T(a - q * b), LT_FMOD_ROW(r))

}  // namespace
}  // namespace lt

LT_UNIT(division){
    {"trunc_divide", "T>TT", LT_REALS(TruncDivide)},
    {"floor_divide", "T>TT", LT_REALS(FloorDivide)},
    {"remainder", "T>TT", LT_REALS(Remainder)},
    {"fmod", "T>TT", LT_REALS(Fmod)},
    LT_END,
};
