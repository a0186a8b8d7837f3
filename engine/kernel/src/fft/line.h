// The transform of one contiguous line of complex numbers.
#ifndef LIBTENSOR_KERNEL_FFT_LINE_H
#define LIBTENSOR_KERNEL_FFT_LINE_H

#include "plan.h"

namespace lt {
namespace {

template <class T>
LT_INLINE int64_t groups_of(int64_t n) {
  return (n + Vec<T>::N - 1) / Vec<T>::N;
}

template <class T>
LT_INLINE int lanes_of(int64_t n, int64_t group) {
  const int64_t left = n - group * Vec<T>::N;
  return int(left < Vec<T>::N ? left : Vec<T>::N);
}

// The scratch of a thread, and that of a line, in bytes.
template <class T>
int64_t own_bytes(const char *base, const Plan &p) {
  const int64_t pair = 2 * Vec<T>::N * sizeof(T);
  switch (p.scheme) {
    case kLanes:
      return 3 * (p.n + 1) * pair;
    case kNarrow:
      return 2 * p.columns.n * pair;
    case kLine:
      return 2 * (p.columns.n > p.rows.n ? p.columns.n : p.rows.n) * pair;
  }
  return own_bytes<T>(base, *(const Plan *)(base + p.inner));
}

template <class T>
int64_t shared_bytes(const char *base, const Plan &p) {
  switch (p.scheme) {
    case kLanes:
    case kNarrow:
      return 0;
    case kLine:
      return groups_of<T>(p.columns.n) * p.rows.n * 2 * Vec<T>::N * sizeof(T);
  }
  const Plan &inner = *(const Plan *)(base + p.inner);
  return shared_bytes<T>(base, inner) + (inner.n * 2 * sizeof(T) + 63) / 64 * 64;
}

// Prefetches the memory that the next transform will read and write, in blocks: a line is too
// short, and its order too irregular, for the hardware prefetcher.
struct Ahead {
  const char *in, *out;
  int64_t in_bytes, out_bytes;

  template <int kWrites>
  static LT_INLINE void fetch(const char *p, int64_t bytes, int64_t part, int64_t parts) {
    if (!p) return;
    const char *to = p + bytes * (part + 1) / parts;
    for (p += bytes * part / parts; p < to; p += 64) __builtin_prefetch(p, kWrites);
  }
};

// The first round: groups of columns, times the roots of n, to `turned`, in which the elements of
// each group of result rows are contiguous.
template <class T>
void transform_columns(const char *base, const Plan &p, const T *in, bool swap, T *turned,
                       char *own, int64_t begin, int64_t end, const Ahead &ahead) {
  constexpr int N = Vec<T>::N;
  constexpr int64_t kPair = 2 * N;
  const int64_t n1 = p.columns.n, n2 = p.rows.n;
  T *first = (T *)own, *second = first + n1 * kPair;
  const int64_t blocks = groups_of<T>(n1);
  // The stages end in the buffer that they do not read last.
  T *done = p.columns.count % 2 ? first : second;
  const T *within = (const T *)(base + p.within);
  for (int64_t g = begin; g < end; g++) {
    const int lanes = lanes_of<T>(n2, g);
    const Adjacent<T> from = {const_cast<T *>(in) + g * kPair, 2 * n2, lanes, swap, T(1)};
    run_stages<T>(p.columns, base, from, Buffer<T>{done}, first, second);
    const T *between = (const T *)(base + p.between) + g * 2 * n1;
    for (int64_t k = 0; k < n1; k += N) {
      ahead.fetch<0>(ahead.in, ahead.in_bytes, g * blocks + k / N, groups_of<T>(n2) * blocks);
      const int rows = lanes_of<T>(n1, k / N);
      Vec<T> re[N], im[N];
      for (int i = 0; i < N; i++) {
        Pair<T> z = {Vec<T>(T(0)), Vec<T>(T(0))};
        if (i < rows) {
          z = Buffer<T>{done}.get(k + i) * Buffer<T>{const_cast<T *>(within)}.get(k + i);
          if (g > 0) z = z * everywhere(between + 2 * (k + i));
        }
        re[i] = z.re;
        im[i] = z.im;
      }
      turn(re);
      turn(im);
      const Buffer<T> to = {turned + (k / N * n2 + g * N) * kPair};
      for (int i = 0; i < lanes; i++) to.put(i, {re[i], im[i]});
    }
  }
}

// The second round: groups of rows.
template <class T>
void transform_rows(const char *base, const Plan &p, const T *turned, T *out, bool swap, T scale,
                    char *own, int64_t begin, int64_t end, const Ahead &ahead) {
  constexpr int64_t kPair = 2 * Vec<T>::N;
  const int64_t n1 = p.columns.n, n2 = p.rows.n;
  T *first = (T *)own, *second = first + n2 * kPair;
  for (int64_t g = begin; g < end; g++) {
    ahead.fetch<1>(ahead.out, ahead.out_bytes, g, groups_of<T>(n1));
    const Buffer<T> from = {const_cast<T *>(turned) + g * n2 * kPair};
    const Adjacent<T> to = {out + g * kPair, 2 * n1, lanes_of<T>(n1, g), swap, scale};
    run_stages<T>(p.rows, base, from, to, first, second);
  }
}

// Both rounds of a matrix as wide as a vector: the transposed result of the first one is a group of
// rows.
template <class T>
void transform_narrow(const char *base, const Plan &p, const T *in, T *out, bool swap, T scale,
                      char *own, const Ahead &ahead) {
  constexpr int N = Vec<T>::N;
  constexpr int64_t kPair = 2 * N;
  const int64_t n1 = p.columns.n, groups = groups_of<T>(n1);
  T *first = (T *)own, *second = first + n1 * kPair;
  // The last stage writes where it reads, so that the first cache holds the rest too.
  const Buffer<T> done = {p.columns.count % 2 ? second : first};
  const Buffer<T> within = {(T *)const_cast<char *>(base + p.within)};
  run_stages<T>(p.columns, base, Adjacent<T, true>{const_cast<T *>(in), kPair, N, swap, T(1)}, done,
                first, second);
  for (int64_t g = 0; g < groups; g++) {
    ahead.fetch<1>(ahead.out, ahead.out_bytes, g, groups);
    // The last group is complete, too, and recomputes some rows of the group before it.
    const int64_t k = (g + 1) * N < n1 ? g * N : n1 - N;
    Vec<T> re[N], im[N];
    for (int i = 0; i < N; i++) {
      const Pair<T> z = done.get(k + i) * within.get(k + i);
      re[i] = z.re;
      im[i] = z.im;
    }
    turn(re);
    turn(im);
    Pair<T> a[N];
    for (int i = 0; i < N; i++) a[i] = {re[i], im[i]};
    transform_points<N>(a, N, (const T *)nullptr);
    const Adjacent<T> to = {out + 2 * k, 2 * n1, N, swap, scale};
    for (int i = 0; i < N; i++) to.put(i, a[i]);
  }
}

template <class T>
void transform_line(const char *base, const Plan &p, const T *in, T *out, bool swap, T scale,
                    char *shared, char *own, const Ahead &ahead);

template <class T>
LT_INLINE void load_number(const T *p, bool swap, T &re, T &im) {
  re = p[swap];
  im = p[!swap];
}

template <class T>
LT_INLINE void store_number(T *p, bool swap, T re, T im) {
  p[swap] = re;
  p[!swap] = im;
}

// The convolution of the m numbers in `work` with those whose transform is the plan's spectrum, and
// the sum of the numbers.
template <class T>
Complex<T> convolve(const char *base, const Plan &p, T *work, T more_re, T more_im, char *shared,
                    char *own) {
  constexpr int N = Vec<T>::N;
  const Plan &inner = *(const Plan *)(base + p.inner);
  const T *spectrum = (const T *)(base + p.spectrum);
  transform_line<T>(base, inner, work, work, false, T(1), shared, own, {});
  const Complex<T> sum(work[0], work[1]);
  int64_t i = 0;
  for (; i + N <= inner.n; i += N)
    store_complex(work + 2 * i, load_complex(work + 2 * i) * load_complex(spectrum + 2 * i));
  for (; i < inner.n; i++) {
    const Complex<T> z =
        Complex<T>(work[2 * i], work[2 * i + 1]) * Complex<T>(spectrum[2 * i], spectrum[2 * i + 1]);
    work[2 * i] = z.re;
    work[2 * i + 1] = z.im;
  }
  // Adding a value to the sum of all elements adds it to each result.
  work[0] += more_re;
  work[1] += more_im;
  transform_line<T>(base, inner, work, work, true, T(1), shared, own, {});
  return sum;
}

// X[0] is the sum of all numbers; X[g^-i] is x[0] and the convolution of x[g^i] with w^(g^-i).
template <class T>
void transform_rader(const char *base, const Plan &p, const T *in, T *out, bool swap, T scale,
                     char *shared, char *own) {
  const int64_t m = p.n - 1;
  const int64_t *order = (const int64_t *)(base + p.order);
  T *work = (T *)shared, re, im;
  shared += (m * 2 * sizeof(T) + 63) / 64 * 64;
  load_number(in, swap, re, im);
  for (int64_t i = 0; i < m; i++)
    load_number(in + 2 * order[i], swap, work[2 * i], work[2 * i + 1]);
  const Complex<T> sum = convolve(base, p, work, re, im, shared, own);
  store_number(out, swap, (re + sum.re) * scale, (im + sum.im) * scale);
  for (int64_t i = 0; i < m; i++) {
    const int64_t at = i == 0 ? 0 : m - i;
    store_number(out + 2 * order[at], swap, work[2 * i] * scale, work[2 * i + 1] * scale);
  }
}

// With c[i] = w^(i^2 / 2), X[k] is c[k] times the convolution of x[i] c[i] with the conjugates of
// c.
template <class T>
void transform_chirp(const char *base, const Plan &p, const T *in, T *out, bool swap, T scale,
                     char *shared, char *own) {
  const int64_t n = p.n, m = ((const Plan *)(base + p.inner))->n;
  const T *chirp = (const T *)(base + p.chirp);
  T *work = (T *)shared;
  shared += (m * 2 * sizeof(T) + 63) / 64 * 64;
  for (int64_t i = 0; i < n; i++) {
    Complex<T> x;
    load_number(in + 2 * i, swap, x.re, x.im);
    x = x * Complex<T>(chirp[2 * i], chirp[2 * i + 1]);
    work[2 * i] = x.re;
    work[2 * i + 1] = x.im;
  }
  memset(work + 2 * n, 0, (m - n) * 2 * sizeof(T));
  convolve(base, p, work, T(0), T(0), shared, own);
  for (int64_t i = 0; i < n; i++) {
    const Complex<T> x =
        Complex<T>(work[2 * i], work[2 * i + 1]) * Complex<T>(chirp[2 * i], chirp[2 * i + 1]);
    store_number(out + 2 * i, swap, x.re * scale, x.im * scale);
  }
}

template <class T>
void transform_line(const char *base, const Plan &p, const T *in, T *out, bool swap, T scale,
                    char *shared, char *own, const Ahead &ahead) {
  switch (p.scheme) {
    case kRader:
      return transform_rader(base, p, in, out, swap, scale, shared, own);
    case kChirp:
      return transform_chirp(base, p, in, out, swap, scale, shared, own);
    case kNarrow:
      return transform_narrow(base, p, in, out, swap, scale, own, ahead);
  }
  transform_columns<T>(base, p, in, swap, (T *)shared, own, 0, groups_of<T>(p.rows.n), ahead);
  transform_rows<T>(base, p, (const T *)shared, out, swap, scale, own, 0, groups_of<T>(p.columns.n),
                    ahead);
}

// The transform of the numbers that a convolution is with, whose inverse needs no factor any more.
template <class T>
void make_spectra(char *base, const Plan &p, char *shared, char *own) {
  if (p.inner == 0) return;
  const Plan &inner = *(const Plan *)(base + p.inner);
  T *numbers = (T *)(base + p.spectrum);
  transform_line<T>(base, inner, numbers, numbers, false, T(1) / T(inner.n), shared, own, {});
}

}  // namespace
}  // namespace lt
#endif
