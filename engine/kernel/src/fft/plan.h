// Plans: the factorization of a transform of n points, with the roots of unity that it needs.
#ifndef LIBTENSOR_KERNEL_FFT_PLAN_H
#define LIBTENSOR_KERNEL_FFT_PLAN_H

#include "../../fft.h"
#include "stages.h"

namespace lt {
namespace {

enum Scheme {
  // Several transforms in parallel, one per vector lane.
  kLanes,
  // One transform of n = n1 n2 points seen as a matrix: transforms of its columns, multiplications
  // by
  // the roots of n, transforms of its rows (D. H. Bailey, FFTs in external or hierarchical memory,
  // 1990).
  kLine,
  // The same of a matrix as wide as a register, whose rows are transformed in registers.
  kNarrow,
  // A prime number of points as a cyclic convolution of n - 1 points, in the order of the powers of
  // a primitive root (C. M. Rader, Discrete Fourier transforms when the number of data samples is
  // prime, 1968).
  kRader,
  // Any number of points as a convolution with a chirp (L. I. Bluestein, A linear filtering
  // approach
  // to the computation of the discrete Fourier transform, 1970).
  kChirp,
};

// The number of points up to which transforms in lanes are cheaper: always, and for adjacent lines.
constexpr int64_t kFewPoints = 256, kAdjacentPoints = 1 << 14;

// The longest columns as wide as a register of which two copies are near enough.
constexpr int64_t kNarrowColumn = 1024;

// The following are offsets in the plan, in bytes.
struct Plan {
  int64_t n, scheme;
  Stages lanes;                           // kLanes
  Stages columns;                         // kLine, kNarrow
  Stages rows;                            // kLine
  int64_t within;                         // kLine, kNarrow: w^(k1 l), l being the lane of j2
  int64_t between;                        // kLine: w^(k1 (j2 - l))
  int64_t inner, spectrum, chirp, order;  // kRader, kChirp
  int64_t unpack;  // the roots of 2 n points, for transforms of 2 n real numbers; 0 for none
};

// The reals in which roots of unity are computed.
template <class T>
using Exact = std::conditional_t<sizeof(T) == 4, double, long double>;

// The roots of unity e^(-2 pi i k / n), of angles within an eighth of a turn: products of powers of
// the first root by the digits of the angle, which take less time than sines and cosines.
template <class T>
class Roots {
  using E = Exact<T>;
  static constexpr int kBits = 8, kDigits = 5;  // of angles, of which 2^40 are more than fit memory
  int64_t n;
  E powers[kDigits][1 << kBits][2];

 public:
  explicit Roots(int64_t n) : n(n) {
    for (int d = 0; d < kDigits; d++)
      for (int64_t k = 0; k < 1 << kBits && k << kBits * d <= n / 2; k++) {
        // In units of a turn over 4 n, so that a quarter is n.
        const E x = E(1.57079632679489661923132169163975144L) * E(k << kBits * d) / E(n);
        if constexpr (sizeof(T) == 4) {
          powers[d][k][0] = cos(x);
          powers[d][k][1] = sin(x);
        } else {
          powers[d][k][0] = cosl(x);
          powers[d][k][1] = sinl(x);
        }
      }
  }

  // From one root of m ones, which divides n, to the next.
  int64_t step(int64_t m) const { return n / m; }

  // The k-th root.
  void put(T *to, int64_t k) const {
    if (k >= n) k %= n;
    const bool below =
        2 * k > n;  // the lower half of the circle has the conjugates of the upper one
    if (below) k = n - k;
    const bool left = 4 * k > n;
    int64_t angle = left ? 2 * n - 4 * k : 4 * k;
    const bool steep = 2 * angle > n;
    if (steep) angle = n - angle;
    constexpr int64_t kDigit = (1 << kBits) - 1;
    E c = powers[0][angle & kDigit][0], s = powers[0][angle & kDigit][1];
    for (int d = 1; (angle >>= kBits) > 0; d++) {
      const E *power = powers[d][angle & kDigit], re = c * power[0] - s * power[1];
      s = c * power[1] + s * power[0];
      c = re;
    }
    const E re = steep ? s : c, im = steep ? c : s;
    to[0] = T(left ? -re : re);
    to[1] = T(below ? im : -im);
  }
};

// The largest prime factor.
LT_INLINE int64_t largest_factor(int64_t n) {
  int64_t largest = 1;
  for (int64_t f = 2; f * f <= n; f++)
    while (n % f == 0) {
      n /= f;
      largest = f;
    }
  return n > 1 ? n : largest;
}

LT_INLINE bool smooth(int64_t n) { return largest_factor(n) <= kLargestRadix; }

// Allocates consecutive memory; without memory it computes the size.
struct Room {
  char *base;
  int64_t used;
  int64_t take(int64_t bytes) {
    const int64_t at = used;
    used += (bytes + 63) / 64 * 64;
    return at;
  }
  template <class T>
  T *at(int64_t place) const {
    return base ? (T *)(base + place) : nullptr;
  }
};

template <class T>
Stages make_stages(Room &room, const Roots<T> &roots, int64_t n) {
  Stages t = {n, 0, 0, {}};
  int twos = 0;
  int64_t rest = n;
  for (; rest % 2 == 0; rest /= 2) twos++;
  for (int64_t f = 3; rest > 1; f += 2)
    for (; rest % f == 0; rest /= f) t.radix[t.count++] = int32_t(f);
  // Powers of two by eights, combined with fours rather than with a two.
  if (twos == 1) t.radix[t.count++] = 2;
  for (; twos % 3 != 0 && twos > 1; twos -= 2) t.radix[t.count++] = 4;
  for (; twos >= 3; twos -= 3) t.radix[t.count++] = 8;
  int64_t values = 0, left = n;
  for (int i = 0; i < t.count; left /= t.radix[i++]) values += stage_values(left, t.radix[i]);
  t.roots = room.take(values * sizeof(T));
  T *to = room.at<T>(t.roots);
  left = n;
  for (int i = 0; to && i < t.count; left /= t.radix[i++]) {
    const int64_t r = t.radix[i];
    if (r % 2)
      for (int64_t k = 0; k < r; k++, to += 2) roots.put(to, k * roots.step(r));
    const int64_t step = roots.step(left);
    for (int64_t p = 1; p < left / r; p++)
      for (int64_t j = 1; j < r; j++, to += 2) roots.put(to, p * j * step);
  }
  return t;
}

// The factor n1 of n for which the fewest lanes are idle, near the root of n.
template <class T>
int64_t best_factor(int64_t n) {
  constexpr int64_t N = Vec<T>::N;
  const auto work = [=](int64_t a, int64_t b) { return (a + N - 1) / N * b + (b + N - 1) / N * a; };
  int64_t best = 1;
  for (int64_t f = 2; f * f <= n; f++)
    if (n % f == 0 && (best == 1 || work(f, n / f) <= work(best, n / best))) best = f;
  return best;
}

// The roots w^(k1 j2) for k1 < n1 and the lanes j2 of the first group of columns; those of other
// groups are multiples of them.
template <class T>
int64_t make_within(Room &room, const Roots<T> &roots, int64_t n1, int64_t n) {
  constexpr int64_t N = Vec<T>::N;
  const int64_t place = room.take(n1 * 2 * N * sizeof(T));
  if (T *w = room.at<T>(place))
    for (int64_t k = 0; k < n1; k++)
      for (int64_t l = 0; l < N; l++) {
        T z[2];
        roots.put(z, k * l * roots.step(n));
        w[k * 2 * N + l] = z[0];
        w[k * 2 * N + N + l] = z[1];
      }
  return place;
}

// The scheme for n points in a line.
template <class T>
Scheme line_scheme(int64_t n) {
  constexpr int64_t N = Vec<T>::N;
  return n % N == 0 && n / N >= N && n / N <= kNarrowColumn ? kNarrow : kLine;
}

template <class T>
int64_t make_plan(Room &room, int64_t n, bool line, bool adjacent, bool real);

LT_INLINE int64_t power_modulo(int64_t a, int64_t e, int64_t n) {
  int64_t r = 1;
  for (; e > 0; e /= 2) {
    if (e % 2) r = int64_t((unsigned __int128)r * a % n);
    a = int64_t((unsigned __int128)a * a % n);
  }
  return r;
}

// The smallest generator of the multiplicative group modulo the prime n.
LT_INLINE int64_t primitive_root(int64_t n) {
  for (int64_t g = 2;; g++) {
    bool primitive = true;
    int64_t rest = n - 1;
    for (int64_t f = 2; rest > 1; f++) {
      if (f * f > rest) f = rest;
      if (rest % f != 0) continue;
      while (rest % f == 0) rest /= f;
      primitive = primitive && power_modulo(g, (n - 1) / f, n) != 1;
    }
    if (primitive) return g;
  }
}

template <class T>
void make_rader(Room &room, const Roots<T> &roots, Plan &p) {
  const int64_t n = p.n, m = n - 1;
  p.inner = make_plan<T>(room, m, true, false, false);
  p.spectrum = room.take(2 * m * sizeof(T));
  p.order = room.take(m * sizeof(int64_t));
  if (!room.base) return;
  T *b = room.at<T>(p.spectrum);
  int64_t *order = room.at<int64_t>(p.order);
  const int64_t g = primitive_root(n);
  for (int64_t i = 0, power = 1; i < m; i++, power = int64_t((unsigned __int128)power * g % n))
    order[i] = power;
  for (int64_t i = 0; i < m; i++) roots.put(b + 2 * i, order[i == 0 ? 0 : m - i] * roots.step(n));
}

// The least number of points from n on that is 1, 3, 5, 9 or 15 times a power of two.
LT_INLINE int64_t convenient(int64_t n) {
  int64_t best = 0;
  for (int64_t odd : {1, 3, 5, 9, 15}) {
    int64_t m = odd;
    while (m < n) m *= 2;
    if (best == 0 || m < best) best = m;
  }
  return best;
}

template <class T>
void make_chirp(Room &room, const Roots<T> &roots, Plan &p) {
  const int64_t n = p.n, m = convenient(2 * n - 1);
  p.inner = make_plan<T>(room, m, true, false, false);
  p.chirp = room.take(2 * n * sizeof(T));
  p.spectrum = room.take(2 * m * sizeof(T));
  if (!room.base) return;
  T *c = room.at<T>(p.chirp), *b = room.at<T>(p.spectrum);
  memset(b, 0, 2 * m * sizeof(T));
  for (int64_t i = 0, square = 0; i < n; i++) {  // square is i^2 modulo 2 n
    roots.put(c + 2 * i, square * roots.step(2 * n));
    const int64_t mirrored = i == 0 ? 0 : m - i;
    b[2 * i] = b[2 * mirrored] = c[2 * i];
    b[2 * i + 1] = b[2 * mirrored + 1] = -c[2 * i + 1];
    square += 2 * i + 1;
    if (square >= 2 * n) square -= 2 * n;
  }
}

// Lays out the plan of n points. `line` requests one that transforms a line.
template <class T>
int64_t make_plan(Room &room, int64_t n, bool line, bool adjacent, bool real) {
  constexpr int64_t N = Vec<T>::N;
  const int64_t place = room.take(sizeof(Plan));
  Plan p = {};
  p.n = n;
  const Roots<T> roots(2 * n);
  if (!smooth(n))
    p.scheme = largest_factor(n) == n && smooth(n - 1) ? kRader : kChirp;
  else
    p.scheme = line || n > (adjacent ? kAdjacentPoints : kFewPoints) ? line_scheme<T>(n) : kLanes;
  switch (p.scheme) {
    case kLanes:
      p.lanes = make_stages<T>(room, roots, n);
      break;
    case kNarrow:
      p.columns = make_stages<T>(room, roots, n / N);
      p.within = make_within<T>(room, roots, n / N, n);
      break;
    case kLine: {
      const int64_t n1 = best_factor<T>(n), n2 = n / n1, groups = (n2 + N - 1) / N;
      p.columns = make_stages<T>(room, roots, n1);
      p.rows = make_stages<T>(room, roots, n2);
      p.within = make_within<T>(room, roots, n1, n);
      p.between = room.take(groups * n1 * 2 * sizeof(T));
      if (T *w = room.at<T>(p.between))
        for (int64_t g = 0; g < groups; g++)
          for (int64_t k = 0; k < n1; k++, w += 2) roots.put(w, k * N * g * roots.step(n));
      break;
    }
    case kRader:
      make_rader<T>(room, roots, p);
      break;
    case kChirp:
      make_chirp<T>(room, roots, p);
      break;
  }
  if (real) {
    p.unpack = room.take((n / 2 + 1) * 2 * sizeof(T));
    if (T *w = room.at<T>(p.unpack))
      for (int64_t k = 0; k <= n / 2; k++, w += 2) roots.put(w, k * roots.step(2 * n));
  }
  if (room.base) memcpy(room.base + place, &p, sizeof p);
  return place;
}

}  // namespace
}  // namespace lt
#endif
