// Functions in bins: the coefficients of a polynomial are chosen lane by lane from two registers.
// Only AVX-512 has registers for enough of them.
#ifndef LT_VMATH_BINS_H_
#define LT_VMATH_BINS_H_

#include "gen_bins.h"
#include "vmath_core.h"

#if LT_BITMASK
namespace lt {
namespace {

// The elements of a table at the last bits of each index.
LT_INLINE Floats pick(const float (&table)[32], Vec<int32_t> index) {
  return (Raw<float>)_mm512_permutex2var_ps((__m512)load(table).v, (__m512i)index.v,
                                            (__m512)load(table + 16).v);
}
LT_INLINE Doubles pick(const double (&table)[16], Vec<int64_t> index) {
  return (Raw<double>)_mm512_permutex2var_pd((__m512d)load(table).v, (__m512i)index.v,
                                             (__m512d)load(table + 8).v);
}

// The polynomial of the coefficients from table[first] to table[last].
template <int first, int last, class T, size_t rows, size_t bins>
LT_INLINE Vec<T> picked_poly(const T (&table)[rows][bins], Vec<IntOf<T>> index, Vec<T> d) {
  const Vec<T> c = pick(table[first], index);
  if constexpr (first == last)
    return c;
  else
    return fma(picked_poly<first + 1, last>(table, index, d), d, c);
}

// The function of a table with a second part of the first coefficient, which is multiplied in
// double length.
template <class T, size_t rows, size_t bins>
LT_INLINE Two<T> in_bins(const T (&table)[rows][bins], Vec<IntOf<T>> index, Vec<T> x) {
  const Vec<T> d = x - pick(table[0], index), value = pick(table[1], index);
  const Vec<T> slope = pick(table[2], index);
  const Vec<T> rest =
      fma(picked_poly<3, rows - 2>(table, index, d), d, pick(table[rows - 1], index));
  const Vec<T> hi = fma(d, slope, value);
  return {hi, fma(d, rest, fma(d, slope, value - hi))};
}

// The bins of a table whose bins divide octaves from `low` on.
template <class T>
LT_INLINE Vec<IntOf<T>> octave_bin(Vec<T> m, T low) {
  constexpr int parts = sizeof(T) == 4 ? 2 : 1;  // bits of the fraction that count
  return bit_cast<IntOf<T>>(max(Vec<T>(low), m)) >> (Format<T>::fraction_bits - parts);
}

// An odd function, constant from `high` on; the polynomial of the first bin is for f(x) - x.
template <size_t rows>
LT_INLINE Floats odd_in_bins(const float (&table)[rows][32], Floats x, float low, float high) {
  const Floats m = min(Floats(high), abs(x));
  const Vec<int32_t> index = octave_bin(m, low);
  const Floats d = m - pick(table[0], index);
  const Floats value = select(m < low * 1.25f, m, pick(table[1], index));
  return copysign(fma(d, picked_poly<2, rows - 1>(table, index, d), value), x);
}

// pi/16 in three parts. Multiples of the first two are exact for n pi/16 up to most_in_bins.
constexpr float sixteenth[] = {0xc90fdbp-26f, -0x2efp-37f, 0x5a308dp-64f}, most_in_bins = 3200;

// sin(x + part pi/16) for 0 <= x <= most_in_bins; x = n pi/16 + d + lo.
LT_INLINE Floats sin_in_bins(Floats x, int32_t part) {
  const Integer<float> n = nearest_product(x, Floats(0xa2f983p-21f));
  const Floats most = minus_product(x, n.value, Floats(sixteenth[0]));
  const Floats d = minus_product(most, n.value, Floats(sixteenth[1]));
  const Floats exact = minus_product(most - d, n.value, Floats(sixteenth[1]));
  const Floats lo = minus_product(exact, n.value, Floats(sixteenth[2]));
  const Vec<int32_t> index = n.bits + part;
  const Floats s = pick(sine_bins[0], index), c = pick(sine_bins[0], index + 8), z = d * d;
  // sin(d + lo) - d and (cos d - 1) / z.
  const Floats sine = fma(d * z, fma(z, Floats(0x1.11110ep-7f), Floats(-0x1.555556p-3f)), lo);
  const Floats cosine = fma(z, Floats(0x1.55555p-5f), Floats(-0.5f));
  return s + fma(c, d, fma(c, sine, fma(s * z, cosine, pick(sine_bins[1], index))));
}

LT_INLINE Floats tanh_in_bins(Floats x) { return odd_in_bins(tanh_bins, x, 0x1p-4f, 9.0112f); }
LT_INLINE Doubles tanh_in_bins(Doubles x) {
  const Doubles m = min(Doubles(19.0625), abs(x));
  const Two<double> y = in_bins(tanh_bins_long, octave_bin(m * (8 / 9.0), 0.125), m);
  return copysign(y.hi + y.lo, x);
}

LT_INLINE Floats erf_in_bins(Floats x) { return odd_in_bins(erf_bins, x, 0x1p-5f, 3.92f); }
LT_INLINE Doubles erf_in_bins(Doubles x) {
  const Doubles m = min(Doubles(5.925), abs(x));
  const Two<double> y = in_bins(erf_bins_long, nearest(m * (128.0 / 49)).bits, m);
  return copysign(y.hi + y.lo, x);
}

// x times the normal distribution's function; `tail` is its value at -|x|.
template <class T>
LT_INLINE Vec<T> gelu_of_tail(Vec<T> x, Vec<T> bounded, Two<T> tail) {
  const Two<T> head = fast_two_sum(Vec<T>(T(1)), -tail.hi);
  const Mask<T> below = x < T(0);
  const Vec<T> lo = select(below, tail.lo, head.lo - tail.lo);
  return fma(x, select(below, tail.hi, head.hi), bounded * lo);
}
// For x from -5.44 on.
LT_INLINE Floats gelu_in_bins(Floats x) {
  const Floats bounded = min(Floats(5.44f), x), m = abs(bounded);
  const Vec<int32_t> index = nearest(m * (1024 / 177.0f)).bits;
  return gelu_of_tail(x, bounded, in_bins(normal_tail_bins, index, m));
}
// For |x| up to 3.87.
LT_INLINE Doubles gelu_in_bins(Doubles x) {
  const Doubles m = abs(x);
  return gelu_of_tail(x, x, in_bins(normal_tail_bins_long, nearest(m * 4.0).bits, m));
}

}  // namespace
}  // namespace lt
#endif

#endif  // LT_VMATH_BINS_H_
