// Sums and products in the domain of logarithms.
#include "../native.h"
// Comes after native.h, which a device has in another form.
#include "../compound.h"
#include "../vmath_exp.h"
#include "../vmath_log.h"
#include "../vmath_trig.h"

namespace lt {
namespace {

// log v of a positive finite number.
LT_INLINE Doubles log_any_short(Doubles v) {
  const Split<double> s = split(v);
  return fma(s.k, Doubles(kLogOf2[0]), log_short(s.f));
}
// log(unit^a + unit^b) to the base of unit = m + log(1 + unit^-|a - b|) with m the larger. y is
// that result; infinite and undefined operands have no difference.
template <class T>
LT_INLINE Vec<T> logaddexp_special(Vec<T> a, Vec<T> b, Vec<T> y) {
  const Vec<T> m = max(a, b), infinity = Format<T>::infinity;
  y = select((abs(m) == infinity) | (min(a, b) == -infinity), m + T(0), y);
  return select((a == a) & (b == b), y, a + b);
}
// ln_unit: the logarithm of unit.
LT_INLINE Floats logaddexp_to(Floats a, Floats b, Two<double> ln_unit) {
  const Floats y = in_double(a, b, [=](Doubles v, Doubles w) {
    const Doubles d = max(-abs(v - w) * ln_unit.hi, Doubles(-700.0));
    return max(v, w) + log1p_short(exp2_short(d * Ln2<double>::inverse)) / ln_unit.hi;
  });
  return logaddexp_special(a, b, y);
}
LT_INLINE Doubles logaddexp_to(Doubles a, Doubles b, Two<double> ln_unit) {
  const Doubles m = max(a, b);
  const Two<double> d = two_sum(min(a, b), -m), x = multiply(d, ln_unit);
  const auto e = exp_parts(max(x.hi, Doubles(-746.0)), select(x.hi > -746.0, x.lo, Doubles(0.0)));
  const Two<double> f = fast_two_sum(e.hi, e.lo);
  // The low part of a power so small that it is no normal number does not count.
  const Doubles p_lo = select(x.hi > -700.0, f.lo * pow2(e.n), Doubles(0.0));
  const Two<double> p = {scale(f.hi, e.n), p_lo};
  const Two<double> l = divide(log1p_two(p.hi, p.lo), ln_unit);
  const Two<double> y = two_sum(m, l.hi);
  return logaddexp_special(a, b, y.hi + (y.lo + l.lo));
}
template <class T>
LT_INLINE Vec<T> vlogaddexp(Vec<T> a, Vec<T> b) {
  return logaddexp_to(a, b, Two<double>{1.0, 0.0});
}
template <class T>
LT_INLINE Vec<T> vlogaddexp2(Vec<T> a, Vec<T> b) {
  const Vec<T> y = logaddexp_to(a, b, Two<double>{kLogOf2[0], 0x1.abc9e3b39803fp-56});
  return select(a == b, a + T(1), y);
}

struct Logaddexp {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *) {
    if constexpr (kind_of<T> == kComplex)
      binary_row<T, T, T>(data, strides, n, [](T a, T b) {
        return rounded<T>(logaddexp_of(rounded<Complex128>(a), rounded<Complex128>(b)));
      });
    else
      vector_binary<T>(data, strides, n, [](Vec<T> a, Vec<T> b) { return vlogaddexp(a, b); });
  }
};

#define LT_VECTORS(NAME, ...)                                                             \
  struct NAME {                                                                           \
    template <class T>                                                                    \
    static void row(char *const *data, const int64_t *strides, int64_t n, const void *) { \
      vector_binary<T>(data, strides, n,                                                  \
                       [](Vec<T> a, Vec<T> b) -> Vec<T> { return __VA_ARGS__; });         \
    }                                                                                     \
  };

// a l, the product alone where the error of it overflows.
LT_INLINE Doubles scaled_up(Doubles a, Two<double> l) {
  const Two<double> p = two_prod(a, l.hi);
  const Doubles y = p.hi + fma(a, l.lo, p.lo);
  return select(y == y, y, p.hi);
}

// a log(b) from y, which is that for positive finite b; 0 where a is 0, unless b is NaN.
template <class T>
LT_INLINE Vec<T> xlogy_special(Vec<T> a, Vec<T> b, Vec<T> y) {
  y = select((b > T(0)) & (b < Format<T>::infinity), y, a * log_special(b, b));
  return select((a == T(0)) & (b == b), Vec<T>(T(0)), y);
}
LT_INLINE Floats vxlogy(Floats a, Floats b) {
  return xlogy_special(a, b,
                       in_double(a, b, [](Doubles v, Doubles w) { return v * log_any_short(w); }));
}
LT_INLINE Doubles vxlogy(Doubles a, Doubles b) {
  return xlogy_special(a, b, scaled_up(a, log_two(Two<double>{b, 0.0})));
}
LT_INLINE Floats vxlog1py(Floats a, Floats b) {
  const Floats y = in_double(a, b, [](Doubles v, Doubles w) { return v * log1p_short(w); });
  return xlogy_special(a, b + 1.0f, select(abs(b) < 0x1p-30f, a * b, y));
}
LT_INLINE Doubles vxlog1py(Doubles a, Doubles b) {
  const Doubles y = scaled_up(a, log1p_two(b, 0.0));
  return xlogy_special(a, b + 1.0, select(abs(b) < 0x1p-54, a * b, y));
}

// -a log a, 0 for 0, and -inf for negative numbers.
template <class T>
LT_INLINE Vec<T> entropy_special(Vec<T> a, Vec<T> y) {
  y = select((a > T(0)) & (a < Format<T>::infinity), y, T(0) - a * abs(a));
  return select(a < T(0), Vec<T>(-Format<T>::infinity), y);
}
LT_INLINE Floats ventropy(Floats a) {
  return entropy_special(a, in_double(a, [](Doubles v) { return -v * log_any_short(v); }));
}
LT_INLINE Doubles ventropy(Doubles a) {
  return entropy_special(a, scaled_up(-a, log_two(Two<double>{a, 0.0})));
}
LT_VECTOR(Entropy, ventropy(a))

LT_VECTORS(Logaddexp2, vlogaddexp2(a, b))
LT_VECTORS(Xlogy, vxlogy(a, b))
LT_VECTORS(Xlog1py, vxlog1py(a, b))

// log(a / (1 - a))
LT_INLINE Floats vlogit(Floats a) {
  const Floats y = in_double(a, [](Doubles v) { return log_any_short(v / (Doubles(1.0) - v)); });
  return log_special(a / (Floats(1.0f) - a), y);
}
LT_INLINE Doubles vlogit(Doubles a) {
  const Two<double> q = divide(Two<double>{a, 0.0}, two_sum(Doubles(1.0), -a)), y = log_two(q);
  return log_special(a / (Doubles(1.0) - a), y.hi + y.lo);
}

// a is limited to [eps, 1 - eps] where eps, the first parameter, is not negative.
struct Logit {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    const T eps = *(const T *)params;
    const Vec<T> low = eps < 0 ? -Format<T>::infinity : eps,
                 high = eps < 0 ? Format<T>::infinity : T(1) - eps;
    vector_unary<T>(data, strides, n, [=](Vec<T> a) {
      return vlogit(select(a < low, low, select(a > high, high, a)));
    });
  }
};

// sin(pi a) / (pi a) from y, which is that elsewhere than near 0 and at infinity.
template <class T>
LT_INLINE Vec<T> sinc_special(Vec<T> a, Vec<T> y) {
  y = select(abs(a) == Format<T>::infinity, Vec<T>(Format<T>::nan), y + T(0));  // 0 of integers
  return select(abs(a) < T(0x1p-28), Vec<T>(T(1)), y);
}
LT_INLINE Floats vsinc(Floats a) {
  const Floats y = in_double(a, [](Doubles v) {
    const Integer<double> n = nearest(v);
    return sin_short((v - n.value) * pi_hi, n) / (v * pi_hi);
  });
  return sinc_special(a, select(abs(a) >= 0x1p24f, Floats(0.0f), y));  // integers from there on
}
LT_INLINE Doubles vsinc(Doubles a) {
  const Two<double> pi = {pi_hi, pi_lo};
  const Doubles n = round_even(a), half = n * 0.5, r = a - n;
  const Integer<double> q = nearest(r + r);  // r = q/2 + remainder
  const Two<double> x = multiply(Two<double>{r - q.value * 0.5, 0.0}, pi);
  const Mask<double> even = mask_cast<double>((q.bits << 63) == Vec<int64_t>(int64_t(0)));
  const Two<double> s = sin_parts(x), c = cos_parts(x);
  const Two<double> top = fast_two_sum(select(even, s.hi, c.hi), select(even, s.lo, c.lo));
  const Two<double> y = divide(top, multiply(Two<double>{a, 0.0}, pi));
  const Doubles turned = xor_bits(y.hi + y.lo, sign_bit(bit_cast<double>(q.bits << 62)));
  const Doubles signed_y = select(floor(half) == half, turned, -turned);
  return sinc_special(a, select(abs(a) >= 0x1p52, Doubles(0.0), signed_y));
}
LT_FUNCTION(Sinc, vsinc(a), LT_COMPOUND(sinc_of))

}  // namespace
}  // namespace lt

LT_UNIT(entropy){
    {"logaddexp", "T>TT", LT_FLOATING_COMPLEX(Logaddexp)},
    {"logaddexp2", "T>TT", LT_FLOATING(Logaddexp2)},
    {"entr", "T>T", LT_FLOATING(Entropy)},
    {"xlogy", "T>TT", LT_FLOATING(Xlogy)},
    {"xlog1py", "T>TT", LT_FLOATING(Xlog1py)},
    {"logit", "T>T", LT_FLOATING(Logit)},
    {"sinc", "T>T", LT_FLOATING_COMPLEX(Sinc)},
    LT_END,
};
