// Windows of images: a thread computes an element of the results or, in the gradients, of the
// images, by the rules of the CPU's kernels and in their order.
#include "numbers.h"
#include "../../engine/kernel/src/columns.h"
#include "../../engine/kernel/src/fractional.h"
#include "../../engine/kernel/src/pooling.h"
#include "../../engine/kernel/src/pooling_average.h"

namespace lt {
namespace {

// An element, counted through all planes in the order of memory, of which each has adjacent
// channels if a call has several.
struct Element {
  int64_t plane, channel, z, y, x;
  LT_INLINE Element(int64_t i, int64_t channels, int64_t depth, int64_t height, int64_t width) {
    const int64_t lanes = channels ? channels : 1;
    channel = i % lanes, i /= lanes;
    x = i % width, i /= width;
    y = i % height, i /= height;
    z = i % depth, plane = i / depth;
  }
};
LT_INLINE Element result_of(const lt_pooling &p, int64_t i) {
  const lt_windows *w = p.windows;
  return {i, p.channels, w[0].positions, w[1].positions, w[2].positions};
}
LT_INLINE Element pixel_of(const lt_pooling &p, int64_t i) {
  const lt_windows *w = p.windows;
  return {i, p.channels, w[0].size, w[1].size, w[2].size};
}

// The first element of a channel of a plane.
template <class T>
LT_INLINE const T *plane_at(uint64_t all, int64_t size, const Element &e) {
  return (const T *)LT_PLACE(all + e.plane * size * sizeof(T), size * sizeof(T), false) + e.channel;
}
template <class T>
LT_INLINE T &element_at(uint64_t all, int64_t i) {
  return *(T *)LT_PLACE(all + i * sizeof(T), sizeof(T), true);
}

// f(offset) for the elements of a box of a plane, of rows of `height` and `width` elements: along
// x last, in the order in which the CPU adds them up, or, of adjacent channels, row by row.
template <class S, class F>
LT_INLINE S sum_of(const lt_pooling &p, Range z, Range y, Range x, int64_t height, int64_t width,
                   F f) {
  S total = S(0);
  if (p.channels) {
    for (int64_t k = z.begin; k < z.end; k++)
      for (int64_t j = y.begin; j < y.end; j++)
        for (int64_t i = x.begin; i < x.end; i++)
          total += f(k, j, i, ((k * height + j) * width + i) * p.channels);
    return total;
  }
  for (int64_t i = x.begin; i < x.end; i++) {
    S column = S(0);
    for (int64_t k = z.begin; k < z.end; k++)
      for (int64_t j = y.begin; j < y.end; j++) column += f(k, j, i, (k * height + j) * width + i);
    total += column;
  }
  return total;
}

template <class T>
struct MaxPoolOf {
  static LT_INLINE void at(const lt_pooling &p, int64_t i) {
    const Element e = result_of(p, i);
    const lt_windows *w = p.windows;
    const T *image = plane_at<T>(p.image, p.image_plane, e);
    T *value = &element_at<T>(p.result, i);
    const Range z = met(w[0], e.z), y = met(w[1], e.y), x = met(w[2], e.x);
    int64_t place;
    Largest<T, int64_t>{&p, z, y, value, &place}.one(image, x, 0);
    if (p.indices) element_at<int64_t>(p.indices, i) = place;
  }
};

template <class T>
struct FractionalPoolOf {
  static LT_INLINE void at(const lt_pooling &p, int64_t i) {
    const Element e = result_of(p, i);
    const lt_windows *w = p.windows;
    const T *samples =
        (const T *)LT_PLACE(p.samples + e.plane * p.dims * sizeof(T), p.dims * sizeof(T), false);
    // Images have the number of their width first, volumes that of their depth.
    const bool flat = p.dims == 2;
    const int64_t z = FractionalPool::begin_of(w[0], flat ? T() : samples[0], e.z);
    const int64_t y = FractionalPool::begin_of(w[1], samples[1], e.y);
    const int64_t x = FractionalPool::begin_of(w[2], samples[flat ? 0 : 2], e.x);
    const T *image = plane_at<T>(p.image, p.image_plane, e);
    const int64_t place = FractionalPool::largest(w, image, (z * w[1].size + y) * w[2].size + x);
    element_at<T>(p.result, i) = image[place];
    element_at<int64_t>(p.indices, i) = place;
  }
};

template <class T>
struct AveragePoolOf {
  static LT_INLINE void at(const lt_pooling &p, int64_t i) {
    using S = Sum<T>;
    const Element e = result_of(p, i);
    const lt_windows *w = p.windows;
    const T *image = plane_at<T>(p.image, p.image_plane, e);
    const S total =
        sum_of<S>(p, met(w[0], e.z), met(w[1], e.y), met(w[2], e.x), w[1].size, w[2].size,
                  [=](int64_t, int64_t, int64_t, int64_t at) { return S(load_value(image[at])); });
    const S all = p.divisor ? S(p.divisor)
                            : S(count_of(&p, w[0], e.z) * count_of(&p, w[1], e.y)) *
                                  S(count_of(&p, w[2], e.x));
    element_at<T>(p.result, i) = convert<T>(mean_of<S>(total, all));
  }
};

template <class T>
struct AveragePoolGradientOf {
  static LT_INLINE void at(const lt_pooling &p, int64_t i) {
    using S = Sum<T>;
    const Element e = pixel_of(p, i);
    const lt_windows *w = p.windows;
    const T *result = plane_at<T>(p.result, p.result_plane, e);
    const S total =
        sum_of<S>(p, meeting(w[0], e.z), meeting(w[1], e.y), meeting(w[2], e.x), w[1].positions,
                  w[2].positions, [&](int64_t k, int64_t j, int64_t i, int64_t at) {
                    const S all = p.divisor ? S(p.divisor)
                                            : S(count_of(&p, w[0], k) * count_of(&p, w[1], j)) *
                                                  S(count_of(&p, w[2], i));
                    return mean_of<S>(S(load_value(result[at])), all);
                  });
    element_at<T>(p.image, i) = convert<T>(total);
  }
};

// The elements of windows, by the size of an element.
template <class T>
struct ColumnsOf {
  static LT_INLINE void at(const lt_pooling &p, int64_t i) {
    const Element e = result_of(p, i);
    const lt_windows *w = p.windows;
    const int64_t taps = w[0].taps * w[1].taps * w[2].taps, tap = e.plane % taps;
    const int64_t z = e.z * w[0].stride + tap / w[2].taps / w[1].taps * w[0].step + w[0].origin;
    const int64_t y = e.y * w[1].stride + tap / w[2].taps % w[1].taps * w[1].step + w[1].origin;
    const int64_t x = e.x * w[2].stride + tap % w[2].taps * w[2].step + w[2].origin;
    T &to = element_at<T>(p.result, i);
    if (z < 0 || z >= w[0].size || y < 0 || y >= w[1].size || x < 0 || x >= w[2].size) {
      to = T();
      return;
    }
    const int64_t from = e.plane / taps * p.image_plane + (z * w[1].size + y) * w[2].size + x;
    to = *(const T *)LT_PLACE(p.image + from * sizeof(T), sizeof(T), false);
  }
};

template <class T>
struct FromColumnsOf {
  static LT_INLINE void at(const lt_pooling &p, int64_t i) {
    using S = Value<T>;
    const Element e = pixel_of(p, i);
    const lt_windows *w = p.windows;
    const T *column = plane_at<T>(p.result, p.result_plane, e);
    const int64_t positions = positions_of(&p);
    S total = S(0);
    for (int64_t a = 0, tap = 0; a < w[0].taps; a++)
      for (int64_t b = 0; b < w[1].taps; b++)
        for (int64_t c = 0; c < w[2].taps; c++, tap++) {
          const int64_t k = FromColumns::window_of(w[0], e.z, a);
          const int64_t j = FromColumns::window_of(w[1], e.y, b);
          const int64_t l = FromColumns::window_of(w[2], e.x, c);
          if (k < 0 || j < 0 || l < 0) continue;
          const int64_t at = tap * positions + (k * w[1].positions + j) * w[2].positions + l;
          total = S(total + load_value(column[at]));
        }
    element_at<T>(p.image, i) = convert<T>(total);
  }
};

// The arguments of a launch. count is the number of elements to compute.
struct Windowing {
  lt_pooling pool;
  int64_t count;
};

}  // namespace
}  // namespace lt

#define LT_WINDOWS(NAME, OP, T)                                                               \
  LT_KERNEL(NAME, lt::Windowing) {                                                            \
    for (int64_t i = LT_THREAD; i < args.count; i += LT_THREADS) lt::OP<T>::at(args.pool, i); \
  }
#define LT_WINDOWS_FLOATS(NAME, OP)             \
  LT_WINDOWS(NAME##_float16, OP, lt::Float16)   \
  LT_WINDOWS(NAME##_bfloat16, OP, lt::BFloat16) \
  LT_WINDOWS(NAME##_float32, OP, float)         \
  LT_WINDOWS(NAME##_float64, OP, double)
#define LT_WINDOWS_INTEGERS(NAME, OP)     \
  LT_WINDOWS(NAME##_uint8, OP, uint8_t)   \
  LT_WINDOWS(NAME##_int8, OP, int8_t)     \
  LT_WINDOWS(NAME##_int16, OP, int16_t)   \
  LT_WINDOWS(NAME##_int32, OP, int32_t)   \
  LT_WINDOWS(NAME##_int64, OP, int64_t)   \
  LT_WINDOWS(NAME##_uint16, OP, uint16_t) \
  LT_WINDOWS(NAME##_uint32, OP, uint32_t) \
  LT_WINDOWS(NAME##_uint64, OP, uint64_t)

LT_WINDOWS_FLOATS(max_pool, MaxPoolOf)
LT_WINDOWS_INTEGERS(max_pool, MaxPoolOf)
LT_WINDOWS_FLOATS(fractional_pool, FractionalPoolOf)
LT_WINDOWS_FLOATS(average_pool, AveragePoolOf)
LT_WINDOWS_INTEGERS(average_pool, AveragePoolOf)
LT_WINDOWS_FLOATS(average_pool_gradient, AveragePoolGradientOf)
LT_WINDOWS(columns_1, ColumnsOf, uint8_t)
LT_WINDOWS(columns_2, ColumnsOf, uint16_t)
LT_WINDOWS(columns_4, ColumnsOf, uint32_t)
LT_WINDOWS(columns_8, ColumnsOf, uint64_t)
LT_WINDOWS(columns_16, ColumnsOf, lt::Complex128)
LT_WINDOWS_FLOATS(from_columns, FromColumnsOf)
LT_WINDOWS_INTEGERS(from_columns, FromColumnsOf)
LT_WINDOWS(from_columns_complex64, FromColumnsOf, lt::Complex64)
LT_WINDOWS(from_columns_complex128, FromColumnsOf, lt::Complex128)
