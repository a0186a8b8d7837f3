// Vec<T> of engine/kernel/src/vec.h with one lane, for a device with threads as lanes: kernels use
// the same names. Included before the kernels' sources, it replaces vec.h and intrinsics.h.
#ifndef LIBTENSOR_CUDA_KERNELS_SCALAR_H
#define LIBTENSOR_CUDA_KERNELS_SCALAR_H
#define LT_VEC_H_
#define LIBTENSOR_KERNEL_INTRINSICS_H
#define LT_FMA 1
#define LT_BITMASK 0

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>
#include <utility>

#undef LT_INLINE
#define LT_INLINE inline __attribute__((always_inline))

namespace lt {
namespace {

template <class T>
using IntOf =
    std::conditional_t<sizeof(T) == 8, int64_t,
                       std::conditional_t<sizeof(T) == 4, int32_t,
                                          std::conditional_t<sizeof(T) == 2, int16_t, int8_t>>>;
// The one lane.
template <class T>
struct Lane {
  T x;
  LT_INLINE operator T() const { return x; }
  LT_INLINE T &operator[](int) { return x; }
  LT_INLINE const T &operator[](int) const { return x; }
};
template <class T>
using Raw = Lane<T>;

template <class I>
constexpr I lowest = I(std::make_unsigned_t<I>(1) << (8 * sizeof(I) - 1));

template <class To, class From>
LT_INLINE To same_bits(From from) {
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

template <class T>
struct Mask {
  bool m;
  LT_INLINE friend Mask operator&(Mask a, Mask b) { return {a.m && b.m}; }
  LT_INLINE friend Mask operator|(Mask a, Mask b) { return {a.m || b.m}; }
  LT_INLINE friend Mask operator^(Mask a, Mask b) { return {a.m != b.m}; }
  LT_INLINE friend Mask operator!(Mask a) { return {!a.m}; }
};

template <class T>
struct Vec {
  static constexpr int N = 1;
  Lane<T> v;

  Vec() = default;
  LT_INLINE Vec(T x) : v{x} {}

  LT_INLINE T operator[](int) const { return v.x; }

  LT_INLINE friend Vec operator+(Vec a, Vec b) { return T(a.v.x + b.v.x); }
  LT_INLINE friend Vec operator-(Vec a, Vec b) { return T(a.v.x - b.v.x); }
  LT_INLINE friend Vec operator*(Vec a, Vec b) { return T(a.v.x * b.v.x); }
  LT_INLINE friend Vec operator/(Vec a, Vec b) { return T(a.v.x / b.v.x); }
  LT_INLINE friend Vec operator-(Vec a) { return T(-a.v.x); }
  LT_INLINE friend Vec operator&(Vec a, Vec b) { return T(a.v.x & b.v.x); }
  LT_INLINE friend Vec operator|(Vec a, Vec b) { return T(a.v.x | b.v.x); }
  LT_INLINE friend Vec operator^(Vec a, Vec b) { return T(a.v.x ^ b.v.x); }
  LT_INLINE friend Vec operator~(Vec a) { return T(~a.v.x); }
  LT_INLINE friend Vec operator<<(Vec a, int n) { return T(std::make_unsigned_t<T>(a.v.x) << n); }
  LT_INLINE friend Vec operator>>(Vec a, int n) { return T(a.v.x >> n); }

  LT_INLINE friend Mask<T> operator<(Vec a, Vec b) { return {a.v.x < b.v.x}; }
  LT_INLINE friend Mask<T> operator<=(Vec a, Vec b) { return {a.v.x <= b.v.x}; }
  LT_INLINE friend Mask<T> operator>(Vec a, Vec b) { return {a.v.x > b.v.x}; }
  LT_INLINE friend Mask<T> operator>=(Vec a, Vec b) { return {a.v.x >= b.v.x}; }
  LT_INLINE friend Mask<T> operator==(Vec a, Vec b) { return {a.v.x == b.v.x}; }
  LT_INLINE friend Mask<T> operator!=(Vec a, Vec b) { return {a.v.x != b.v.x}; }
};

template <class T>
LT_INLINE bool any(Mask<T> a) {
  return a.m;
}
template <class T>
LT_INLINE bool all(Mask<T> a) {
  return a.m;
}
template <class T>
LT_INLINE Vec<T> select(Mask<T> m, Vec<T> a, Vec<T> b) {
  return m.m ? a : b;
}
template <class U, class T>
LT_INLINE Mask<U> mask_cast(Mask<T> a) {
  return {a.m};
}

template <class T>
LT_INLINE Vec<T> load(const T *p) {
  return *p;
}
template <class T>
LT_INLINE void store(T *p, Vec<T> a) {
  *p = a.v.x;
}
template <class T>
LT_INLINE Vec<T> load_partial(const T *p, int n) {
  return n ? *p : T(1);
}
template <class T>
LT_INLINE void store_partial(T *p, Vec<T> a, int n) {
  if (n) *p = a.v.x;
}

template <class U, class T>
LT_INLINE Vec<U> bit_cast(Vec<T> a) {
  return same_bits<U>(a.v.x);
}
template <class T>
LT_INLINE Vec<T> sign_bit(Vec<T> a) {
  using I = IntOf<T>;
  return bit_cast<T>(bit_cast<I>(a) & Vec<I>(lowest<I>));
}
template <class T>
LT_INLINE Vec<T> abs(Vec<T> a) {
  using I = IntOf<T>;
  return bit_cast<T>(bit_cast<I>(a) & Vec<I>(I(~lowest<I>)));
}
template <class T>
LT_INLINE Vec<T> xor_bits(Vec<T> a, Vec<T> b) {
  using I = IntOf<T>;
  return bit_cast<T>(bit_cast<I>(a) ^ bit_cast<I>(b));
}
template <class T>
LT_INLINE Vec<T> copysign(Vec<T> magnitude, Vec<T> sign) {
  using I = IntOf<T>;
  return bit_cast<T>(bit_cast<I>(abs(magnitude)) | bit_cast<I>(sign_bit(sign)));
}

LT_INLINE Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) {
  return ::fmaf(a.v.x, b.v.x, c.v.x);
}
LT_INLINE Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) {
  return ::fma(a.v.x, b.v.x, c.v.x);
}
LT_INLINE Vec<float> sqrt(Vec<float> a) { return ::sqrtf(a.v.x); }
LT_INLINE Vec<double> sqrt(Vec<double> a) { return ::sqrt(a.v.x); }
LT_INLINE Vec<float> round_even(Vec<float> a) { return ::rintf(a.v.x); }
LT_INLINE Vec<double> round_even(Vec<double> a) { return ::rint(a.v.x); }
LT_INLINE Vec<float> floor(Vec<float> a) { return ::floorf(a.v.x); }
LT_INLINE Vec<double> floor(Vec<double> a) { return ::floor(a.v.x); }
template <class T>
LT_INLINE Vec<T> trunc(Vec<T> a) {
  return copysign(floor(abs(a)), a);
}
template <class T>
LT_INLINE Vec<T> min(Vec<T> a, Vec<T> b) {
  return a.v.x < b.v.x ? a : b;
}
template <class T>
LT_INLINE Vec<T> max(Vec<T> a, Vec<T> b) {
  return a.v.x > b.v.x ? a : b;
}

template <class U, class T>
LT_INLINE Vec<U> convert(Vec<T> a) {
  return U(a.v.x);
}

// A float vector as doubles: both halves are the one lane.
struct Wide {
  Vec<double> lo, hi;
};
LT_INLINE Wide widen(Vec<float> a) { return {double(a.v.x), double(a.v.x)}; }
LT_INLINE Vec<float> narrow(Wide a) { return float(a.lo.v.x); }

}  // namespace
}  // namespace lt
#endif
