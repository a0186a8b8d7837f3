// Transforms of several lines in parallel, one per vector lane.
#ifndef LIBTENSOR_KERNEL_FFT_LANES_H
#define LIBTENSOR_KERNEL_FFT_LANES_H

#include "line.h"
#include "real.h"

namespace lt {
namespace {

// The lines of a group, by the bytes of their first numbers; those behind the last are the last
// one.
struct Lines {
  int64_t in[16], out[16];
  int lanes;
};

// Walks over the lines in the order of their dimensions.
struct Walk {
  const lt_fft &f;
  int64_t at[LT_DIMS] = {}, in = 0, out = 0;

  Walk(const lt_fft &of, int64_t line) : f(of) {
    for (int64_t d = 0; d < f.ndim; d++) {
      at[d] = line % f.sizes[d];
      line /= f.sizes[d];
      in += at[d] * f.in_strides[d];
      out += at[d] * f.out_strides[d];
    }
  }
  void next() {
    for (int64_t d = 0; d < f.ndim; d++) {
      in += f.in_strides[d];
      out += f.out_strides[d];
      if (++at[d] < f.sizes[d]) return;
      in -= f.sizes[d] * f.in_strides[d];
      out -= f.sizes[d] * f.out_strides[d];
      at[d] = 0;
    }
  }
};

// Whether lanes are contiguous.
LT_INLINE bool adjacent(const int64_t *places, int lanes, int64_t size) {
  for (int l = 1; l < lanes; l++)
    if (places[l] != places[0] + l * size) return false;
  return true;
}

template <class T>
LT_INLINE T value_at(const char *p) {
  T v;
  memcpy(&v, p, sizeof v);
  return v;
}

// Values 0 to n of every lane, with stride `step` in bytes; if `count` is 2, the parts of a complex
// number are adjacent.
template <class T, class Put>
LT_INLINE void gather(const char *in, const int64_t *places, int lanes, int64_t step, int count,
                      int64_t n, Put put) {
  constexpr int N = Vec<T>::N;
  int64_t i = 0;
  if (step == count * (int64_t)sizeof(T)) {
    const int block = N / count;
    for (; i + block <= n; i += block) {
      Vec<T> rows[N];
      for (int l = 0; l < N; l++)
        rows[l] = load((const T *)(in + places[l < lanes ? l : 0] + i * step));
      turn(rows);
      for (int j = 0; j < block; j++)
        put(i + j,
            count == 2 ? Pair<T>{rows[2 * j], rows[2 * j + 1]} : Pair<T>{rows[j], Vec<T>(T(0))});
    }
  }
  for (; i < n; i++) {
    T re[N] = {}, im[N] = {};
    for (int l = 0; l < lanes; l++) {
      const char *p = in + places[l] + i * step;
      re[l] = value_at<T>(p);
      if (count == 2) im[l] = value_at<T>(p + sizeof(T));
    }
    put(i, Pair<T>{load(re), load(im)});
  }
}

template <class T, class Get>
LT_INLINE void scatter(char *out, const int64_t *places, int lanes, int64_t step, int count,
                       int64_t n, Get get) {
  constexpr int N = Vec<T>::N;
  int64_t i = 0;
  if (step == count * (int64_t)sizeof(T)) {
    const int block = N / count;
    for (; i + block <= n; i += block) {
      Vec<T> rows[N];
      for (int j = 0; j < block; j++) {
        const Pair<T> z = get(i + j);
        if (count == 2) {
          rows[2 * j] = z.re;
          rows[2 * j + 1] = z.im;
        } else {
          rows[j] = z.re;
        }
      }
      turn(rows);
      for (int l = 0; l < lanes; l++) store((T *)(out + places[l] + i * step), rows[l]);
    }
  }
  for (; i < n; i++) {
    const Pair<T> z = get(i);
    for (int l = 0; l < lanes; l++) {
      char *p = out + places[l] + i * step;
      const T re = z.re[l], im = z.im[l];
      memcpy(p, &re, sizeof re);
      if (count == 2) memcpy(p + sizeof(T), &im, sizeof im);
    }
  }
}

// The transforms of a group of lines.
template <class T>
void transform_lanes(const lt_fft &f, const char *base, const Plan &p, const Lines &g) {
  constexpr int64_t kPair = 2 * Vec<T>::N, kNumber = 2 * sizeof(T);
  const int64_t n = f.n, h = n / 2;
  const bool halved = f.kind != LT_FFT_COMPLEX && n % 2 == 0;
  const char *in = (const char *)f.in;
  char *out = (char *)f.out;
  const T scale = T(f.scale);
  T *first = (T *)f.own, *second = first + (p.n + 1) * kPair;
  const Buffer<T> kept = {second + (p.n + 1) * kPair}, spare = {first};
  const auto root = [&](int64_t k) { return everywhere((const T *)(base + p.unpack) + 2 * k); };
  const auto keep = [&](int64_t i, const Pair<T> &z) { kept.put(i, z); };
  const auto stages = [&](const auto &from, const auto &to) {
    run_stages<T>(p.lanes, base, from, to, first, second);
  };

  if (f.kind == LT_FFT_COMPLEX) {
    const bool swap = f.inverse;
    const bool in_place = adjacent(g.in, g.lanes, kNumber) && f.in_step % (int64_t)sizeof(T) == 0;
    const bool out_place =
        adjacent(g.out, g.lanes, kNumber) && f.out_step % (int64_t)sizeof(T) == 0;
    const Adjacent<T> from = {(T *)(in + g.in[0]), f.in_step / (int64_t)sizeof(T), g.lanes, swap,
                              T(1)};
    const Adjacent<T> to = {(T *)(out + g.out[0]), f.out_step / (int64_t)sizeof(T), g.lanes, swap,
                            scale};
    if (!in_place)
      gather<T>(in, g.in, g.lanes, f.in_step, 2, n,
                [&](int64_t i, const Pair<T> &z) { kept.put(i, swap ? z.swapped() : z); });
    if (in_place && out_place)
      return stages(from, to);
    else if (in_place)
      stages(from, kept);
    else if (out_place)
      return stages(kept, to);
    else
      stages(kept, kept);
    return scatter<T>(out, g.out, g.lanes, f.out_step, 2, n, [&](int64_t i) {
      const Pair<T> z = kept.get(i) * Vec<T>(scale);
      return swap ? z.swapped() : z;
    });
  }

  if (f.kind == LT_FFT_REAL) {
    gather<T>(in, g.in, g.lanes, f.in_step, 2, h + 1, keep);
    const Vec<T> zero = T(0);
    if (halved) {
      const Vec<T> a = kept.get(0).re, b = kept.get(h).re;
      kept.put(0, Pair<T>{a - b, a + b});  // swapped, since an inverse follows
      for (int64_t k = 1; k <= h - k; k++) {
        Pair<T> x = kept.get(k), y = kept.get(h - k);
        pack(x, y, root(k));
        kept.put(h - k, y.swapped());
        kept.put(k, x.swapped());
      }
      stages(kept, kept);
      return scatter<T>(out, g.out, g.lanes, f.out_step, 1, n, [&](int64_t i) {
        const Pair<T> z = kept.get(i / 2) * Vec<T>(scale);
        return i % 2 ? Pair<T>{z.re, z.re} : Pair<T>{z.im, z.im};
      });
    }
    kept.put(0, Pair<T>{zero, kept.get(0).re});
    for (int64_t k = 1; k <= h; k++) {
      const Pair<T> z = kept.get(k);
      kept.put(k, z.swapped());
      kept.put(n - k, z.conj().swapped());
    }
    stages(kept, kept);
    return scatter<T>(out, g.out, g.lanes, f.out_step, 1, n,
                      [&](int64_t i) { return Pair<T>{kept.get(i).im * Vec<T>(scale), zero}; });
  }

  Buffer<T> done = kept;
  if (halved) {
    if (f.in_step == sizeof(T)) {
      gather<T>(in, g.in, g.lanes, kNumber, 2, h, keep);
    } else {
      gather<T>(in, g.in, g.lanes, 2 * f.in_step, 1, h, keep);
      gather<T>(in + f.in_step, g.in, g.lanes, 2 * f.in_step, 1, h,
                [&](int64_t i, const Pair<T> &z) { kept.put(i, Pair<T>{kept.get(i).re, z.re}); });
    }
    stages(kept, kept);
    const Pair<T> z = kept.get(0);
    const Vec<T> zero = T(0);
    done = spare;
    for (int64_t k = 1; k <= h - k; k++) {
      Pair<T> a = kept.get(k), b = kept.get(h - k);
      unpack(a, b, root(k), Vec<T>(T(0.5)));
      done.put(h - k, b);
      done.put(k, a);
    }
    done.put(0, Pair<T>{z.re + z.im, zero});
    done.put(h, Pair<T>{z.re - z.im, zero});
  } else {
    gather<T>(in, g.in, g.lanes, f.in_step, 1, n, keep);
    stages(kept, kept);
  }
  const int64_t count = f.kind == LT_FFT_TWOSIDED ? n : h + 1;
  scatter<T>(out, g.out, g.lanes, f.out_step, 2, count, [&](int64_t i) {
    return (i <= h ? done.get(i) : done.get(n - i).conj()) * Vec<T>(scale);
  });
}

}  // namespace
}  // namespace lt
#endif
