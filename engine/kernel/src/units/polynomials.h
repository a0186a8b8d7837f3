// Orthogonal polynomials.
#include "../polynomials.h"

#include "../chunks.h"
#include "../long.h"

namespace lt {
namespace {

// vector(x, n) for lanes with degree n, which is mostly that of all, and scalar(x, degree) if the
// degree is not between 1 and kMost, x is close to 0, or the vector's value is not finite. A lane's
// value depends only on its operands.
template <int64_t kMost, class F, class G>
LT_INLINE Doubles at_degrees(Doubles x, Doubles degree, F vector, G scalar) {
  const Mask<double> fit = (degree >= 1.0) & (degree < double(kMost)) &
                           ((abs(x) > 0x1p-500) | (x == 0.0)) & (abs(x) < 0x1p500);
  Doubles left = select(fit, Doubles(1.0), Doubles(0.0)), y = Format<double>::nan;
  for (int i = 0; i < Doubles::N; i++) {
    if (left[i] == 0) continue;
    const int64_t n = int64_t(degree[i]);
    const Mask<double> here = (degree >= double(n)) & (degree < double(n + 1));
    y = select(here, vector(x, n), y);
    left = select(here, Doubles(0.0), left);
  }
  return where_fit(fit & (abs(y) < Format<double>::infinity), y,
                   [&](int i) { return scalar(x[i], degree[i]); });
}

// A family of polynomials: `vector` for doubles, and vectors in double length R, `scalar` for one
// number.
template <class T, class P>
LT_INLINE void polynomial_row(char *const *data, const int64_t *strides, int64_t n) {
  using R = std::conditional_t<sizeof(T) == 4, Doubles, Long>;
  const auto f = [](Doubles x, Doubles degree) __attribute__((always_inline)) {
    return at_degrees<P::kMost>(
        x, degree,
        [](Doubles a, int64_t k) __attribute__((noinline)) { return P::template vector<R>(a, k); },
        [](double a, double k) { return P::template scalar<Wider<T>>(a, k); });
  };
  vector_binary<T>(data, strides, n, [&](Vec<T> a, Vec<T> b) {
    if constexpr (sizeof(T) == 4)
      return in_double(a, b, f);
    else
      return f(a, b);
  });
}

// p_n, given p_1 and p_(k+1) = step(p_k, p_(k-1), k), p_0 being 1.
template <class R, class F>
LT_INLINE Doubles steps(R first, int64_t n, F step) {
  R before = 1.0, now = first;
  for (int64_t k = 1; k < n; k++) {
    const R next = step(now, before, double(k));
    before = now, now = next;
  }
  return number(now);
}

// k / m in all lanes.
template <class R>
LT_INLINE R ratio(double k, double m) {
  if constexpr (std::is_same_v<R, Doubles>)
    return k / m;
  else
    return Pair(k) / Pair(m);
}

template <Chebyshev kind, bool shifted>
struct OfChebyshev {
  static constexpr int64_t kMost = int64_t(1) << 40;
  template <class R>
  static LT_INLINE Doubles vector(Doubles a, int64_t n) {
    if constexpr (std::is_same_v<R, Long>)
      return number(chebyshev_at<kind>(shifted ? Long(two_sum(a + a, Doubles(-1.0))) : Long(a), n));
    const Doubles y = chebyshev_at<kind>(shifted ? a + a - 1.0 : a, n);
    return select(abs(y) > digits_lost<kind>(n), y, Doubles(Format<double>::nan));
  }
  template <class R>
  static double scalar(double a, double degree) {
    return chebyshev<kind, shifted, R>(a, degree);
  }
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *) {
    polynomial_row<T, OfChebyshev>(data, strides, n);
  }
};
using ChebyshevT = OfChebyshev<kFirst, false>;
using ChebyshevU = OfChebyshev<kSecond, false>;
using ChebyshevV = OfChebyshev<kThird, false>;
using ChebyshevW = OfChebyshev<kFourth, false>;
using ShiftedT = OfChebyshev<kFirst, true>;
using ShiftedU = OfChebyshev<kSecond, true>;
using ShiftedV = OfChebyshev<kThird, true>;
using ShiftedW = OfChebyshev<kFourth, true>;

// The others: STEP is p_(k+1) of x, k, now = p_k and before = p_(k-1), FIRST p_1.
#define LT_POLYNOMIAL(NAME, SCALAR, FIRST, STEP)                                          \
  struct NAME {                                                                           \
    static constexpr int64_t kMost = kLargeDegree;                                        \
    template <class R>                                                                    \
    static LT_INLINE Doubles vector(Doubles x, int64_t n) {                               \
      return steps<R>(FIRST, n, [=](R now, R before, double k) { return STEP; });         \
    }                                                                                     \
    template <class R>                                                                    \
    static double scalar(double a, double degree) {                                       \
      return SCALAR;                                                                      \
    }                                                                                     \
    template <class T>                                                                    \
    static void row(char *const *data, const int64_t *strides, int64_t n, const void *) { \
      polynomial_row<T, NAME>(data, strides, n);                                          \
    }                                                                                     \
  };
LT_POLYNOMIAL(HermiteH, hermite<R>(a, degree, 2), x + x, now *(x + x) - before * Doubles(k + k))
LT_POLYNOMIAL(HermiteHe, hermite<R>(a, degree, 1), x, now *x - before * Doubles(k))
LT_POLYNOMIAL(LaguerreL, laguerre<R>(a, degree), R(1.0) - R(x),
              now + ((now - before) * Doubles(k) - now * x) * ratio<R>(1, k + 1))
LT_POLYNOMIAL(LegendreP, legendre<R>(a, degree), x,
              now *x + (now * x - before) * ratio<R>(k, k + 1))

}  // namespace
}  // namespace lt

LT_UNIT(polynomials){
    {"chebyshev_polynomial_t", "T>TT", LT_FLOATING(ChebyshevT)},
    {"chebyshev_polynomial_u", "T>TT", LT_FLOATING(ChebyshevU)},
    {"chebyshev_polynomial_v", "T>TT", LT_FLOATING(ChebyshevV)},
    {"chebyshev_polynomial_w", "T>TT", LT_FLOATING(ChebyshevW)},
    {"shifted_chebyshev_polynomial_t", "T>TT", LT_FLOATING(ShiftedT)},
    {"shifted_chebyshev_polynomial_u", "T>TT", LT_FLOATING(ShiftedU)},
    {"shifted_chebyshev_polynomial_v", "T>TT", LT_FLOATING(ShiftedV)},
    {"shifted_chebyshev_polynomial_w", "T>TT", LT_FLOATING(ShiftedW)},
    {"hermite_polynomial_h", "T>TT", LT_FLOATING(HermiteH)},
    {"hermite_polynomial_he", "T>TT", LT_FLOATING(HermiteHe)},
    {"laguerre_polynomial_l", "T>TT", LT_FLOATING(LaguerreL)},
    {"legendre_polynomial_p", "T>TT", LT_FLOATING(LegendreP)},
    LT_END,
};
