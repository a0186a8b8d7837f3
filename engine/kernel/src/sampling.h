// Values of images at the points of a grid, and the backward pass.
#ifndef LIBTENSOR_KERNEL_SRC_SAMPLING_H
#define LIBTENSOR_KERNEL_SRC_SAMPLING_H

#include "../sampling.h"
#include "cast.h"
#include "windows.h"

namespace lt {
namespace {

#ifndef LT_SAMPLE_POINTS
#define LT_SAMPLE_POINTS 32
#endif
constexpr int kPoints = LT_SAMPLE_POINTS;
enum { kNeighbors = 4, kAllNeighbors = 16, kGroup = 8 };

#define LT_ROUNDING(NAME, FUNCTION)                                    \
  LT_INLINE float NAME(float x) { return __builtin_##FUNCTION##f(x); } \
  LT_INLINE double NAME(double x) { return __builtin_##FUNCTION(x); }
LT_ROUNDING(floor_of, floor)
LT_ROUNDING(trunc_of, trunc)
LT_ROUNDING(nearest_of, nearbyint)
LT_ROUNDING(size_of, fabs)
#undef LT_ROUNDING

// The neighboring elements of adjacent points along a dimension: their indices, -1 outside, their
// weights, and the first and second derivatives of these with respect to the coordinate.
template <class S>
struct NeighborsOfDim {
  int32_t index[kNeighbors][kPoints];
  S weights[3][kNeighbors][kPoints];
};

// All neighboring elements of points, row-major over the dimensions of the image. Loops are over a
// constant number of points: those beyond the last copy it.
template <class S>
struct Points {
  const lt_sampling *p;
  int64_t first, n, neighbors, all;
  bool inside;  // all neighbors are inside of the image
  NeighborsOfDim<S> dims[LT_SAMPLE_DIMS];
  S along[LT_SAMPLE_DIMS][kPoints];
  int32_t at[kAllNeighbors][kPoints];
  int32_t there[kAllNeighbors][kPoints];  // all bits set if the neighbor is inside
  S weights[kAllNeighbors][kPoints];

  template <class T>
  __attribute__((noinline)) void start(const lt_sampling *of, int64_t example, int64_t begins) {
    p = of, first = begins;
    const int64_t left = p->points - first, d = p->dims;
    n = left < kPoints ? left : int64_t(kPoints);
    neighbors = p->mode == LT_SAMPLE_LINEAR ? 2 : p->mode == LT_SAMPLE_NEAREST ? 1 : kNeighbors;
    all = 1;
    const int64_t begin = (example * p->points + first) * d;
    for (int64_t k = 0; k < d; k++) {
      S places[kPoints];
      spread_out((const T *)p->grid + begin + d - 1 - k, d, places);
      if (p->along) spread_out((const T *)p->along + begin + d - 1 - k, d, along[k]);
      // In the dtype of the elements, as PyTorch does.
      const S scale = S(p->align ? p->sizes[k] - 1 : p->sizes[k]) / 2, back = p->align ? 0 : S(0.5);
      const auto as_stored = [](S x) { return S(load_value(convert<T>(x))); };
      for (int i = 0; i < kPoints; i++)
        places[i] = as_stored(as_stored(as_stored(places[i] + 1) * scale) - back);
      find(k, places, scale);
      all *= neighbors;
    }
    int32_t missing = 0;
    for (int t = 0; t < all; t++) {
      int32_t sums[kPoints], signs[kPoints];
      int64_t rest = t;
      for (int64_t k = d - 1; k >= 0; k--, rest /= neighbors) {
        const int32_t *index = dims[k].index[rest % neighbors], stride = int32_t(p->strides[k]);
        const int32_t kept = k == d - 1 ? 0 : -1;
        for (int i = 0; i < kPoints; i++) {
          sums[i] = (sums[i] & kept) + index[i] * stride;
          signs[i] = (signs[i] & kept) | index[i];
        }
      }
      for (int i = 0; i < kPoints; i++) {
        const int32_t outside = signs[i] >> 31;
        at[t][i] = sums[i] & ~outside;
        there[t][i] = ~outside;
        missing |= outside;
      }
    }
    inside = missing == 0;
  }

  // Weights, or their derivatives by dimension `by`, if it is not -1, or in the direction of
  // points. Nearest elements have no derivatives.
  __attribute__((noinline)) void weigh(int by) {
    for (int t = 0; t < all; t++) {
      S *to = weights[t];
      if (!p->along) {
        product(t, by, -1, to);
        continue;
      }
      for (int k = 0; k < p->dims; k++) {
        S part[kPoints];
        product(t, by, k, part);
        for (int i = 0; i < kPoints; i++)
          to[i] = k == 0 ? along[k][i] * part[i] : to[i] + along[k][i] * part[i];
      }
    }
  }

  // n values of a plane or of points, with stride step.
  template <class T>
  LT_INLINE void spread_out(const T *from, int64_t step, S *to) const {
    if (n == kPoints)
      for (int i = 0; i < kPoints; i += Vec<S>::N)
        store(to + i, load_lanes<true>(from + i * step, step, Vec<S>::N));
    else
      for (int i = 0; i < kPoints; i++) to[i] = load_value(from[(i < n ? i : n - 1) * step]);
  }

 private:
  LT_INLINE void product(int64_t t, int by, int also, S *to) const {
    for (int k = int(p->dims) - 1, later = 0; k >= 0; k--, t /= neighbors, later = 1) {
      const S *from = dims[k].weights[(k == by) + (k == also)][t % neighbors];
      for (int i = 0; i < kPoints; i++) to[i] = later ? to[i] * from[i] : from[i];
    }
  }

  // Maps coordinates into the image according to the padding mode, and computes the derivative of
  // that.
  void pad(S last, S *at, S *slope) const {
    for (int i = 0; i < kPoints; i++) slope[i] = 1;
    if (p->padding == LT_SAMPLE_REFLECTION) {
      const S low = p->align ? S(0) : S(-0.5), span = p->align ? last : last + 1;
      if (span == 0)
        memset((void *)at, 0, kPoints * sizeof(S)), memset((void *)slope, 0, kPoints * sizeof(S));
      else
        for (int i = 0; i < kPoints; i++) {
          const S from = at[i] - low, size = size_of(from);
          const S rest = size - trunc_of(size / (2 * span)) * (2 * span);
          const bool back = rest > span;
          slope[i] = (from < 0) != back ? S(-1) : S(1);
          at[i] = (back ? 2 * span - rest : rest) + low;
        }
    }
    if (p->padding != LT_SAMPLE_ZEROS)
      for (int i = 0; i < kPoints; i++) {
        const S x = at[i], least = x > 0 ? x : S(0);
        slope[i] = x > 0 && x < last ? slope[i] : S(0);
        at[i] = least < last ? least : last;
      }
  }

  // The indices of positions without a fraction.
  static LT_INLINE void index_of(const S *at, S last, int32_t *to) {
    for (int i = 0; i < kPoints; i++) {
      const S x = at[i], low = x > 0 ? x : S(0);
      const int32_t index = int32_t(low < last ? low : last);
      to[i] = x >= 0 && x <= last ? index : -1;
    }
  }

  void find(int64_t k, S *places, S scale) {
    NeighborsOfDim<S> &to = dims[k];
    const S last = S(p->sizes[k] - 1);
    S slope[kPoints], whole[kPoints], t[kPoints];
    if (p->mode != LT_SAMPLE_CUBIC) pad(last, places, slope);
    if (p->mode == LT_SAMPLE_NEAREST) {
      for (int i = 0; i < kPoints; i++) places[i] = nearest_of(places[i]), to.weights[0][0][i] = 1;
      index_of(places, last, to.index[0]);
      return;
    }
    for (int i = 0; i < kPoints; i++) whole[i] = floor_of(places[i]), t[i] = places[i] - whole[i];
    if (p->mode == LT_SAMPLE_LINEAR) {
      for (int i = 0; i < kPoints; i++) {
        to.weights[0][0][i] = 1 - t[i], to.weights[0][1][i] = t[i];
        to.weights[1][0][i] = -scale * slope[i], to.weights[1][1][i] = scale * slope[i];
        to.weights[2][0][i] = to.weights[2][1][i] = 0;
      }
      index_of(whole, last, to.index[0]);
      for (int i = 0; i < kPoints; i++) whole[i] += 1;
      index_of(whole, last, to.index[1]);
      return;
    }
    for (int neighbor = 0; neighbor < kNeighbors; neighbor++) {
      cubic(to, neighbor, t, scale);
      S each[kPoints];
      for (int i = 0; i < kPoints; i++) each[i] = whole[i] + S(neighbor - 1);
      pad(last, each, slope);
      index_of(each, last, to.index[neighbor]);
    }
  }

  // Cubic convolution: the weights of four elements at distances 1 + t, t, 1 - t and 2 - t.
  static LT_INLINE void cubic(NeighborsOfDim<S> &to, int neighbor, const S *t, S scale) {
    const S a = S(-0.75), sign = neighbor < 2 ? S(1) : S(-1),
            begin = neighbor < 2 ? S(1 - neighbor) : S(neighbor - 1);
    const bool outer = neighbor == 0 || neighbor == 3;
    const S c3 = outer ? a : a + 2, c2 = outer ? -5 * a : -(a + 3), c1 = outer ? 8 * a : S(0);
    const S c0 = outer ? -4 * a : S(1);
    for (int i = 0; i < kPoints; i++) {
      const S x = begin + sign * t[i];
      to.weights[0][neighbor][i] = ((c3 * x + c2) * x + c1) * x + c0;
      to.weights[1][neighbor][i] = sign * scale * ((3 * c3 * x + 2 * c2) * x + c1);
      to.weights[2][neighbor][i] = scale * scale * (6 * c3 * x + 2 * c2);
    }
  }
};

// f(example, points) for units that are blocks of points.
template <class T, class F>
LT_INLINE void blocks(lt_sampling *p, F &&f) {
  const int64_t count = up(p->points, kPoints);
  if (p->units == 0) {
    p->units = count;
    p->bytes = sizeof(Points<Value<T>>);
    return;
  }
  Points<Value<T>> *points = (Points<Value<T>> *)p->room;
  for (int64_t u = p->begin; u < p->end; u++) {
    points->template start<T>(p, u / count, u % count * kPoints);
    f(u / count, *points);
  }
}

// The elements of a plane at neighbor t of points from i on, 0 outside.
template <class T, class S>
LT_INLINE Vec<S> load_neighbor(const T *plane, const Points<S> &points, int64_t t, int i) {
  const Vec<S> v = gather(plane, points.at[t] + i);
  if (points.inside) return v;
  IntOf<S> there[Vec<S>::N];
  for (int k = 0; k < Vec<S>::N; k++) there[k] = points.there[t][i + k];
  return bit_cast<S>(bit_cast<IntOf<S>>(v) & load(there));
}

struct Sampled {
  template <class T>
  static void row(lt_sampling *p) {
    using S = Value<T>;
    blocks<T>(p, [&](int64_t example, Points<S> &points) {
      points.weigh(-1);
      const T *image = (const T *)p->image + example * p->example_stride;
      T *to = (T *)p->values + example * p->channels * p->points + points.first;
      for (int64_t c = 0; c < p->channels; c++, image += p->channel_stride, to += p->points)
        in_lanes<S>(points.n, [&](auto whole, int64_t i, int lanes) {
          Vec<S> sum(S(0));
          for (int64_t t = 0; t < points.all; t++)
            sum = sum + load(points.weights[t] + i) * load_neighbor(image, points, t, int(i));
          store_lanes<whole.value>(to + i, sum, lanes);
        });
    });
  }
};

// The derivative of a sum of values, each times one that is given, by the grid; not of nearest
// ones.
struct SampledSlope {
  template <class T>
  static void row(lt_sampling *p) {
    using S = Value<T>;
    blocks<T>(p, [&](int64_t example, Points<S> &points) {
      const int64_t d = p->dims;
      T *to = (T *)p->slope + (example * p->points + points.first) * d;
      const T *image = (const T *)p->image + example * p->example_stride;
      const T *given = (const T *)p->values + example * p->channels * p->points + points.first;
      S sums[kAllNeighbors][kPoints], total[kPoints];
      for (int64_t c = 0; c < p->channels; c++, image += p->channel_stride, given += p->points) {
        S each[kPoints];
        points.spread_out(given, 1, each);
        for (int64_t t = 0; t < points.all; t++)
          for (int i = 0; i < kPoints; i += Vec<S>::N) {
            const Vec<S> part = load(each + i) * load_neighbor(image, points, t, i);
            store(sums[t] + i, c == 0 ? part : load(sums[t] + i) + part);
          }
      }
      for (int k = 0; k < d; k++) {
        points.weigh(k);
        for (int64_t t = 0; t < points.all; t++)
          for (int i = 0; i < kPoints; i += Vec<S>::N) {
            const Vec<S> part = load(points.weights[t] + i) * load(sums[t] + i);
            store(total + i, t == 0 ? part : load(total + i) + part);
          }
        for (int64_t i = 0; i < points.n; i++) to[i * d + d - 1 - k] = convert<T>(total[i]);
      }
    });
  }
};

// Adds the gradient to the planes of images, point by point: the transpose of sampling. Units are
// groups of channels; 16-bit floats are summed in float32.
struct SampledSpread {
  template <class T>
  static void row(lt_sampling *p) {
    using S = Value<T>;
    constexpr bool kWide = __is_same(T, S);
    constexpr int64_t group = kWide ? kGroup : 1;
    int64_t volume = 1;
    for (int64_t k = 0; k < p->dims; k++) volume *= p->sizes[k];
    const int64_t count = up(p->channels, group), space = (sizeof(Points<S>) + 63) / 64 * 64;
    if (p->units == 0) {
      p->units = count;
      p->bytes = space + (kWide ? 0 : volume * int64_t(sizeof(S)));
      return;
    }
    Points<S> *points = (Points<S> *)p->room;
    for (int64_t u = p->begin; u < p->end; u++) {
      const int64_t example = u / count, channel = u % count * group;
      const int64_t end = channel + group < p->channels ? channel + group : p->channels;
      T *image = (T *)p->image + (example * p->channels + channel) * volume;
      S *sums = kWide ? (S *)image : (S *)((char *)p->room + space);
      memset((void *)sums, 0, size_t((end - channel) * volume) * sizeof(S));
      for (int64_t first = 0; first < p->points; first += kPoints) {
        points->template start<T>(p, example, first);
        points->weigh(-1);
        for (int64_t c = channel; c < end; c++)
          add(*points, (const T *)p->values + (example * p->channels + c) * p->points + first,
              sums + (c - channel) * volume);
      }
      if (!kWide)
        for (int64_t i = 0; i < volume; i++) image[i] = convert<T>(sums[i]);
    }
  }
  template <class T, class S>
  static LT_INLINE void add(const Points<S> &points, const T *given, S *to) {
    S values[kPoints];
    points.spread_out(given, 1, values);
    for (int64_t t = 0; t < points.all; t++) {
      S part[kPoints];
      for (int i = 0; i < kPoints; i++) part[i] = points.weights[t][i] * values[i];
      const int32_t *at = points.at[t];
      const int32_t *there = points.there[t];
      if (points.inside)
        for (int64_t i = 0; i < points.n; i++) to[at[i]] += part[i];
      else
        for (int64_t i = 0; i < points.n; i++)
          if (there[i]) to[at[i]] += part[i];
    }
  }
};

}  // namespace
}  // namespace lt
#endif
