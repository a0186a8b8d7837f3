// A transform in every lane, by the self-sorting method of T. G. Stockham, High-speed convolution
// and correlation (1966), decimating in frequency: a stage of radix r computes n/r transforms of r
// points, and leaves s = r interleaved transforms of n/r points.
#ifndef LIBTENSOR_KERNEL_FFT_STAGES_H
#define LIBTENSOR_KERNEL_FFT_STAGES_H

#include "pair.h"

namespace lt {
namespace {

// The largest prime radix; transforms of larger prime factors are convolutions.
constexpr int kLargestRadix = 127;

// A transform of n points: the radices of its stages, and the offsets of their roots of unity in
// the plan, which begins at `base`: for each stage those of an odd radix r, r of them, and then
// w^(pj) for 0 < p < n/r and 0 < j < r, where w is the n-th root and n the number of remaining
// points.
struct Stages {
  int64_t n, roots;
  int32_t count, radix[64];
};

template <class T>
LT_INLINE void radix2(Pair<T> &a, Pair<T> &b) {
  const Pair<T> t = a - b;
  a = a + b;
  b = t;
}

// 4 points; the second and the third are exchanged on output.
template <class T>
LT_INLINE void radix4(Pair<T> &a, Pair<T> &b, Pair<T> &c, Pair<T> &d) {
  radix2(a, c);
  radix2(b, d);
  radix2(a, b);
  const Pair<T> turned = d.right();
  d = c - turned;
  c = c + turned;
}

// An odd number of points, R or r where R is 0: sums and differences of the points k and r - k
// share the multiplications by the cosines and the sines.
template <int R, class T>
LT_INLINE void radix_odd(Pair<T> *a, int r, const T *roots) {
  if constexpr (R != 0) r = R;
  constexpr int kMost = R != 0 ? R : kLargestRadix;
  const int half = r / 2;
  Pair<T> sum[kMost / 2 + 1], difference[kMost / 2 + 1];
  Pair<T> total = a[0];
  for (int k = 1; k <= half; k++) {
    sum[k] = a[k] + a[r - k];
    difference[k] = a[k] - a[r - k];
    total = total + sum[k];
  }
  for (int j = 1; j <= half; j++) {
    Pair<T> even = a[0], odd = {Vec<T>(T(0)), Vec<T>(T(0))};
    for (int k = 1, at = j; k <= half; k++, at = at + j < r ? at + j : at + j - r) {
      const Vec<T> c = roots[2 * at], s = roots[2 * at + 1];
      even = {fma(sum[k].re, c, even.re), fma(sum[k].im, c, even.im)};
      odd = {fma(difference[k].re, s, odd.re), fma(difference[k].im, s, odd.im)};
    }
    a[j] = even + odd.left();
    a[r - j] = even - odd.left();
  }
  a[0] = total;
}

// r points; the roots of an odd radix are e^(-2 pi i k / r).
template <int R, class T>
LT_INLINE void transform_points(Pair<T> *a, int r, const T *roots) {
  if constexpr (R == 2) {
    radix2(a[0], a[1]);
  } else if constexpr (R == 4) {
    radix4(a[0], a[1], a[2], a[3]);
    const Pair<T> t = a[1];
    a[1] = a[2];
    a[2] = t;
  } else if constexpr (R == 8) {
    const Vec<T> h = T(0.707106781186547524400844362104849039L);
    for (int i = 0; i < 4; i++) radix2(a[i], a[i + 4]);
    a[5] = Pair<T>{a[5].re + a[5].im, a[5].im - a[5].re} * h;
    a[6] = a[6].right();
    a[7] = Pair<T>{a[7].im - a[7].re, -(a[7].re + a[7].im)} * h;
    radix4(a[0], a[1], a[2], a[3]);
    radix4(a[4], a[5], a[6], a[7]);
    const Pair<T> out[8] = {a[0], a[4], a[2], a[6], a[1], a[5], a[3], a[7]};
    for (int i = 0; i < 8; i++) a[i] = out[i];
  } else if constexpr (R == 16) {
    // Four points of every fourth number, times e^(-2 pi i jk / 16), and four points of these.
    const Vec<T> c = T(0.923879532511286756128183189396788287L),
                 s = T(0.382683432365089771728459984030398867L),
                 h = T(0.707106781186547524400844362104849039L);
    for (int j = 0; j < 4; j++) radix4(a[j], a[j + 4], a[j + 8], a[j + 12]);
    a[9] = a[9] * Pair<T>{c, -s};
    a[10] = Pair<T>{a[10].re + a[10].im, a[10].im - a[10].re} * h;
    a[11] = a[11] * Pair<T>{s, -c};
    a[5] = Pair<T>{a[5].re + a[5].im, a[5].im - a[5].re} * h;
    a[6] = a[6].right();
    a[7] = Pair<T>{a[7].im - a[7].re, -(a[7].re + a[7].im)} * h;
    a[13] = a[13] * Pair<T>{s, -c};
    a[14] = Pair<T>{a[14].im - a[14].re, -(a[14].re + a[14].im)} * h;
    a[15] = a[15] * Pair<T>{-c, s};
    for (int j = 0; j < 16; j += 4) radix4(a[j], a[j + 1], a[j + 2], a[j + 3]);
    const Pair<T> out[16] = {a[0], a[8], a[4], a[12], a[2], a[10], a[6], a[14],
                             a[1], a[9], a[5], a[13], a[3], a[11], a[7], a[15]};
    for (int i = 0; i < 16; i++) a[i] = out[i];
  } else {
    radix_odd<R>(a, r, roots);
  }
}

// One stage: s transforms of m * r points each become s * r transforms of m points.
template <int R, class T, class In, class Out>
void stage(const In &in, const Out &out, int r, int64_t m, int64_t s, const T *roots) {
  if constexpr (R != 0) r = R;
  constexpr int kMost = R != 0 ? R : kLargestRadix;
  const T *w = roots + (r % 2 ? 2 * r : 0);
  for (int64_t q = 0; q < s; q++) {
    Pair<T> a[kMost];
    a[0] = in.get(q);
    for (int k = 1; k < r; k++) a[k] = in.get(q + s * m * k);
    transform_points<R>(a, r, roots);
    for (int j = 0; j < r; j++) out.put(q + s * j, a[j]);
  }
  for (int64_t p = 1; p < m; p++, w += 2 * (r - 1)) {
    for (int64_t q = 0; q < s; q++) {
      Pair<T> a[kMost];
      a[0] = in.get(q + s * p);
      for (int k = 1; k < r; k++) a[k] = in.get(q + s * (p + m * k));
      transform_points<R>(a, r, roots);
      out.put(q + s * r * p, a[0]);
      for (int j = 1; j < r; j++) out.put(q + s * (r * p + j), a[j] * everywhere(w + 2 * (j - 1)));
    }
  }
}

template <class T, class In, class Out>
void any_stage(const In &in, const Out &out, int r, int64_t m, int64_t s, const T *roots) {
  switch (r) {
    case 2:
      return stage<2>(in, out, r, m, s, roots);
    case 3:
      return stage<3>(in, out, r, m, s, roots);
    case 4:
      return stage<4>(in, out, r, m, s, roots);
    case 5:
      return stage<5>(in, out, r, m, s, roots);
    case 7:
      return stage<7>(in, out, r, m, s, roots);
    case 8:
      return stage<8>(in, out, r, m, s, roots);
    case 11:
      return stage<11>(in, out, r, m, s, roots);
    case 13:
      return stage<13>(in, out, r, m, s, roots);
    default:
      return stage<0>(in, out, r, m, s, roots);
  }
}

// The values that a stage of radix r has in the plan, where n points are left.
LT_INLINE int64_t stage_values(int64_t n, int64_t r) {
  return 2 * ((r % 2 ? r : 0) + (n / r - 1) * (r - 1));
}

// The transforms of the lanes from `in` to `out`, through one or two buffers of n numbers.
template <class T, class In, class Out>
void run_stages(const Stages &t, const char *plan, const In &in, const Out &out, T *first,
                T *second) {
  const T *roots = (const T *)(plan + t.roots);
  int64_t n = t.n, s = 1;
  if (t.count == 0) return out.put(0, in.get(0));
  for (int i = 0; i < t.count; i++) {
    const int r = t.radix[i];
    const int64_t m = n / r;
    const Buffer<T> from = {i % 2 ? first : second}, to = {i % 2 ? second : first};
    const bool begins = i == 0, ends = i == t.count - 1;
    if (begins && ends)
      any_stage(in, out, r, m, s, roots);
    else if (begins)
      any_stage(in, to, r, m, s, roots);
    else if (ends)
      any_stage(from, out, r, m, s, roots);
    else
      any_stage(from, to, r, m, s, roots);
    roots += stage_values(n, r);
    n = m;
    s *= r;
  }
}

}  // namespace
}  // namespace lt
#endif
