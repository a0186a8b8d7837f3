// sin, cos, tan.
//
// x = n pi/2 + r with |r| <= pi/4. Up to 2^30 pi/2 is subtracted in three parts (Cody and Waite);
// beyond that the needed bits of 2/pi are picked from a table by exponent (M. Payne, R. Hanek,
// Radian reduction for trigonometric functions, SIGNUM 18, 1983), lane by lane. Minimax polynomials
// for (sin r - r) / r^3 and (cos r - 1 + r^2/2) / r^4 in r^2. Floats work in double, except sines
// and cosines up to 3200 with AVX-512 (vmath_bins.h).
#ifndef LT_VMATH_TRIG_H_
#define LT_VMATH_TRIG_H_

#include "vmath_bins.h"
#include "vmath_core.h"

namespace lt {
namespace {

// |x| = (4 k + quadrant) pi/2 + (hi + lo) pi/2, k any integer, |hi| <= 1/2.
struct QuarterTurns {
  double quadrant, hi, lo;
};

inline __attribute__((noinline)) QuarterTurns reduce_huge(double x) {
  // 64 zero bits, then 2/pi = 0.A2F9836E..., binary.
  static constexpr uint64_t two_over_pi_bits[] = {
      0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
      0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
      0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
      0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
      0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
      0xf0cfbc209af4361d,
  };
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint64_t m = (bits & Format<double>::fraction_mask) | (uint64_t(1) << 52);
  const int e = int(bits >> 52 & 0x7ff) - 1075;
  // Bits of 2/pi above 2^(1-e) contribute multiples of 4; the 192 after them decide.
  const int skip = e - 2 + 64, word = skip / 64, shift = skip % 64;
  uint64_t w[3];
  for (int i = 0; i < 3; i++) {
    w[i] = two_over_pi_bits[word + i] << shift;
    if (shift != 0) w[i] |= two_over_pi_bits[word + i + 1] >> (64 - shift);
  }
  const unsigned __int128 low = (unsigned __int128)m * w[2];
  const unsigned __int128 mid = (unsigned __int128)m * w[1] + uint64_t(low >> 64);
  const uint64_t top = m * w[0] + uint64_t(mid >> 64);
  uint64_t f1 = top << 2 | uint64_t(mid) >> 62, f0 = uint64_t(mid) << 2 | uint64_t(low) >> 62;
  uint64_t quadrant = top >> 62;
  const bool negative = f1 >> 63;
  if (negative) {
    quadrant = (quadrant + 1) & 3;
    f0 = ~f0 + 1;
    f1 = ~f1 + (f0 == 0);
  }
  // The 128 bit fraction in parts that convert exactly.
  const double a = double(int64_t(f1 >> 21)) * 0x1p-43;
  const double b = double(int64_t((f1 & 0x1fffff) << 22 | f0 >> 42)) * 0x1p-86;
  const double c = double(int64_t(f0 & 0x3ffffffffff)) * 0x1p-128;
  const double hi = a + b, lo = (b - (hi - a)) + c, sign = negative ? -1 : 1;
  return {double(quadrant), sign * hi, sign * lo};
}

// x = n pi/2 + r, n modulo 4.
struct Reduced {
  Integer<double> n;
  Two<double> r;
};

constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
constexpr double half_pi[] = {0x1.921fb54442d18p0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};

inline __attribute__((noinline)) Reduced reduce_huge_lanes(Doubles x, Mask<double> huge,
                                                           Reduced z) {
  Doubles n = 0.0, hi = 0.0, lo = 0.0;
  const Doubles m = select(huge, abs(x), Doubles(0x1p30));
  for (int i = 0; i < Doubles::N; i++) {
    const QuarterTurns q = reduce_huge(m.v[i]);
    n.v[i] = q.quadrant;
    hi.v[i] = q.hi;
    lo.v[i] = q.lo;
  }
  Two<double> r = multiply(Two<double>{hi, lo}, Two<double>{half_pi[0], half_pi[1]});
  const Doubles sign = sign_bit(x);
  z.n.bits = select(mask_cast<int64_t>(huge), nearest(xor_bits(n, sign)).bits, z.n.bits);
  z.r.hi = select(huge, xor_bits(r.hi, sign), z.r.hi);
  z.r.lo = select(huge, xor_bits(r.lo, sign), z.r.lo);
  return z;
}

LT_INLINE Reduced reduce(Doubles x) {
  Reduced z;
  z.n = nearest(x * two_over_pi);
  const Doubles r = minus_product(x, z.n.value, Doubles(half_pi[0]));
  const Two<double> p = two_prod(z.n.value, Doubles(half_pi[1]));
  const Two<double> s = two_sum(r, -p.hi);
  z.r = fast_two_sum(s.hi, (s.lo - p.lo) - z.n.value * half_pi[2]);
  // An infinity has become NaN by now and stays so.
  const Mask<double> huge = (abs(x) > 0x1p30) & (abs(x) < Format<double>::infinity);
  if (__builtin_expect(any(huge), 0)) z = reduce_huge_lanes(x, huge, z);
  return z;
}

// sin r and cos r for |r| <= pi/4 as a leading term and a small rest.
LT_INLINE Two<double> sin_parts(Two<double> r) {
  const Doubles z = r.hi * r.hi;
  const Doubles p = poly(z, 0x1.111111110f578p-7, -0x1.a01a019badb6cp-13, 0x1.71de351e69569p-19,
                         -0x1.ae5e1e7906922p-26, 0x1.5d7dbb5809bd5p-33);
  const Doubles q = fma(z, p, Doubles(-0x1.5555555555547p-3));
  return {r.hi, fma(z * r.hi, q, r.lo * fma(z, Doubles(-0.5), Doubles(1.0)))};
}
LT_INLINE Two<double> cos_parts(Two<double> r) {
  const Two<double> square = two_prod(r.hi, r.hi);
  const Doubles z = square.hi;
  const Doubles p = poly(z, 0x1.5555555555549p-5, -0x1.6c16c16c14bcfp-10, 0x1.a01a019c24f08p-16,
                         -0x1.27e4f7a4f6404p-22, 0x1.1ee9a7b515d33p-29, -0x1.8f8b7e7dc49c9p-37);
  const Two<double> s = fast_two_sum(Doubles(1.0), z * -0.5);
  return {s.hi, fma(z * z, p, s.lo - fma(r.hi, r.lo, square.lo * 0.5))};
}

// sin(x + quadrant pi/2)
LT_INLINE Doubles sin_shifted(Doubles x, int64_t quadrant) {
  const Reduced z = reduce(x);
  const Vec<int64_t> q = z.n.bits + quadrant;
  const Mask<double> even = mask_cast<double>((q << 63) == Vec<int64_t>(int64_t(0)));
  const Two<double> s = sin_parts(z.r), c = cos_parts(z.r);
  const Doubles y = select(even, s.hi, c.hi) + select(even, s.lo, c.lo);
  return xor_bits(y, sign_bit(bit_cast<double>(q << 62)));
}

// (-1)^n sin r for float results, |r| <= pi/2.
LT_INLINE Doubles sin_short(Doubles r, Integer<double> n) {
  const Doubles z = r * r;
  const Doubles y = r * poly(z, 1.0, -0x1.55555546aedeep-3, 0x1.11110c174c647p-7,
                             -0x1.a017c8a283d33p-13, 0x1.716e461a22fcfp-19, -0x1.9a355eb24ee1dp-26);
  return xor_bits(y, bit_cast<double>(n.bits << 63));
}

// The double function in the lanes of y where |x| > 2^30.
inline __attribute__((noinline)) Floats sin_huge(Floats x, Floats y, int64_t quadrant) {
  const Wide w = widen(x);
  const Floats z = narrow({sin_shifted(w.lo, quadrant), sin_shifted(w.hi, quadrant)});
  return select(abs(x) > 0x1p30f, z, y);
}

constexpr double pi_hi = 0x1.921fb54442d18p1, pi_lo = 0x1.1a62633145c07p-53;
constexpr double one_over_pi = 0x1.45f306dc9c883p-2;

LT_INLINE Doubles vsin(Doubles x) {
  // x itself if it is tiny: preserves -0 and subnormals.
  return select(abs(x) < 0x1p-27, x, sin_shifted(x, 0));
}
LT_INLINE Floats sin_in_double(Floats x) {
  const Floats y = in_double(x, [](Doubles v) {
    const Integer<double> n = nearest(v * one_over_pi);
    const Doubles r = fma(-n.value, Doubles(pi_lo), minus_product(v, n.value, Doubles(pi_hi)));
    return sin_short(r, n);
  });
  return __builtin_expect(any(abs(x) > 0x1p30f), 0) ? sin_huge(x, y, 0) : y;
}

LT_INLINE Floats cos_in_double(Floats x) {
  // cos x = sin(x + pi/2) with x + pi/2 = n pi + r.
  const Floats y = in_double(x, [](Doubles v) {
    const Integer<double> n = nearest(fma(v, Doubles(one_over_pi), Doubles(0.5)));
    const Doubles h = n.value - 0.5;
    const Doubles r = fma(-h, Doubles(pi_lo), minus_product(v, h, Doubles(pi_hi)));
    return sin_short(r, n);
  });
  return __builtin_expect(any(abs(x) > 0x1p30f), 0) ? sin_huge(x, y, 1) : y;
}

#if LT_BITMASK
LT_INLINE Floats vsin(Floats x) {
  const Floats m = abs(x), y = xor_bits(sin_in_bins(m, 0), sign_bit(x));
  const Mask<float> far = m > most_in_bins;
  return __builtin_expect(any(far), 0) ? select(far, sin_in_double(x), y) : y;
}
LT_INLINE Floats vcos(Floats x) {
  const Floats m = abs(x), y = sin_in_bins(m, 8);
  const Mask<float> far = m > most_in_bins;
  return __builtin_expect(any(far), 0) ? select(far, cos_in_double(x), y) : y;
}
#else
LT_INLINE Floats vsin(Floats x) { return sin_in_double(x); }
LT_INLINE Floats vcos(Floats x) { return cos_in_double(x); }
#endif
LT_INLINE Doubles vcos(Doubles x) { return sin_shifted(x, 1); }

LT_INLINE Doubles vtan(Doubles x) {
  const Reduced z = reduce(x);
  const Vec<int64_t> odd = z.n.bits << 63;
  const Mask<double> even = mask_cast<double>(odd == Vec<int64_t>(int64_t(0)));
  const Two<double> s = sin_parts(z.r), c = cos_parts(z.r);
  const Two<double> sn = fast_two_sum(s.hi, s.lo), cn = fast_two_sum(c.hi, c.lo);
  // tan r, or tan(r + pi/2) = -cos r / sin r.
  const Two<double> q = divide(Two<double>{select(even, sn.hi, cn.hi), select(even, sn.lo, cn.lo)},
                               Two<double>{select(even, cn.hi, sn.hi), select(even, cn.lo, sn.lo)});
  const Doubles y = xor_bits(q.hi + q.lo, bit_cast<double>(odd));
  return select(abs(x) < 0x1p-27, x, y);
}

inline __attribute__((noinline)) Floats tan_huge(Floats x, Floats y) {
  const Wide w = widen(x);
  return select(abs(x) > 0x1p30f, narrow({vtan(w.lo), vtan(w.hi)}), y);
}

LT_INLINE Floats vtan(Floats x) {
  const Floats y = in_double(x, [](Doubles v) {
    const Integer<double> n = nearest(v * two_over_pi);
    const Doubles r =
        fma(-n.value, Doubles(half_pi[1]), minus_product(v, n.value, Doubles(half_pi[0])));
    const Doubles z = r * r;
    const Doubles s = r * poly(z, 1.0, -0x1.5555554c05281p-3, 0x1.111108121e49p-7,
                               -0x1.a00f32d1dedc3p-13, 0x1.6cbed33f84db3p-19);
    const Doubles c = poly(z, 1.0, -0.5, 0x1.5555554e4d45dp-5, -0x1.6c16b795a088cp-10,
                           0x1.a0107e49c995fp-16, -0x1.240aeab918ef2p-22);
    const Vec<int64_t> odd = n.bits << 63;
    const Mask<double> even = mask_cast<double>(odd == Vec<int64_t>(int64_t(0)));
    return xor_bits(select(even, s, c) / select(even, c, s), bit_cast<double>(odd));
  });
  return __builtin_expect(any(abs(x) > 0x1p30f), 0) ? tan_huge(x, y) : y;
}

}  // namespace
}  // namespace lt

#endif  // LT_VMATH_TRIG_H_
