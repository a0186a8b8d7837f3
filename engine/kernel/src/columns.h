// im2col: windows of images as columns of a matrix, and its transpose.
#ifndef LIBTENSOR_KERNEL_SRC_COLUMNS_H
#define LIBTENSOR_KERNEL_SRC_COLUMNS_H

#include "windows.h"

namespace lt {
namespace {

// The windows of a row with kernel element t inside of the image.
LT_INLINE Range inside(const lt_windows &w, int64_t t) {
  const int64_t at = t * w.step + w.origin;
  int64_t begin = at < 0 ? up(-at, w.stride) : 0, end = at < w.size ? up(w.size - at, w.stride) : 0;
  if (begin > w.positions) begin = w.positions;
  if (end > w.positions) end = w.positions;
  return {begin, end < begin ? begin : end};
}

// A unit is one kernel element in all windows of a plane.
struct Columns {
  template <class T>
  static void row(lt_pooling *p) {
    if (p->room == 0) {
      p->bytes = 0;
      return;
    }
    const lt_windows *w = p->windows;
    const int64_t taps = w[0].taps * w[1].taps * w[2].taps, n = w[2].positions;
    T *to = (T *)p->result + p->begin * positions_of(p);
    for (int64_t u = p->begin; u < p->end; u++) {
      const T *image = (const T *)p->image + u / taps * p->image_plane;
      const int64_t a = u % taps / w[2].taps / w[1].taps, b = u / w[2].taps % w[1].taps;
      const int64_t c = u % w[2].taps, at = c * w[2].step + w[2].origin;
      const Range x = inside(w[2], c);
      for (int64_t k = 0; k < w[0].positions; k++)
        for (int64_t j = 0; j < w[1].positions; j++, to += n) {
          const int64_t z = k * w[0].stride + a * w[0].step + w[0].origin;
          const int64_t y = j * w[1].stride + b * w[1].step + w[1].origin;
          if (z < 0 || z >= w[0].size || y < 0 || y >= w[1].size || x.empty()) {
            memset((void *)to, 0, size_t(n) * sizeof(T));
            continue;
          }
          const T *from = image + (z * w[1].size + y) * w[2].size + at;
          memset((void *)to, 0, size_t(x.begin) * sizeof(T));
          if (w[2].stride == 1)
            memcpy((void *)(to + x.begin), (const void *)(from + x.begin),
                   size_t(x.end - x.begin) * sizeof(T));
          else
            for (int64_t i = x.begin; i < x.end; i++) to[i] = from[i * w[2].stride];
          memset((void *)(to + x.end), 0, size_t(n - x.end) * sizeof(T));
        }
    }
  }
};

// A unit is a row of the image: the sums of all kernel elements that refer to it, in the order of
// the kernel elements.
struct FromColumns {
  template <class T>
  static void row(lt_pooling *p) {
    using S = Value<T>;
    const lt_windows *w = p->windows;
    if (p->room == 0) {
      p->bytes = w[2].size * int64_t(sizeof(S));
      return;
    }
    S *sum = (S *)p->room;
    const int64_t units = w[0].size * w[1].size;
    for (int64_t u = p->begin; u < p->end; u++) {
      const T *column = (const T *)p->result + u / units * p->result_plane;
      memset((void *)sum, 0, size_t(w[2].size) * sizeof(S));
      for (int64_t a = 0; a < w[0].taps; a++)
        for (int64_t b = 0; b < w[1].taps; b++) {
          const int64_t k = window_of(w[0], u % units / w[1].size, a),
                        j = window_of(w[1], u % w[1].size, b);
          if (k < 0 || j < 0) continue;
          for (int64_t c = 0; c < w[2].taps; c++) {
            const Range x = inside(w[2], c);
            if (x.empty()) continue;
            const int64_t tap = (a * w[1].taps + b) * w[2].taps + c;
            const T *from =
                column +
                (tap * w[0].positions * w[1].positions + k * w[1].positions + j) * w[2].positions;
            S *to = sum + c * w[2].step + w[2].origin;
            if (w[2].stride == 1)
              add(from + x.begin, to + x.begin, 1, x.end - x.begin);
            else
              add(from + x.begin, to + x.begin * w[2].stride, w[2].stride, x.end - x.begin);
          }
        }
      T *to = (T *)p->image + u / units * p->image_plane + u % units * w[2].size;
      for (int64_t i = 0; i < w[2].size; i++) to[i] = convert<T>(sum[i]);
    }
  }
  template <class T, class S>
  static LT_INLINE void add(const T *__restrict from, S *__restrict to, int64_t stride, int64_t n) {
    for (int64_t i = 0; i < n; i++) to[i * stride] = S(to[i * stride] + load_value(from[i]));
  }
  // The window with element i at kernel element t, or -1.
  static LT_INLINE int64_t window_of(const lt_windows &w, int64_t i, int64_t t) {
    const int64_t at = i - w.origin - t * w.step;
    return at >= 0 && at % w.stride == 0 && at / w.stride < w.positions ? at / w.stride : -1;
  }
};

}  // namespace
}  // namespace lt
#endif
