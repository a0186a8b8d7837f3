// Resampling of images: a thread computes an element of the result, with the interpolation weights
// and in the order of the CPU's kernel.
#include "device.h"
#include "../../engine/kernel/resampling.h"

namespace lt {
namespace {

// The arguments of a launch. count is the number of elements of the result.
struct Resampled {
  lt_resampling of;
  int64_t count;
};

// The source elements of an output element, and their interpolation weights.
template <class S>
struct Neighbors {
  const int32_t *index;
  const S *weights;
  int64_t count, step;
  double unit;

  LT_INLINE Neighbors(const lt_index_weights &a, int64_t i)
      : weights(nullptr), step(a.outputs), unit(a.unit) {
    const int64_t n = a.most * a.outputs;
    index = (const int32_t *)LT_PLACE(a.index, n * 4, false) + i;
    if (a.weights) weights = (const S *)LT_PLACE(a.weights, n * sizeof(S), false) + i;
    count = a.counts ? *(const int32_t *)LT_PLACE(a.counts + i * 4, 4, false) : a.most;
  }
  LT_INLINE int64_t at(int64_t t) const { return index[t * step]; }
  LT_INLINE S weight(int64_t t) const { return weights ? weights[t * step] : S(1); }
  LT_INLINE S rounded(S total) const {
    if (unit == 0) return total;
    const S v = S(::floor(double(total / S(unit) + S(0.5))));
    return v < 0 ? S(0) : v > 255 ? S(255) : v;
  }
};

// The weighted sum of f(element) over source elements; an element without weights is copied.
template <class S, class F>
LT_INLINE S weighted(const Neighbors<S> &x, F f) {
  if (!x.weights) return f(x.at(0));
  S total = 0;
  for (int64_t t = 0; t < x.count; t++) total += f(x.at(t)) * x.weight(t);
  return x.rounded(total);
}

// The same over two dimensions, with products of weights.
template <class S, class F>
LT_INLINE S weighted(const Neighbors<S> &z, const Neighbors<S> &y, F f) {
  if (!z.weights && !y.weights) return f(z.at(0), y.at(0));
  S total = 0;
  for (int64_t b = 0; b < z.count; b++)
    for (int64_t a = 0; a < y.count; a++)
      total += f(z.at(b), y.at(a)) * S(z.weight(b) * y.weight(a));
  return y.rounded(total);
}

template <class T>
LT_INLINE void resample(const Resampled &r, int64_t i) {
  using S = std::conditional_t<kind_of<T> == kInteger, double, decltype(load_value(T()))>;
  const lt_resampling &of = r.of;
  const lt_index_weights *a = of.axes;
  const int64_t lane = i % of.lanes, element = i / of.lanes;
  const int64_t row = element / a[2].outputs, plane = row / a[1].outputs / a[0].outputs;
  const Neighbors<S> x(a[2], element % a[2].outputs), y(a[1], row % a[1].outputs),
      z(a[0], row / a[1].outputs % a[0].outputs);
  const int64_t volume = a[0].size * a[1].size * a[2].size * of.lanes;
  const T *from =
      (const T *)LT_PLACE(of.from + plane * volume * sizeof(T), volume * sizeof(T), false) + lane;
  const auto element_of = [=](int64_t c, int64_t b, int64_t k) {
    return convert<S>(from[((c * a[1].size + b) * a[2].size + k) * of.lanes]);
  };
  S total;
  if (of.along_first)
    total = weighted(z, y, [&](int64_t c, int64_t b) {
      return weighted(x, [&](int64_t k) { return element_of(c, b, k); });
    });
  else
    total = weighted(x, [&](int64_t k) {
      return weighted(z, y, [&](int64_t c, int64_t b) { return element_of(c, b, k); });
    });
  *(T *)LT_PLACE(of.to + i * sizeof(T), sizeof(T), true) = convert<T>(total);
}

}  // namespace
}  // namespace lt

#define LT_RESAMPLE(NAME, T)                                                               \
  LT_KERNEL(NAME, lt::Resampled) {                                                         \
    for (int64_t i = LT_THREAD; i < args.count; i += LT_THREADS) lt::resample<T>(args, i); \
  }

LT_RESAMPLE(resample_uint8, uint8_t)
LT_RESAMPLE(resample_float16, lt::Float16)
LT_RESAMPLE(resample_bfloat16, lt::BFloat16)
LT_RESAMPLE(resample_float32, float)
LT_RESAMPLE(resample_float64, double)
