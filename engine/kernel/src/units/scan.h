// Cumulative sums, products and extremes. Floats of up to 32 bits accumulate in float64.
#include "../../scan.h"

#include "../cast.h"
#include "../rows.h"

namespace lt {
namespace {

template <class T>
struct Accumulator {
  using type = T;
};
template <>
struct Accumulator<float> {
  using type = double;
};
template <>
struct Accumulator<Float16> : Accumulator<float> {};
template <>
struct Accumulator<BFloat16> : Accumulator<float> {};
template <>
struct Accumulator<Complex64> {
  using type = Complex128;
};

template <class A, class T>
LT_INLINE A grown(T x) {
  if constexpr (kind_of<T> == kComplex)
    return A(x.re, x.im);
  else
    return A(load_value(x));
}
template <class T, class A>
LT_INLINE T shrunk(A a) {
  if constexpr (kind_of<T> == kComplex)
    return T((RealOf<T>)a.re, (RealOf<T>)a.im);
  else
    return store_real<T>(a);
}

constexpr int64_t kStrip = 256;  // inner positions that are processed together
constexpr int64_t kChains = 8;  // interleaved rows, since each has a dependency on its last element

// kRows rows of n elements, step from one element to the next. Step has start() and
// next(accumulated, x).
template <class Step, int64_t kRows, class T>
LT_INLINE void accumulate_rows(const T *in, T *out, int64_t n, int64_t step, int64_t row) {
  using A = typename Accumulator<T>::type;
  A a[kRows];
  for (int64_t k = 0; k < kRows; k++) a[k] = Step::template start<A>();
  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = 0; k < kRows; k++) {
      a[k] = Step::template next<A>(a[k], grown<A>(in[k * row + i * step]));
      out[k * row + i * step] = shrunk<T>(a[k]);
    }
  }
}

// Rows of w adjacent positions, n of them with stride step.
template <class Step, class T>
LT_INLINE void accumulate_strip(const T *in, T *out, int64_t n, int64_t step, int64_t w) {
  using A = typename Accumulator<T>::type;
  A a[kStrip];
  for (int64_t k = 0; k < w; k++) a[k] = Step::template start<A>();
  for (; n > 0; n--, in += step, out += step) {
#pragma GCC ivdep
    for (int64_t k = 0; k < w; k++) {
      a[k] = Step::template next<A>(a[k], grown<A>(in[k]));
      out[k] = shrunk<T>(a[k]);
    }
  }
}

template <class Step, class T>
void accumulate(const lt_scan *s) {
  const T *in = (const T *)s->in;
  T *out = (T *)s->out[0];
  const int64_t row = s->n * s->inner;
  for (int64_t o = 0; o < s->outer; o++, in += row, out += row) {
    if (s->width == 1 && s->outer - o >= kChains) {
      accumulate_rows<Step, kChains, T>(in, out, s->n, s->inner, row);
      o += kChains - 1, in += (kChains - 1) * row, out += (kChains - 1) * row;
      continue;
    }
    for (int64_t j = 0; j < s->width; j += kStrip) {
      const int64_t w = s->width - j < kStrip ? s->width - j : kStrip;
      if (w == 1)
        accumulate_rows<Step, 1, T>(in + j, out + j, s->n, s->inner, row);
      else
        accumulate_strip<Step, T>(in + j, out + j, s->n, s->inner, w);
    }
  }
}

struct AddStep {
  template <class A>
  static A start() {
    return A(0);
  }
  template <class A>
  static A next(A a, A x) {
    return A(a + x);
  }
};
struct MulStep {
  template <class A>
  static A start() {
    return A(1);
  }
  template <class A>
  static A next(A a, A x) {
    return A(a * x);
  }
};
// log(e^a + e^x).
struct LogAddExpStep {
  template <class A>
  static A start() {
    return A(-INFINITY);
  }
  template <class A>
  static A next(A a, A x) {
    const A lo = x < a ? x : a, hi = x < a ? a : x;
    if (x != x || a != a) return a + x;
    return lo == hi && isinf(lo) ? lo : hi + (A)log1p(exp((double)(lo - hi)));
  }
};

// The same for complex numbers: the larger real part is factored out, unless it is infinite. NaN in
// one part makes both NaN.
template <>
inline Complex128 LogAddExpStep::start<Complex128>() {
  return {-INFINITY, 0};
}
template <>
inline Complex128 LogAddExpStep::next<Complex128>(Complex128 a, Complex128 x) {
  if (a.re != a.re || a.im != a.im || x.re != x.re || x.im != x.im) return {NAN, NAN};
  const Complex128 hi = x.re > a.re ? x : a, lo = x.re > a.re ? a : x;
  if (isinf(hi.re) || isinf(lo.re)) return hi;
  const double e = exp(lo.re - hi.re);
  const Complex128 sum = {1 + e * cos(lo.im - hi.im), e * sin(lo.im - hi.im)};
  return {hi.re + log(hypot(sum.re, sum.im)), hi.im + atan2(sum.im, sum.re)};
}

struct Cumsum {
  template <class T>
  static void row(const lt_scan *s) {
    accumulate<AddStep, T>(s);
  }
};
struct Cumprod {
  template <class T>
  static void row(const lt_scan *s) {
    accumulate<MulStep, T>(s);
  }
};
struct LogCumsumExp {
  template <class T>
  static void row(const lt_scan *s) {
    accumulate<LogAddExpStep, T>(s);
  }
};

// Running extremes with the index of the last element that equals them; NaN stays.
template <bool kLargest>
struct CumExtreme {
  template <class T>
  static void row(const lt_scan *s) {
    const T *in = (const T *)s->in;
    T *out = (T *)s->out[0];
    int64_t *at = (int64_t *)s->out[1];
    const int64_t step = s->inner;
    for (int64_t o = 0; o < s->outer; o++) {
      for (int64_t j = 0; j < s->width; j++) {
        const int64_t base = o * s->n * step + j, end = base + s->n * step;
        for (int64_t p = base; p < end;) {  // runs that one element is the extreme of
          const T best = in[p];
          const int64_t index = (p - base) / step;
          do {
            out[p] = best;
            at[p] = index;
            p += step;
          } while (p < end && !(in[p] != in[p] || (kLargest ? in[p] >= best : in[p] <= best)));
        }
      }
    }
  }
};
using Cummax = CumExtreme<true>;
using Cummin = CumExtreme<false>;

}  // namespace
}  // namespace lt

LT_UNIT(scan){
    {"cumsum", "scan", LT_STORED_MODULAR(Cumsum)},
    {"cumprod", "scan", LT_STORED_MODULAR(Cumprod)},
    {"logcumsumexp", "scan", LT_FLOATING_COMPLEX(LogCumsumExp)},
    {"cummax", "scan", LT_ORDERED(Cummax)},
    {"cummin", "scan", LT_ORDERED(Cummin)},
    LT_END,
};
