// Means of windows of images, and their transpose.
#ifndef LIBTENSOR_KERNEL_SRC_POOLING_AVERAGE_H
#define LIBTENSOR_KERNEL_SRC_POOLING_AVERAGE_H

#include "windows.h"

namespace lt {
namespace {

// Sums are made in float32 of 16-bit floats, and in int64 of integers.
template <class T>
using Sum = std::conditional_t<kind_of<T> == kInteger, int64_t, Value<T>>;

// sum / count, of integers rounded towards zero.
template <class S>
LT_INLINE S mean_of(S sum, S count) {
  if constexpr (__is_same(S, int64_t))
    return count == -1 ? S(0 - uint64_t(sum)) : sum / count;
  else
    return sum / count;
}

// The number of elements of a dimension in a mean, at least 1.
LT_INLINE int64_t count_of(const lt_pooling *p, const lt_windows &w, int64_t i) {
  if (p->divisor) return 1;
  int64_t n;
  if (w.taps == 0 || !p->padded) {
    const Range r = met(w, i);
    n = r.end - r.begin;
  } else {
    const int64_t begin = i * w.stride + w.origin, end = begin + w.taps, most = w.size - w.origin;
    n = (end < most ? end : most) - begin;
  }
  return n > 0 ? n : 1;
}

// One dimension of a sum over a box of inputs: their range for each output. Outputs are windows, or
// elements of the image in the gradient, and inputs the others. Counts are of windows.
template <class S, bool kGradient>
struct Side {
  int64_t outputs, inputs;
  Range *ranges;
  S *counts;
  bool alike;  // all counts are equal

  static int64_t bytes(const lt_windows &w) {
    return (kGradient ? w.size : w.positions) * int64_t(sizeof(Range)) +
           w.positions * int64_t(sizeof(int64_t));
  }
  char *fill(const lt_pooling *p, const lt_windows &w, char *room) {
    outputs = kGradient ? w.size : w.positions;
    inputs = kGradient ? w.positions : w.size;
    ranges = (Range *)room;
    counts = (S *)(room + outputs * int64_t(sizeof(Range)));
    for (int64_t i = 0; i < outputs; i++) ranges[i] = kGradient ? meeting(w, i) : met(w, i);
    alike = true;
    for (int64_t i = 0; i < w.positions; i++) {
      counts[i] = S(count_of(p, w, i));
      alike = alike && counts[i] == counts[0];
    }
    return room + bytes(w);
  }
  bool same(int64_t i, int64_t j) const {
    return ranges[i].begin == ranges[j].begin && ranges[i].end == ranges[j].end;
  }
};

template <bool kFirst, class T, class S>
LT_INLINE void add_row(const T *__restrict from, S *__restrict to, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    to[i] = kFirst ? S(load_value(from[i])) : S(to[i] + load_value(from[i]));
}

// Sums of `taps` adjacent elements for n outputs, which begin at a distance of stride.
template <class S>
LT_INLINE void side_by_side(const S *from, int64_t stride, int64_t taps, S *to, int64_t n) {
  if constexpr (__is_same(S, int64_t)) {
    for (int64_t i = 0; i < n; i++) {
      S total = 0;
      for (int64_t t = 0; t < taps; t++) total += from[i * stride + t];
      to[i] = total;
    }
  } else {
    in_lanes<S>(n, [&](auto whole, int64_t i, int lanes) {
      constexpr bool kWhole = whole.value;
      Vec<S> total(S(0));
      const S *at = from + i * stride;
      if (stride == 1)
        for (int64_t t = 0; t < taps; t++) total = total + load_lanes<kWhole>(at + t, 1, lanes);
      else if (stride == 2)
        for (int64_t t = 0; t < taps; t++) total = total + load_lanes<kWhole>(at + t, 2, lanes);
      else
        for (int64_t t = 0; t < taps; t++)
          total = total + load_lanes<kWhole>(at + t, stride, lanes);
      store_lanes<kWhole>(to + i, total, lanes);
    });
  }
}

template <class T, bool kGradient>
struct Averaging {
  using S = Sum<T>;
  const lt_pooling *p;
  Side<S, kGradient> z, y, x;
  S *sum, *made;
  bool at_once;  // sums are divided once they are made, in the gradient all by the same number

  static void row(lt_pooling *p) {
    const lt_windows *w = p->windows;
    if (p->room == 0) {
      p->bytes = 0;
      for (int d = 0; d < LT_POOL_DIMS; d++) p->bytes += Side<S, kGradient>::bytes(w[d]);
      if (!p->channels) p->bytes += 2 * (w[2].size + w[2].positions) * int64_t(sizeof(S));
      return;
    }
    Averaging a;
    a.p = p;
    a.sum = (S *)a.x.fill(p, w[2], a.y.fill(p, w[1], a.z.fill(p, w[0], (char *)p->room)));
    a.made = a.sum + a.x.inputs;
    a.at_once = !kGradient || (a.z.alike && a.y.alike && a.x.alike);
    const int64_t units = a.z.outputs * a.y.outputs, lanes = p->channels ? p->channels : 1;
    for (int64_t u = p->begin; u < p->end; u++) {
      const int64_t plane = u / units, size = a.x.outputs * lanes;
      T *image = (T *)p->image + plane * p->image_plane;
      T *result = (T *)p->result + plane * p->result_plane;
      T *to = (kGradient ? image : result) + u % units * size;
      const T *from = kGradient ? result : image;
      const int64_t k = u % units / a.y.outputs, j = u % a.y.outputs;
      if (kGradient && j > 0 && u > p->begin && a.y.same(j, j - 1))
        memcpy((void *)to, (const void *)(to - size), size_t(size) * sizeof(T));
      else if (p->channels)
        a.places(from, k, j, to);
      else
        a.line(from, k, j, to);
    }
  }

  // The divisor of the sums of a row, or of all sums of the gradient, without the count along x.
  S count(int64_t k, int64_t j) const {
    return p->divisor ? S(p->divisor) : S(z.counts[k] * y.counts[j]);
  }

  // A row of adjacent elements: adds up the rows of the box, and then the elements of each window.
  void line(const T *from, int64_t k, int64_t j, T *to) const {
    bool first = true;
    for (int64_t b = z.ranges[k].begin; b < z.ranges[k].end; b++)
      for (int64_t a = y.ranges[j].begin; a < y.ranges[j].end; a++, first = false) {
        const T *row = from + (b * y.inputs + a) * x.inputs;
        if (!at_once) {
          if (first) memset((void *)sum, 0, size_t(x.inputs) * sizeof(S));
          share(row, count(b, a));
        } else if (first) {
          add_row<true>(row, sum, x.inputs);
        } else {
          add_row<false>(row, sum, x.inputs);
        }
      }
    if (first) memset((void *)sum, 0, size_t(x.inputs) * sizeof(S));
    const Range inner = kGradient ? spread() : gathered();
    for (int64_t i = 0; i < inner.begin; i++) made[i] = alone(x.ranges[i]);
    for (int64_t i = inner.end; i < x.outputs; i++) made[i] = alone(x.ranges[i]);
    if (!kGradient) {
      const S all = count(k, j);
      for (int64_t i = 0; i < x.outputs; i++)
        to[i] = convert<T>(mean_of<S>(made[i], S(all * x.counts[i])));
    } else if (at_once) {
      const S all = S(count(0, 0) * x.counts[0]);
      for (int64_t i = 0; i < x.outputs; i++) to[i] = convert<T>(mean_of<S>(made[i], all));
    } else {
      for (int64_t i = 0; i < x.outputs; i++) to[i] = convert<T>(made[i]);
    }
  }

  LT_INLINE void share(const T *__restrict row, S all) const {
    for (int64_t i = 0; i < x.inputs; i++)
      sum[i] += mean_of<S>(S(load_value(row[i])), S(all * x.counts[i]));
  }
  LT_INLINE S alone(Range r) const {
    S total = 0;
    for (int64_t i = r.begin; i < r.end; i++) total += sum[i];
    return total;
  }

  // Computes the sums of complete windows, and returns their range.
  Range gathered() const {
    const lt_windows &w = p->windows[2];
    const Range inner = whole(w);
    if (!inner.empty())
      side_by_side(sum + x.ranges[inner.begin].begin, w.stride, w.taps, made + inner.begin,
                   inner.end - inner.begin);
    return inner;
  }

  // The same for image elements that all kernel elements of overlapping windows reach. Elements at
  // a distance of one stride belong to adjacent windows with the same kernel elements.
  Range spread() const {
    const lt_windows &w = p->windows[2];
    if (w.taps == 0) return {0, 0};
    const int64_t before = up(w.taps - 1, w.stride), left = up(-w.origin, w.stride);
    const int64_t begin = before > left ? before : left, last = (w.size - w.origin) / w.stride;
    const int64_t n = (last < w.positions ? last : w.positions) - begin;
    if (n <= 0) return {0, 0};
    S *to = made + begin * w.stride + w.origin, *phase = made + x.outputs;
    for (int64_t f = 0; f < w.stride; f++) {
      const int64_t taps = f < w.taps ? up(w.taps - f, w.stride) : 0;
      S *part = w.stride == 1 ? to : phase + (w.stride == 2 ? f * n : 0);
      side_by_side(sum + begin - (taps > 0 ? taps - 1 : 0), 1, taps, part, n);
      if (w.stride > 2)
        for (int64_t i = 0; i < n; i++) to[i * w.stride + f] = phase[i];
    }
    if (w.stride == 2)
      for (int64_t i = 0; i < n; i++) to[2 * i] = phase[i], to[2 * i + 1] = phase[n + i];
    return {to - made, to - made + n * w.stride};
  }

  // A row of positions with adjacent channels.
  void places(const T *from, int64_t k, int64_t j, T *to) const {
    const int64_t channels = p->channels;
    for (int64_t i = 0; i < x.outputs; i++, to += channels) {
      if (kGradient && i > 0 && x.same(i, i - 1)) {
        memcpy((void *)to, (const void *)(to - channels), size_t(channels) * sizeof(T));
        continue;
      }
      const S all = !kGradient ? S(count(k, j) * x.counts[i])
                    : at_once  ? S(count(0, 0) * x.counts[0])
                               : S(1);
      if constexpr (kind_of<T> == kInteger) {
        for (int64_t c = 0; c < channels; c++) {
          S total = 0;
          each(from + c, k, j, i, [&](const T *at, S) { total += S(*at); });
          to[c] = convert<T>(mean_of<S>(total, all));
        }
      } else {
        in_lanes<S>(channels, [&](auto whole, int64_t c, int lanes) {
          constexpr bool kWhole = whole.value;
          Vec<S> total(S(0));
          if (at_once)
            each(from + c, k, j, i,
                 [&](const T *at, S) { total = total + load_lanes<kWhole>(at, 1, lanes); });
          else
            each(from + c, k, j, i, [&](const T *at, S part) {
              total = total + load_lanes<kWhole>(at, 1, lanes) / Vec<S>(part);
            });
          store_lanes<kWhole>(to + c, total / Vec<S>(all), lanes);
        });
      }
    }
  }
  // f(input, count) of the box of output (k, j, i).
  template <class F>
  LT_INLINE void each(const T *from, int64_t k, int64_t j, int64_t i, F &&f) const {
    for (int64_t b = z.ranges[k].begin; b < z.ranges[k].end; b++)
      for (int64_t a = y.ranges[j].begin; a < y.ranges[j].end; a++) {
        const T *row = from + (b * y.inputs + a) * x.inputs * p->channels;
        for (int64_t e = x.ranges[i].begin; e < x.ranges[i].end; e++)
          f(row + e * p->channels, kGradient && !at_once ? S(count(b, a) * x.counts[e]) : S(1));
      }
  }
};

struct AveragePool {
  template <class T>
  static void row(lt_pooling *p) {
    Averaging<T, false>::row(p);
  }
};
struct AveragePoolGradient {
  template <class T>
  static void row(lt_pooling *p) {
    Averaging<T, true>::row(p);
  }
};

}  // namespace
}  // namespace lt
#endif
