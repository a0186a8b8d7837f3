// Values of images at the points of a grid, a point for each thread, by the CPU's kernels.
#define LT_SAMPLE_POINTS 1
#define __builtin_shuffle(low, high, places) (low).x  // of vectors of one lane
#ifdef __CUDACC_RTC__
#define __builtin_nearbyintf ::nearbyintf
#define __builtin_nearbyint ::nearbyint
#endif
#include "device.h"
#include "../../engine/kernel/src/sampling.h"

namespace lt {
namespace {

// The arguments of a launch. In the backward pass index and weights have an
// element for each neighbor of each point: its position in the image, or -1, and its interpolation
// weight.
struct Sampling {
  lt_sampling of;
  int64_t count, volume;
  uint64_t index, weights;
};

// The number of elements between the first and the last one of an example's image.
LT_INLINE int64_t reach_of(const lt_sampling &p) {
  int64_t last = (p.channels - 1) * p.channel_stride;
  for (int64_t k = 0; k < p.dims; k++) last += (p.sizes[k] - 1) * p.strides[k];
  return last + 1;
}

// The arguments for the point i of all examples, whose operands are where a kernel can access them.
template <class T>
LT_INLINE lt_sampling with_point(const Sampling &s, int64_t i, bool image) {
  lt_sampling p = s.of;
  const int64_t example = i / p.points, d = p.dims, lines = p.channels * p.points;
  const auto place = [](uintptr_t at, int64_t first, int64_t n, bool writes) {
    const int64_t size = sizeof(T);
    return at ? (uintptr_t)LT_PLACE(at + first * size, n * size, writes) - first * size : 0;
  };
  if (image) p.image = place(p.image, example * p.example_stride, reach_of(p), false);
  p.grid = place(p.grid, i * d, d, false), p.along = place(p.along, i * d, d, false);
  p.values = place(p.values, example * lines, lines, true);
  p.slope = place(p.slope, i * d, d, true);
  p.units = 1, p.begin = i, p.end = i + 1;
  return p;
}

template <class OP, class T>
LT_INLINE void sample(const Sampling &s, int64_t i) {
  Points<Value<T>> points;
  lt_sampling p = with_point<T>(s, i, true);
  p.room = (uintptr_t)&points;
  OP::template row<T>(&p);
}

// The elements of an image around a point, and their interpolation weights.
template <class T>
LT_INLINE void neighbors_of(const Sampling &s, int64_t i) {
  using S = Value<T>;
  Points<S> points;
  const lt_sampling p = with_point<T>(s, i, false);
  points.template start<T>(&p, i / p.points, i % p.points);
  points.weigh(-1);
  int64_t *index = (int64_t *)LT_PLACE(s.index + i * points.all * 8, points.all * 8, true);
  S *weights = (S *)LT_PLACE(s.weights + i * points.all * sizeof(S), points.all * sizeof(S), true);
  for (int64_t t = 0; t < points.all; t++) {
    index[t] = points.there[t][0] ? points.at[t][0] + i / p.points * s.volume : -1;
    weights[t] = points.weights[t][0];
  }
}

}  // namespace
}  // namespace lt

#define LT_EACH_POINT(NAME, ...)                                                           \
  LT_KERNEL(NAME, lt::Sampling) {                                                          \
    for (int64_t i = LT_THREAD; i < args.count; i += LT_THREADS) lt::__VA_ARGS__(args, i); \
  }
#define LT_SAMPLES(DTYPE, T)                                       \
  LT_EACH_POINT(sample_##DTYPE, sample<lt::Sampled, T>)            \
  LT_EACH_POINT(sample_slope_##DTYPE, sample<lt::SampledSlope, T>) \
  LT_EACH_POINT(sample_neighbors_##DTYPE, neighbors_of<T>)

LT_SAMPLES(float16, lt::Float16)
LT_SAMPLES(bfloat16, lt::BFloat16)
LT_SAMPLES(float32, float)
LT_SAMPLES(float64, double)
