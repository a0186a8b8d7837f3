// Activations of neural networks, and the gradients of those whose derivatives take many steps.
#include "../native.h"
// Comes after native.h, which a device has in another form.
#include "../compound.h"
#include "../vmath_hyper.h"
#include "../vmath_normal.h"

namespace lt {
namespace {

// The parameters of a kernel.
template <class T>
struct Given {
  T at[4];
  LT_INLINE explicit Given(const void *params) {
    for (int i = 0; i < 4; i++) at[i] = *(const T *)((const char *)params + 16 * i);
  }
  LT_INLINE T operator[](int i) const { return at[i]; }
};

// Kernels from expressions in a (and b), elements or vectors of them, and parameters p[0] to p[3].
#define LT_WITH(NAME, ROW, ARGUMENTS, ...)                                                      \
  struct NAME {                                                                                 \
    template <class T>                                                                          \
    static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) { \
      const Given<T> p(params);                                                                 \
      (void)p;                                                                                  \
      ROW(data, strides, n, [=] ARGUMENTS { return __VA_ARGS__; });                             \
    }                                                                                           \
  };
#define LT_ELEMENT(NAME, ...) LT_WITH(NAME, (unary_row<T, T>), (T a)->T, __VA_ARGS__)
#define LT_ELEMENTS(NAME, ...) LT_WITH(NAME, (binary_row<T, T, T>), (T a, T b)->T, __VA_ARGS__)
#define LT_LANES(NAME, ...) LT_WITH(NAME, vector_unary<T>, (Vec<T> a)->Vec<T>, __VA_ARGS__)
#define LT_BOTH_LANES(NAME, ...) \
  LT_WITH(NAME, vector_binary<T>, (Vec<T> a, Vec<T> b)->Vec<T>, __VA_ARGS__)

// ------------------------------------------------------------------------- piecewise linear

LT_ELEMENT(LeakyRelu, a > T(0) ? a : T(a * p[0]))
LT_ELEMENT(Hardtanh, a<p[0] ? p[0] : a> p[1] ? p[1] : a)
LT_ELEMENT(Threshold, a <= p[0] ? p[1] : a)
LT_ELEMENT(Hardshrink, (a >= -p[0]) & (a <= p[0]) ? T(0) : a)
LT_ELEMENT(Softshrink, (a >= -p[0]) & (a <= p[0]) ? a * T(0) : a > T(0) ? a - p[0] : a + p[0])

// (a + 3) / 6 within [0, 1]
template <class T>
LT_INLINE T hard(T a) {
  const T y = a + T(3);
  return (y < T(0) ? T(0) : y > T(6) ? T(6) : y) / T(6);
}
LT_ELEMENT(Hardsigmoid, hard(a))
LT_ELEMENT(Hardswish, a < T(3) ? a * hard(a) : a)
LT_ELEMENTS(HardswishGradient, a *(b <= T(-3) ? T(0) : b < T(3) ? b / T(3) + T(0.5) : T(1)))

LT_BINARY(Prelu, a > T(0) ? a : T(a * b))

// The gradient a times p[2] if b is between p[0] and p[1], and times p[3] elsewhere. Closed
// includes the ends, Open does not.
LT_ELEMENTS(Closed, a *((b >= p[0]) & (b <= p[1]) ? p[2] : p[3]))
LT_ELEMENTS(Open, a *((b <= p[0]) | (b >= p[1]) ? p[3] : p[2]))

// ------------------------------------------------------------------------- with exponentials

// The value of a product at minus infinity, where one factor vanishes.
template <class T>
LT_INLINE Vec<T> undefined_below(Vec<T> a, Vec<T> y) {
  return select(a == -Format<T>::infinity, Vec<T>(Format<T>::nan), y);
}

// e^-|z| = (hi + lo) 2^n; it may be inaccurate where it is negligible next to 1.
LT_INLINE Exponential<double> decay(Two<double> z) {
  const Doubles down = max(Doubles(-1400.0), -abs(z.hi));
  const Doubles lo = select(z.hi < 0.0, z.lo, -z.lo);
  auto e = exp_parts(down, select(down > -1400.0, lo, Doubles(0.0)));
  const Two<double> t = fast_two_sum(e.hi, e.lo);
  e.hi = t.hi, e.lo = t.lo;
  return e;
}
// It as a sum of two doubles.
LT_INLINE Two<double> plain(Exponential<double> e) {
  const Doubles s = pow2(nearest(max(e.n.value, Doubles(-1000.0))));
  return {e.hi * s, e.lo * s};
}
// e where the mask holds, and y elsewhere, times a.
LT_INLINE Doubles times_either(Doubles a, Mask<double> m, Two<double> e, Integer<double> n,
                               Two<double> y) {
  const Two<double> factor = {select(m, e.hi, y.hi), select(m, e.lo, y.lo)};
  const Two<double> product = multiply(factor, Two<double>{a, 0.0});
  return scale(product.hi + product.lo, nearest(select(m, n.value, Doubles(0.0))));
}

// a / (1 + e^-z)
LT_INLINE Doubles times_sigmoid(Doubles a, Two<double> z) {
  const auto e = decay(z);
  const Two<double> t = plain(e), sum = two_sum(Doubles(1.0), t.hi);
  const Two<double> whole = {sum.hi, sum.lo + t.lo}, one = {1.0, 0.0};
  return times_either(a, z.hi < 0.0, divide(Two<double>{e.hi, e.lo}, whole), e.n,
                      divide(one, whole));
}
// The same for float results.
LT_INLINE Doubles times_sigmoid_short(Doubles a, Doubles z) {
  return a / (exp2_short(clamp(z * -Ln2<double>::inverse, -900.0, 900.0)) + 1.0);
}

// a / (1 + e^-a) where the power and its inverse are normal numbers, and so for |a| up to 80.
LT_INLINE Floats silu_near(Floats a) {
  const Floats one = 1.0f;
  const Integer<float> n = nearest(a * -Ln2<float>::inverse);
  const Floats r = fma(n.value, Floats(-Ln2<float>::lo), fma(n.value, Floats(-Ln2<float>::hi), -a));
  const Floats s = pow2(n);
  const Two<float> sum = two_sum(one, s);
  const Two<float> d = fast_two_sum(sum.hi, fma(s, fma(r * r, exp_tail(r), r), sum.lo));
  const Floats inverse = one / d.hi, y = a * inverse;
  return fma(minus_product(a, y, d.hi) - y * d.lo, inverse, y);
}
LT_INLINE Floats vsilu(Floats a) {
  Floats y = silu_near(a);
  const Mask<float> far = abs(a) > 80.0f;
  if (any(far))
    y = select(far, in_double(a, [](Doubles v) { return times_sigmoid_short(v, v); }), y);
  return undefined_below(a, y);
}
LT_INLINE Doubles vsilu(Doubles a) {
  const Doubles x = clamp(a, -1000.0, 1000.0);
  return undefined_below(a, select(a > 1000.0, a, times_sigmoid(x, Two<double>{x, 0.0})));
}
template <class T>
LT_INLINE Complex<T> softsign_of(Complex<T> z) {
  const T whole = hypotenuse(z.re, z.im) + T(1);
  return {z.re / whole, z.im / whole};
}
LT_INLINE Complex128 silu_of(Complex128 z) { return z * sigmoid_of(z); }

// tanh log(1 + e^a) = t (t + 2) / (t (t + 2) + 2) with t = e^a, and (1 + 2 t) / (1 + 2 t + 2 t^2)
// with t = e^-a.
LT_INLINE Doubles mish_factor(Doubles a, Doubles t) {
  const Mask<double> below = a < 0.0;
  const Doubles top = select(below, t * (t + 2.0), fma(t, Doubles(2.0), Doubles(1.0)));
  return top / (top + select(below, Doubles(2.0), t * t * 2.0));
}
LT_INLINE Doubles mish_factor_short(Doubles a) {
  return mish_factor(a, exp2_short(max(-abs(a) * Ln2<double>::inverse, Doubles(-900.0))));
}
LT_INLINE Floats vmish(Floats a) {
  const Floats y = in_double(a, [](Doubles v) { return v * mish_factor_short(v); });
  return undefined_below(a, y);
}
LT_INLINE Doubles vmish(Doubles a) {
  const Doubles x = clamp(a, -1000.0, 1000.0);
  const Two<double> two = {2.0, 0.0};
  const auto e = decay(Two<double>{x, 0.0});
  const Two<double> t = plain(e), twice = {t.hi * 2.0, t.lo * 2.0};
  const Two<double> some = add(two, t), sum = two_sum(Doubles(1.0), twice.hi);
  const Two<double> high = {sum.hi, sum.lo + twice.lo};
  const Two<double> below =
      divide(multiply(Two<double>{e.hi, e.lo}, some), add(two, multiply(t, some)));
  const Two<double> above = divide(high, add(high, multiply(twice, t)));
  return undefined_below(a, select(a > 1000.0, a, times_either(x, x < 0.0, below, e.n, above)));
}

// log(1 + e^z) / by
LT_INLINE Doubles softplus(Two<double> z, double by) {
  const auto e = decay(z);
  const Two<double> t = plain(e), l = log1p_parts(t.hi, t.lo);
  // log1p of a power below the normal range is the power itself.
  const Mask<double> tiny = e.n.value < -900.0, above = z.hi > 0.0;
  const Doubles tail = scale(e.hi + e.lo, e.n);
  const Two<double> s = two_sum(select(above, z.hi, Doubles(0.0)), l.hi);
  const Two<double> sum = {select(tiny, tail + select(above, z.hi, Doubles(0.0)), s.hi),
                           select(tiny, Doubles(0.0), s.lo + l.lo)};
  const Two<double> whole = {sum.hi, sum.lo + select(above & !tiny, z.lo, Doubles(0.0))};
  const Two<double> y = divide(whole, Two<double>{by, 0.0});
  return y.hi + y.lo;
}
LT_INLINE Doubles vsoftplus(Doubles a, double beta, double threshold) {
  const Two<double> z = two_prod(a, Doubles(beta));
  const Doubles y =
      beta == 0 ? z.hi + Doubles(1 / beta) : softplus({clamp(z.hi, -1e9, 1e300), z.lo}, beta);
  return select((z.hi > threshold) | (z.hi > 1e300), a, y);
}
LT_INLINE Floats vsoftplus(Floats a, float beta, float threshold) {
  const Floats y = in_double(a, [=](Doubles v) {
    const Doubles z = v * double(beta);
    const Doubles t = exp2_short(max(-abs(z) * Ln2<double>::inverse, Doubles(-900.0)));
    return (max(Doubles(0.0), z) + log1p_short(t)) / double(beta);
  });
  return select(a * beta > threshold, a, y);
}

// a times the normal distribution's function.
LT_INLINE Doubles gelu_far(Doubles a) {
  const Doubles m = min(Doubles(40.0), abs(a));
  const LowerTail t = lower_tail(m);
  const Two<double> q = multiply(t.value, Two<double>{m, 0.0});
  const Doubles tail = scale(q.hi + q.lo, t.n);
  const Doubles lo = select(tail > 0x1p-900, q.lo * pow2(t.n), Doubles(0.0));
  const Two<double> rest = two_sum(m, -scale(q.hi, t.n));
  const Doubles y = copysign(select(a > 0.0, rest.hi + (rest.lo - lo), tail), a);
  return undefined_below(a, select(a > 40.0, a, select(a == a, y, a)));
}
// ((p (z + a) + b) (z + a') + b') ...: the method of J. Eve, The evaluation of polynomials, Numer.
// Math. 6 (1964), replaces half the products of a polynomial in y by sums, with z = y^2: sums are
// free next to multiplications.
LT_INLINE Doubles by_squares(Doubles p, Doubles) { return p; }
template <class... C>
LT_INLINE Doubles by_squares(Doubles p, Doubles z, double a, double b, C... c) {
  return by_squares(fma(p, z + a, Doubles(b)), z, c...);
}
// The normal distribution's function at v to 2^-30 of itself, from its density there times sqrt(2
// pi): that times u P(u) with u = 1 / (|v| + 4) is the tail beyond |v|.
LT_INLINE Doubles normal_short(Doubles v, Doubles density) {
  const Doubles u = Doubles(1.0) / (abs(v) + 4.0), y = fma(u, Doubles(-8.0), Doubles(-1.5));
  const Doubles p = fma(y, Doubles(-0x1.bcd539afdf4f2p-19), Doubles(-0x1.c4c4b73983f54p-14));
  const Doubles tail =
      density * u *
      by_squares(p, y * y, 0x1.a6bedfc9d8d1bp+8, 0x1.358649b58177ep-5, 0x1.3f45fe12778f5p+0,
                 0x1.7b0bfb04f686ap-3, 0x1.45ed0a2fad451p+5, -0x1.a6f1d0f0a4e64p+2,
                 0x1.62c17a8321c51p+3, -0x1.6762f34fb25bep+2, 0x1.ed84814f74a2ep+1,
                 -0x1.25ee4a45ba682p+1, 0x1.3c0ac43a5907dp-2, 0x1.c548944e72f78p-2);
  return select(v > 0.0, Doubles(1.0) - tail, tail);
}
LT_INLINE Doubles bell_short(Doubles v) {
  return exp2_short(max(v * v * (-0.5 * Ln2<double>::inverse), Doubles(-900.0)));
}
LT_INLINE Floats gelu_far(Floats a) {
  const Floats y = in_double(a, [](Doubles v) { return v * normal_short(v, bell_short(v)); });
  return undefined_below(a, y);
}
#if LT_BITMASK
LT_INLINE Mask<float> beyond_bins(Floats a) { return a < -5.44f; }
LT_INLINE Mask<double> beyond_bins(Doubles a) { return abs(a) > 3.87; }
template <class T>
LT_INLINE Vec<T> vgelu(Vec<T> a) {
  const Vec<T> y = gelu_in_bins(a);
  const Mask<T> far = beyond_bins(a);
  return __builtin_expect(any(far), 0) ? select(far, gelu_far(a), y) : y;
}
#else
// Where no element is beyond 3: a polynomial in the square, to 2^-32 of the result.
LT_INLINE Doubles gelu_near(Doubles v) {
  const Doubles y = fma(v, v, Doubles(-17.75)), z = y * y;
  const Doubles p = fma(y, Doubles(0x1.cf96d36bd7f05p-44),
                        fma(z, Doubles(0x1.dc24fd65a13cdp-51), Doubles(0x1.2fe3f3a9372fdp-38)));
  const Doubles q = by_squares(p, z, 0x1.dc356df5cebf9p+6, -0x1.3b9852861c855p-28,
                               0x1.9438e1f547756p+10, 0x1.b0612dffc7b8cp-18, -0x1.493c337755d49p-1,
                               0x1.6ae6b890aa82ep-14, 0x1.75f46c0349b66p+8, -0x1.0a54f9a2aa5aap-5,
                               0x1.def6f92ef44e2p+5, 0x1.078ba7f7f4a57p-3);
  return v * fma(v, q, Doubles(0.5));
}
LT_INLINE Doubles vgelu(Doubles a) { return gelu_far(a); }
LT_INLINE Floats vgelu(Floats a) {
  if (any(abs(a) > 3.0f)) return gelu_far(a);
  return in_double(a, [](Doubles v) { return gelu_near(v); });
}
#endif

// 2 sqrt(2 / pi) (a + 0.044715 a^3), the argument of the logistic function in the tanh form of
// gelu.
constexpr double kSqrt8OverPi[] = {0x1.9884533d43651p+0, -0x1.cbc0d30ebfd15p-54}, kCubic = 0.044715;
constexpr double kCubicRest = 0x1.441355475a31ap-59;  // its rounding error
LT_INLINE Doubles gelu_angle(Doubles a) { return a * (a * a * kCubic + 1.0) * kSqrt8OverPi[0]; }
LT_INLINE Doubles vgelu_tanh(Doubles a) {
  const Doubles x = clamp(a, -30.0, 30.0);
  const Two<double> cube = multiply(two_prod(x, x), Two<double>{kCubic, kCubicRest});
  const Two<double> sum = two_sum(Doubles(1.0), cube.hi);
  const Two<double> line = multiply(Two<double>{sum.hi, sum.lo + cube.lo}, Two<double>{x, 0.0});
  const Two<double> z = multiply(line, Two<double>{kSqrt8OverPi[0], kSqrt8OverPi[1]});
  return undefined_below(a, select(a > 30.0, a, times_sigmoid(x, z)));
}
LT_INLINE Floats vgelu_tanh(Floats a) {
  const Floats y = in_double(a, [](Doubles v) { return times_sigmoid_short(v, gelu_angle(v)); });
  return undefined_below(a, y);
}

// a - tanh a: its power series below 1/2, where the difference cancels.
LT_INLINE Doubles vtanhshrink(Doubles a) {
  const Doubles m = min(Doubles(20.0), abs(a)), z = a * a;
  const Doubles tail = poly(z, -0x1.1111111111111p-3, 0x1.ba1ba1ba1ba1cp-5, -0x1.664f4882c10fap-6,
                            0x1.226e355e6c23dp-7, -0x1.d6d3d0e157de0p-9, 0x1.7da36452b75e3p-10,
                            -0x1.3558248036744p-11, 0x1.f57d7734d1664p-13, -0x1.967e18afcafadp-14,
                            0x1.497d8eea25259p-15, -0x1.0b132d39a6050p-16, 0x1.b0f72d3ee24e9p-18,
                            -0x1.5ef2da474e5b7p-19, 0x1.1c77df95c1c0dp-20, -0x1.cd299de4ae6bbp-22,
                            0x1.75cde6563fed9p-23, -0x1.2efe8db3aff1fp-24);
  const Two<double> cube = multiply(two_prod(a, a), Two<double>{a, 0.0});
  const Two<double> third =
      multiply(cube, Two<double>{0x1.5555555555555p-2, 0x1.5555555555555p-56});
  const Doubles series = third.hi + fma(cube.hi * z, tail, third.lo);
  const Two<double> p = half_expm1_parts(m + m), h = fast_two_sum(p.hi, p.lo);
  const Two<double> d = two_sum(h.hi, Doubles(1.0));
  const Two<double> q = divide(h, Two<double>{d.hi, d.lo + h.lo});
  const Two<double> rest = two_sum(abs(a), -q.hi);
  const Doubles y = copysign(rest.hi + (rest.lo - q.lo), a);
  const Mask<double> near = abs(a) < 0.5;
  return select(near, series, select(abs(a) == Format<double>::infinity, a, y));
}
LT_INLINE Floats vtanhshrink(Floats a) {
  return in_double(a, [](Doubles v) { return vtanhshrink(v); });
}

// p[0] above 0, p[1] (e^(a / p[2]) - 1) below.
LT_LANES(Elu, select(a > T(0), a *p[0], vexpm1(min(Vec<T>(T(0)), a) / p[2]) * p[1]))
LT_LANES(Softplus, vsoftplus(a, p[0], p[1]))
LT_VECTOR(Gelu, vgelu(a))
LT_VECTOR(GeluTanh, vgelu_tanh(a))
LT_VECTOR(Mish, vmish(a))
LT_FUNCTION(Silu, vsilu(a), LT_COMPOUND(silu_of))
LT_FUNCTION(Tanhshrink, vtanhshrink(a), a - ctanh(a))
LT_FUNCTION(Softsign, a / (abs(a) + T(1)), softsign_of(a))

// ------------------------------------------------------------------------- gradients

// The derivatives of the functions above at b, times a.
template <class T>
LT_INLINE Vec<T> silu_slope(Vec<T> b) {
  const Vec<T> s = vsigmoid(b);
  return s * (b * (Vec<T>(T(1)) - s) + T(1));
}
constexpr double kDensity = 0.3989422804014327;  // of the normal distribution at 0
LT_INLINE Doubles gelu_slope(Doubles b) {
  b = clamp(b, -40.0, 40.0);
  return vndtr(b) + b * vexp(b * b * -0.5) * kDensity;
}
LT_INLINE Floats gelu_slope(Floats b) {
  return in_double(clamp(b, -40.0f, 40.0f), [](Doubles v) {
    const Doubles e = bell_short(v);
    return normal_short(v, e) + v * e * kDensity;
  });
}
template <class T>
LT_INLINE Vec<T> gelu_tanh_slope(Vec<T> b) {
  const Vec<T> square = b * b, s = vsigmoid(b * (square * T(kCubic) + T(1)) * T(kSqrt8OverPi[0]));
  const Vec<T> steep = (square * T(3 * kCubic) + T(1)) * T(kSqrt8OverPi[0]);
  return s + b * s * (Vec<T>(T(1)) - s) * steep;
}
LT_INLINE Doubles mish_slope(Doubles b) {
  const Doubles t = mish_factor(b, vexp(-abs(b)));
  return t + b * vsigmoid(b) * (Doubles(1.0) - t * t);
}
LT_INLINE Floats mish_slope(Floats b) {
  return in_double(b, [](Doubles v) {
    const Doubles t = mish_factor_short(v);
    return t + times_sigmoid_short(v, v) * (Doubles(1.0) - t * t);
  });
}

LT_BOTH_LANES(EluGradient,
              a *select(b > T(0), Vec<T>(p[0]), vexp(min(Vec<T>(T(0)), b) / p[2]) * (p[1] / p[2])))
LT_BOTH_LANES(SoftplusGradient, a *select(b *p[0] > p[1], Vec<T>(T(1)), vsigmoid(b *p[0])))
LT_BOTH_LANES(GeluGradient, a *gelu_slope(b))
LT_BOTH_LANES(GeluTanhGradient, a *gelu_tanh_slope(b))
LT_BOTH_LANES(MishGradient, a *mish_slope(b))
LT_BOTH_LANES(SiluGradient, a *silu_slope(b))

}  // namespace
}  // namespace lt

LT_UNIT(activation){
    {"leaky_relu", "T>T", LT_FLOATING(LeakyRelu)},
    {"hardtanh", "T>T", LT_REALS(Hardtanh)},
    {"threshold", "T>T", LT_REALS(Threshold)},
    {"hardshrink", "T>T", LT_FLOATING(Hardshrink)},
    {"softshrink", "T>T", LT_FLOATING(Softshrink)},
    {"hardsigmoid", "T>T", LT_FLOATING(Hardsigmoid)},
    {"hardswish", "T>T", LT_FLOATING(Hardswish)},
    {"hardswish_gradient", "T>TT", LT_FLOATING(HardswishGradient)},
    {"prelu", "T>TT", LT_FLOATING(Prelu)},
    {"closed_gradient", "T>TT", LT_FLOATING(Closed)},
    {"open_gradient", "T>TT", LT_FLOATING(Open)},
    {"elu", "T>T", LT_FLOATING(Elu)},
    {"elu_gradient", "T>TT", LT_FLOATING(EluGradient)},
    {"softplus", "T>T", LT_FLOATING(Softplus)},
    {"softplus_gradient", "T>TT", LT_FLOATING(SoftplusGradient)},
    {"gelu", "T>T", LT_FLOATING(Gelu)},
    {"gelu_gradient", "T>TT", LT_FLOATING(GeluGradient)},
    {"gelu_tanh", "T>T", LT_FLOATING(GeluTanh)},
    {"gelu_tanh_gradient", "T>TT", LT_FLOATING(GeluTanhGradient)},
    {"silu", "T>T", LT_FLOATING_COMPLEX(Silu)},
    {"silu_gradient", "T>TT", LT_FLOATING(SiluGradient)},
    {"mish", "T>T", LT_FLOATING(Mish)},
    {"mish_gradient", "T>TT", LT_FLOATING(MishGradient)},
    {"tanhshrink", "T>T", LT_FLOATING_COMPLEX(Tanhshrink)},
    {"softsign", "T>T", LT_FLOATING_COMPLEX(Softsign)},
    LT_END,
};
