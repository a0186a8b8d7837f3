// Largest elements of windows that begin at random.
#ifndef LIBTENSOR_KERNEL_SRC_FRACTIONAL_H
#define LIBTENSOR_KERNEL_SRC_FRACTIONAL_H

#include "windows.h"

namespace lt {
namespace {

// A unit is a plane, with a separate random number for each dimension: the position of the first
// step in the sequence of windows that are spaced as evenly as possible. The last NaN wins,
// otherwise the first of the largest elements.
struct FractionalPool {
  template <class T>
  static void row(lt_pooling *p) {
    const lt_windows *w = p->windows;
    if (p->room == 0) {
      p->bytes = (w[0].positions + w[1].positions + w[2].positions) * int64_t(sizeof(int64_t));
      return;
    }
    int64_t *z = (int64_t *)p->room, *y = z + w[0].positions, *x = y + w[1].positions;
    for (int64_t u = p->begin; u < p->end; u++) {
      // Images have the number of their width first, volumes that of their depth.
      const bool flat = p->dims == 2;
      const T *samples = (const T *)p->samples + u * p->dims;
      begin(w[0], flat ? T() : samples[0], z);
      begin(w[1], samples[1], y);
      begin(w[2], samples[flat ? 0 : 2], x);
      const T *image = (const T *)p->image + u * p->image_plane;
      T *to = (T *)p->result + u * p->result_plane;
      int64_t *places = (int64_t *)p->indices + u * p->result_plane;
      for (int64_t k = 0; k < w[0].positions; k++)
        for (int64_t j = 0; j < w[1].positions; j++)
          for (int64_t i = 0; i < w[2].positions; i++) {
            const int64_t at = (z[k] * w[1].size + y[j]) * w[2].size + x[i];
            const int64_t best = largest(w, image, at);
            *to++ = image[best], *places++ = best;
          }
    }
  }

  // The position of the largest element of the window that begins at a position of an image.
  template <class T>
  static LT_INLINE int64_t largest(const lt_windows *w, const T *image, int64_t at) {
    int64_t best = at;
    Value<T> most = load_value(image[at]);
    for (int64_t c = 0; c < w[0].taps; c++)
      for (int64_t b = 0; b < w[1].taps; b++)
        for (int64_t a = 0; a < w[2].taps; a++) {
          const int64_t next = at + (c * w[1].size + b) * w[2].size + a;
          const Value<T> v = load_value(image[next]);
          if (v > most || v != v) most = v, best = next;
        }
    return best;
  }

  // Where windows begin.
  template <class T>
  static void begin(const lt_windows &w, T sample, int64_t *to) {
    for (int64_t i = 0; i < w.positions; i++) to[i] = begin_of(w, sample, i);
  }
  // Where window i begins, computed in the dtype of the elements, as PyTorch does; the last one is
  // at the end.
  template <class T>
  static LT_INLINE int64_t begin_of(const lt_windows &w, T sample, int64_t i) {
    const auto as_stored = [](auto x) { return load_value(convert<T>(x)); };
    using S = Value<T>;
    const int64_t last = w.size - w.taps;
    if (i + 1 == w.positions) return last < 0 ? 0 : last;
    const S u = load_value(sample);
    const S apart = as_stored(as_stored(S(last)) / as_stored(S(w.positions - 1)));
    const int64_t first = truncated(as_stored(u * apart));
    const int64_t at = truncated(as_stored(as_stored(as_stored(S(i)) + u) * apart)) - first;
    return at < 0 ? 0 : at > last ? last : at;
  }
  template <class S>
  static int64_t truncated(S x) {
    const S most = S(1LL << 60);
    return x > -most && x < most ? int64_t(x) : 0;
  }
};

}  // namespace
}  // namespace lt
#endif
