// Included first by every kernel source: compiler settings that cgo's flag list does not take, and
// the element types.
#ifndef LIBTENSOR_KERNEL_PRELUDE_H
#define LIBTENSOR_KERNEL_PRELUDE_H

#if defined(__GNUC__) && !defined(__clang__)
// Few CPUs use the baseline of x86-64: it is optimized for compile time and size.
#if defined(__x86_64__) && !defined(__AVX2__)
#pragma GCC optimize("O2,tree-vectorize,vect-cost-model=very-cheap")
#else
#pragma GCC optimize("O3")
#endif
#pragma GCC optimize("no-math-errno,no-trapping-math,wrapv,fp-contract=off")
#else
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "../abi.h"

// The table of a unit's kernels, named after unit and tier: lt_arithmetic_avx2.
#define LT_JOIN(a, b, c) a##b##_##c
#define LT_SYMBOL(unit, tier) LT_JOIN(lt_, unit, tier)
#define LT_UNIT(unit) extern "C" const lt_kernel LT_SYMBOL(unit, LT_TIER)[] =

#define LT_INLINE inline __attribute__((always_inline))

// Everything below src/ is in an unnamed namespace: the same names are compiled once per tier into
// one library, and a linker that merged two of them would run AVX-512 code on a CPU without it.
namespace lt {
namespace {

struct Bool {
  uint8_t v;
  Bool() = default;
  LT_INLINE Bool(bool b) : v(b) {}
  LT_INLINE operator bool() const { return v != 0; }
};

struct Float16 {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

template <class T>
struct Complex {
  T re, im;
  Complex() = default;
  LT_INLINE Complex(T r, T i = T(0)) : re(r), im(i) {}
  LT_INLINE friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  LT_INLINE friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  // A sum with a negated product: GCC fuses a difference next to a sum when it vectorizes, even
  // with fp-contract=off, so that a result would depend on its position in a row.
  LT_INLINE friend Complex operator*(Complex a, Complex b) {
    return {a.re * b.re + negated(a.im * b.im), a.re * b.im + a.im * b.re};
  }
  LT_INLINE friend Complex operator-(Complex a) { return {-a.re, -a.im}; }
  LT_INLINE friend bool operator==(Complex a, Complex b) { return a.re == b.re && a.im == b.im; }
  LT_INLINE friend bool operator!=(Complex a, Complex b) { return !(a == b); }
  // Smith's method: scaling by the larger part keeps the intermediate values in range. Without
  // branches, so that loops over it run in vectors.
  LT_INLINE friend Complex operator/(Complex a, Complex b) {
    const bool real = magnitude(b.re) >= magnitude(b.im), zero = b.re == 0 && b.im == 0;
    const T large = real ? b.re : b.im, small = real ? b.im : b.re;
    const T x = real ? a.re : a.im, y = real ? a.im : a.re;
    const T r = small / large, d = large + small * r;
    const T re = (x + y * r) / d, im = (real ? y - x * r : x * r - y) / d;
    const T nothing = magnitude(b.re);
    return {zero ? a.re / nothing : re, zero ? a.im / nothing : im};
  }

 private:
  // -x, in a form that no compiler converts to a difference.
  static LT_INLINE T negated(T x) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    Bits bits;
    memcpy(&bits, &x, sizeof(T));
    bits ^= Bits(1) << (8 * sizeof(T) - 1);
    memcpy(&x, &bits, sizeof(T));
    return x;
  }
  static LT_INLINE T magnitude(T x) {
    return T(sizeof(T) == 4 ? __builtin_fabsf(x) : __builtin_fabs(x));
  }
};

using Complex64 = Complex<float>;
using Complex128 = Complex<double>;
struct Complex32 {
  Float16 re, im;
};
struct BComplex32 {
  BFloat16 re, im;
};

// Traits: the dtype number of a type, its real counterpart, and its category.
enum Kind { kBool, kInteger, kFloating, kComplex };

template <class T>
struct Traits;
#define LT_TRAITS(T, NUMBER, REAL, KIND)  \
  template <>                             \
  struct Traits<T> {                      \
    static constexpr int number = NUMBER; \
    static constexpr Kind kind = KIND;    \
    using Real = REAL;                    \
  };
LT_TRAITS(Bool, 0, Bool, kBool)
LT_TRAITS(uint8_t, 1, uint8_t, kInteger)
LT_TRAITS(int8_t, 2, int8_t, kInteger)
LT_TRAITS(int16_t, 3, int16_t, kInteger)
LT_TRAITS(int32_t, 4, int32_t, kInteger)
LT_TRAITS(int64_t, 5, int64_t, kInteger)
LT_TRAITS(Float16, 6, Float16, kFloating)
LT_TRAITS(BFloat16, 7, BFloat16, kFloating)
LT_TRAITS(float, 8, float, kFloating)
LT_TRAITS(double, 9, double, kFloating)
LT_TRAITS(Complex64, 10, float, kComplex)
LT_TRAITS(Complex128, 11, double, kComplex)
LT_TRAITS(Complex32, 12, Float16, kComplex)
LT_TRAITS(BComplex32, 13, BFloat16, kComplex)
#ifndef LIBTENSOR_CUDA_SCALAR_H  // a device has no kernels of these
LT_TRAITS(uint16_t, 19, uint16_t, kInteger)
LT_TRAITS(uint32_t, 20, uint32_t, kInteger)
LT_TRAITS(uint64_t, 21, uint64_t, kInteger)
#endif
#undef LT_TRAITS

template <class T>
constexpr Kind kind_of = Traits<T>::kind;
template <class T>
using RealOf = typename Traits<T>::Real;

}  // namespace
}  // namespace lt
#endif
