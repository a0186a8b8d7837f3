// Distances of every row of one matrix to every row of another.
#include "../rows.h"

namespace lt {
namespace {

// Rows of `width` values; out gets the p-norms of the differences of `rows` rows of a to `columns`
// rows of b.
struct distance_args {
  uintptr_t a, b, out;
  int64_t rows, columns, width;
  double p;
};

constexpr int kLanes = 16;  // interleaved partial sums, added up in a fixed order

// The sums of powers below which some of the powers may have lost digits.
template <class T>
constexpr T kSmallSum = sizeof(T) == 4 ? T(0x1p-102) : T(0x1p-969);

// The p-norm of the differences of two rows, scaled by the largest one, where the sum of their
// powers overflows or is small.
template <class T>
T scaled_distance(const T *a, const T *b, int64_t width, T p, T plain) {
  T most = 0, total = 0;
  for (int64_t k = 0; k < width; k++) {
    const T d = (T)fabs(a[k] - b[k]);
    most = d > most ? d : most;
  }
  if (most == 0 || most - most != 0) return plain;
  for (int64_t k = 0; k < width; k++) total += (T)pow(fabs(a[k] - b[k]) / most, p);
  return most * (T)pow(total, 1 / p);
}

// Step combines an accumulated value and a difference, which is >= 0 or NaN; Join combines two
// accumulated values. kPowers: these are sums of powers.
template <class T, bool kPowers, class Step, class Join, class End>
LT_INLINE void distances(const distance_args *g, Step step, Join join, End end) {
  const T *a = (const T *)g->a;
  T *out = (T *)g->out;
  for (int64_t i = 0; i < g->rows; i++, a += g->width) {
    const T *b = (const T *)g->b;
    for (int64_t j = 0; j < g->columns; j++, b += g->width) {
      T sums[kLanes] = {};
      int64_t k = 0;
      for (; k + kLanes <= g->width; k += kLanes)
        for (int l = 0; l < kLanes; l++) sums[l] = step(sums[l], (T)fabs(a[k + l] - b[k + l]));
      for (int l = 0; k < g->width; k++, l++) sums[l] = step(sums[l], (T)fabs(a[k] - b[k]));
      T total = sums[0];
      for (int l = 1; l < kLanes; l++) total = join(total, sums[l]);
      *out = end(total);
      if (kPowers && (total == T(INFINITY) || total < kSmallSum<T>))
        *out = scaled_distance(a, b, g->width, (T)g->p, *out);
      out++;
    }
  }
}

// The larger one of two values without a sign, or the NaN, is the one with the larger bits.
LT_INLINE float larger(float x, float y) {
  const int32_t a = __builtin_bit_cast(int32_t, x), b = __builtin_bit_cast(int32_t, y);
  return __builtin_bit_cast(float, a > b ? a : b);
}

LT_INLINE double larger(double x, double y) {
  const int64_t a = __builtin_bit_cast(int64_t, x), b = __builtin_bit_cast(int64_t, y);
  return __builtin_bit_cast(double, a > b ? a : b);
}

struct Distance {
  template <class T>
  static void row(const distance_args *g) {
    const T p = (T)g->p;
    const auto add = [](T x, T y) { return x + y; };
    const auto most = [](T x, T y) { return larger(x, y); };
    const auto same = [](T x) { return x; };
    if (p == 0)
      distances<T, false>(g, [](T s, T d) { return s + (d > 0 ? 1 : d); }, add, same);
    else if (p == 1)
      distances<T, false>(g, add, add, same);
    else if (p == 2)
      distances<T, true>(
          g, [](T s, T d) { return s + d * d; }, add, [](T s) { return (T)sqrt(s); });
    else if (isinf(p))
      distances<T, false>(g, most, most, same);
    else
      distances<T, true>(
          g, [p](T s, T d) { return s + (T)pow(d, p); }, add,
          [p](T s) { return (T)pow(s, 1 / p); });
  }
};

// Euclidean distances from out, -2 times the products of rows, and the rows' squared norms a and b
// (width 1). Rounding may take a square below 0.
struct Euclidean {
  template <class T>
  static void row(const distance_args *g) {
    const T *a = (const T *)g->a, *b = (const T *)g->b;
    T *out = (T *)g->out;
    for (int64_t i = 0; i < g->rows; i++, out += g->columns) {
#pragma GCC ivdep
      for (int64_t j = 0; j < g->columns; j++) {
        const T square = out[j] + (a[i] + b[j]);
        out[j] = (T)sqrt(square < 0 ? 0 : square);
      }
    }
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(distance){
    {"distance", "", LT_FLOATING(Distance)},
    {"euclidean", "", LT_FLOATING(Euclidean)},
    LT_END,
};
