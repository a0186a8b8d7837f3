// The largest elements of windows of images.
#ifndef LIBTENSOR_KERNEL_SRC_POOLING_H
#define LIBTENSOR_KERNEL_SRC_POOLING_H

#include "windows.h"

namespace lt {
namespace {

template <class W>
LT_INLINE W least_value() {
  if constexpr (__is_same(W, float) || __is_same(W, double))
    return -(W)INFINITY;
  else if constexpr (W(-1) > W(0))
    return 0;
  else
    return W(W(1) << (8 * sizeof(W) - 1));
}

struct NoPlace {};

// The largest elements of windows, the first of equal ones, or the last NaN, and their positions,
// in integers I, or no positions. A window outside of the image has the lowest number and position
// -1.
template <class T, class I>
struct Largest {
  using W = Value<T>;
  static constexpr bool kPlaces = !__is_same(I, NoPlace);
  const lt_pooling *p;
  Range z, y;
  T *values;
  int64_t *places;

  // f(element, place) for the elements of a window, which are x in a row.
  template <class F>
  LT_INLINE void each(const T *image, Range x, F &&f) const {
    const lt_windows *w = p->windows;
    const int64_t apart = p->channels ? p->channels : 1;
    for (int64_t k = z.begin; k < z.end; k += w[0].step)
      for (int64_t j = y.begin; j < y.end; j += w[1].step) {
        const int64_t row = (k * w[1].size + j) * w[2].size;
        for (int64_t i = x.begin; i < x.end; i += w[2].step) f(image + (row + i) * apart, row + i);
      }
  }
  int64_t first(Range x) const {
    const lt_windows *w = p->windows;
    if (z.empty() || y.empty() || x.empty()) return -1;
    return (z.begin * w[1].size + y.begin) * w[2].size + x.begin;
  }

  void one(const T *image, Range x, int64_t to) const {
    W best = least_value<W>();
    int64_t place = first(x);
    each(image, x, [&](const T *from, int64_t at) {
      const W v = load_value(*from);
      if (v > best || v != v) best = v, place = at;
    });
    values[to] = convert<T>(best);
    if constexpr (kPlaces) places[to] = place;
  }

  // n adjacent windows: the image elements of one window are `stride` after those of the one
  // before, with indices `apart` larger. x are those of the first one.
  void side_by_side(const T *image, Range x, int64_t stride, int64_t apart, int64_t n,
                    int64_t to) const {
    if (kind_of<T> == kInteger || (sizeof(W) == 4 && volume_of(p) >= INT32_MAX)) {
      for (int64_t i = 0; i < n; i++) {
        one(image + i * stride, x, to + i);
        if constexpr (kPlaces) places[to + i] += places[to + i] < 0 ? 0 : i * apart;
      }
    } else if constexpr (kind_of<T> == kFloating) {
      in_lanes<W>(n, [&](auto whole, int64_t i, int lanes) {
        constexpr bool kWhole = whole.value;
        const T *from = image + i * stride;
        if (stride == 1)
          group<kWhole>(from, x, 1, i * apart, apart, lanes, to + i);
        else if (stride == 2)
          group<kWhole>(from, x, 2, i * apart, apart, lanes, to + i);
        else
          group<kWhole>(from, x, stride, i * apart, apart, lanes, to + i);
      });
    }
  }

  template <bool kWhole>
  LT_INLINE void group(const T *image, Range x, int64_t stride, int64_t place, int64_t apart,
                       int lanes, int64_t to) const {
    using V = Vec<W>;
    V best(least_value<W>());
    if constexpr (!kPlaces) {
      each(image, x, [&](const T *from, int64_t) {
        const V v = load_lanes<kWhole>(from, stride, lanes);
        best = select((v > best) | (v != v), v, best);
      });
    } else {
      I numbers[V::N];
      for (int l = 0; l < V::N; l++) numbers[l] = I(place + l * apart);
      const Vec<I> shift = load(numbers);
      const int64_t begin = first(x);
      Vec<I> at = begin < 0 ? Vec<I>(I(-1)) : shift + Vec<I>(I(begin));
      each(image, x, [&](const T *from, int64_t number) {
        const V v = load_lanes<kWhole>(from, stride, lanes);
        const auto larger = (v > best) | (v != v);
        best = select(larger, v, best);
        at = select(mask_cast<I>(larger), shift + Vec<I>(I(number)), at);
      });
      store(numbers, at);
      for (int l = 0; l < (kWhole ? V::N : lanes); l++) places[to + l] = numbers[l];
    }
    store_lanes<kWhole>(values + to, best, lanes);
  }
};

struct MaxPool {
  template <class T>
  static void row(lt_pooling *p) {
    if (p->room == 0)
      p->bytes = p->windows[2].positions * int64_t(sizeof(Range));
    else if (p->indices == 0)
      run<T, NoPlace>(p);
    else
      run<T, IntOf<Value<T>>>(p);
  }

  template <class T, class I>
  static void run(const lt_pooling *p) {
    const lt_windows *w = p->windows;
    const int64_t columns = w[2].positions, channels = p->channels;
    Range *met_x = (Range *)p->room;
    for (int64_t x = 0; x < columns; x++) met_x[x] = met(w[2], x);
    const Range inner = whole(w[2]);
    Largest<T, I> largest{p, {}, {}, (T *)p->result, (int64_t *)p->indices};
    const int64_t units = w[0].positions * w[1].positions;
    for (int64_t u = p->begin; u < p->end; u++) {
      const int64_t plane = u / units;
      const T *image = (const T *)p->image + plane * p->image_plane;
      largest.z = met(w[0], u % units / w[1].positions), largest.y = met(w[1], u % w[1].positions);
      int64_t to = plane * p->result_plane + u % units * columns * (channels ? channels : 1);
      if (channels) {
        for (int64_t x = 0; x < columns; x++, to += channels)
          largest.side_by_side(image, met_x[x], 1, 0, channels, to);
        continue;
      }
      for (int64_t x = 0; x < inner.begin; x++) largest.one(image, met_x[x], to + x);
      if (!inner.empty())
        largest.side_by_side(image, met_x[inner.begin], w[2].stride, w[2].stride,
                             inner.end - inner.begin, to + inner.begin);
      for (int64_t x = inner.end; x < columns; x++) largest.one(image, met_x[x], to + x);
    }
  }
};

// Adds the values of windows to zeros at indices, in float32 for 16-bit floats.
struct MaxPoolGradient {
  static constexpr int64_t kBlock = 64;  // adjacent channels that share a unit

  template <class T>
  static void row(lt_pooling *p) {
    const int64_t blocks = p->channels ? up(p->channels, kBlock) : 1;
    if (p->room == 0) {
      p->bytes = sizeof(T) < 4 ? volume_of(p) * (p->channels ? kBlock : 1) * 4 : 0;
      return;
    }
    for (int64_t u = p->begin; u < p->end; u++) {
      const int64_t plane = u / blocks, channel = u % blocks * kBlock;
      const int64_t left = p->channels - channel, n = left < kBlock ? left : kBlock;
      const int64_t from = plane * p->result_plane + channel;
      T *to = (T *)p->image + plane * p->image_plane + channel;
      unit(p, to, (const T *)p->result + from, (const int64_t *)p->indices + from,
           p->channels ? n : 1);
    }
  }

  template <class T>
  static LT_INLINE void unit(const lt_pooling *p, T *gradient, const T *given,
                             const int64_t *places, int64_t n) {
    const int64_t volume = volume_of(p), apart = p->channels ? p->channels : 1;
    if constexpr (__is_same(T, Value<T>)) {
      if (apart == n)
        memset((void *)gradient, 0, size_t(volume * n) * sizeof(T));
      else
        for (int64_t i = 0; i < volume; i++)
          memset((void *)(gradient + i * apart), 0, size_t(n) * sizeof(T));
      add(p, gradient, apart, given, places, n);
    } else {
      Value<T> *room = (Value<T> *)p->room;
      memset((void *)room, 0, size_t(volume * n) * sizeof(Value<T>));
      add(p, room, n, given, places, n);
      for (int64_t i = 0; i < volume; i++)
        for (int64_t c = 0; c < n; c++) gradient[i * apart + c] = convert<T>(room[i * n + c]);
    }
  }

  // Other threads may change the indices: nothing outside of the image is written.
  template <class T, class W>
  static LT_INLINE void add(const lt_pooling *p, W *to, int64_t step, const T *given,
                            const int64_t *places, int64_t n) {
    const int64_t apart = p->channels ? p->channels : 1, positions = positions_of(p);
    const uint64_t volume = (uint64_t)volume_of(p);
    if (apart == 1) {
      for (int64_t i = 0; i < positions; i++) {
        const uint64_t at = (uint64_t)places[i];
        if (at < volume) to[at] += load_value(given[i]);
      }
      return;
    }
    for (int64_t i = 0; i < positions; i++, given += apart, places += apart)
      for (int64_t c = 0; c < n; c++) {
        const uint64_t at = (uint64_t)places[c];
        if (at < volume) to[(int64_t)at * step + c] += load_value(given[c]);
      }
  }
};

}  // namespace
}  // namespace lt
#endif
