// Convolutions of adjacent groups of one channel and one row of weights, as in channels_last: lanes
// are groups, and kernel elements outside of the image are skipped.
#ifndef LIBTENSOR_KERNEL_SRC_CONVOLUTION_DEPTHWISE_H
#define LIBTENSOR_KERNEL_SRC_CONVOLUTION_DEPTHWISE_H

#include "arena.h"
#include "slab.h"

namespace lt {
namespace {

template <class P>
struct Depthwise {
  using T = typename P::Unit;
  static constexpr int N = Vec<T>::N;
  static constexpr int kPositions = 8;  // whose sums are in registers at once
  // A kernel element inside of the image: the address of the image element, and of its weights.
  struct Tap {
    int64_t image, weight;
  };
  const lt_convolution *g;
  int64_t taps;
  T *weights;  // those of a kernel element are adjacent
  Tap *met;

  static constexpr int64_t kMost = 1 << 18;  // bytes of weights, which the second cache holds

  static bool fits(const lt_convolution *g) {
    return g->channels == 1 && g->rows == 1 && g->image_group == 1 && g->result_group == 1 &&
           g->axes[2].image_step != 1 && g->axes[2].position_step != 1 &&
           taps_of(g) * g->groups <= kMost / int64_t(sizeof(T));
  }
  static int64_t taps_of(const lt_convolution *g) {
    return g->axes[0].taps * g->axes[1].taps * g->axes[2].taps;
  }

  explicit Depthwise(lt_convolution *g) : g(g), taps(taps_of(g)) {
    Arena room{(char *)g->room};
    weights = room.take<T>(taps * g->groups);
    met = room.take<Tap>(taps);
    g->bytes = room.used;
  }

  void run() const {
    find_turn(sizeof(T))((char *)weights, g->groups * int64_t(sizeof(T)), (const char *)g->weight,
                         g->weight_group * int64_t(sizeof(T)), g->groups, taps);
    for (int64_t k = g->axes[0].begin; k < g->axes[0].end; k++)
      for (int64_t j = g->axes[1].begin; j < g->axes[1].end; j++) row(k, j);
  }

 private:
  static int64_t element(const lt_axis &a, int64_t position, int64_t tap) {
    return position * a.stride + tap * a.step + a.origin;
  }
  // The positions along a row with all kernel elements inside of the image.
  Range whole() const {
    const lt_axis &a = g->axes[2];
    const int64_t reach = (a.taps - 1) * a.step, low = a.origin + (reach < 0 ? reach : 0),
                  left = a.size - a.origin - (reach > 0 ? reach : 0);
    const Range all{low < 0 ? up(-low, a.stride) : 0, left > 0 ? up(left, a.stride) : 0};
    return {all.begin > a.begin ? all.begin : a.begin, all.end < a.end ? all.end : a.end};
  }
  void row(int64_t k, int64_t j) const {
    const lt_axis *a = g->axes;
    const Range inner = whole();
    const int64_t to = k * a[0].position_step + j * a[1].position_step;
    for (int64_t i = a[2].begin; i < a[2].end;) {
      if (i != inner.begin || inner.end - inner.begin < kPositions) {
        some<1>(list(k, j, i), 0, to + i * a[2].position_step);
        i++;
        continue;
      }
      const int64_t n = list(k, j, i);
      for (; i < inner.end; i += kPositions) {
        // The last ones may begin with some of those before.
        if (i > inner.end - kPositions) i = inner.end - kPositions;
        some<kPositions>(n, (i - inner.begin) * a[2].stride * a[2].image_step,
                         to + i * a[2].position_step);
      }
    }
  }
  // Lists the kernel elements inside of the image at a position.
  int64_t list(int64_t k, int64_t j, int64_t i) const {
    const int64_t at[LT_AXES] = {k, j, i};
    int64_t n = 0;
    each_met(0, at, 0, 0, n);
    return n;
  }
  void each_met(int d, const int64_t *at, int64_t image, int64_t tap, int64_t &n) const {
    if (d == LT_AXES) {
      met[n++] = {image, tap * g->groups};
      return;
    }
    const lt_axis &a = g->axes[d];
    for (int64_t t = 0; t < a.taps; t++) {
      const int64_t e = element(a, at[d], t);
      if (e >= 0 && e < a.size) each_met(d + 1, at, image + e * a.image_step, tap * a.taps + t, n);
    }
  }
  // The sums of all groups at some positions, from a list of kernel elements of some positions
  // before.
  template <int kMany>
  void some(int64_t n, int64_t from, int64_t to) const {
    const int64_t across = g->axes[2].stride * g->axes[2].image_step;
    for (int64_t c = 0; c < g->groups; c += N) {
      const int lanes = int(g->groups - c < N ? g->groups - c : N);
      if constexpr (kMany > 1) {
        if (lanes < N) {
          for (int p = 0; p < kMany; p++)
            tile<1>(n, c, lanes, from + p * across, to + p * g->axes[2].position_step);
          return;
        }
      }
      tile<kMany>(n, c, lanes, from, to);
    }
  }
  template <int kMany>
  LT_INLINE void tile(int64_t n, int64_t c, int lanes, int64_t from, int64_t to) const {
    constexpr bool kWhole = kMany > 1;
    const auto read = [&](const T *p) __attribute__((always_inline)) {
      return kWhole ? load(p) : load_partial(p, lanes);
    };
    const int64_t across = g->axes[2].stride * g->axes[2].image_step;
    const T *const image = (const T *)g->image + from + c;
    Vec<T> sums[kMany];
    unrolled<kMany>([&](int p) __attribute__((always_inline)) { sums[p] = T(0); });
    for (int64_t t = 0; t < n; t++) {
      const T *at = image + met[t].image;
      const Vec<T> w = read(weights + met[t].weight + c);
      unrolled<kMany>([&](int p) __attribute__((always_inline)) {
        sums[p] = P::add(sums[p], w, read(at + p * across));
      });
    }
    T *const out = (T *)g->result + to + c;
    unrolled<kMany>([&](int p) __attribute__((always_inline)) {
      if (g->bias) sums[p] = sums[p] + read((const T *)g->bias + c);
      T *const at = out + p * g->axes[2].position_step;
      if constexpr (kWhole)
        store(at, sums[p]);
      else
        store_partial(at, sums[p], lanes);
    });
  }
};

// The gradient of the weights of such groups: lanes are groups, too. The products at the positions
// of a row are added up before they are added to those of the rows before.
template <class P>
struct DepthwiseWeight {
  using T = typename P::Unit;
  static constexpr int N = Vec<T>::N;
  static constexpr int kTaps = 3, kVectors = 4;  // whose sums are in registers at once
  const lt_convolution_weight *g;
  int64_t taps;
  T *sums;  // those of a kernel element are adjacent

  explicit DepthwiseWeight(lt_convolution_weight *g)
      : g(g), taps(g->axes[0].taps * g->axes[1].taps * g->axes[2].taps), sums((T *)g->room) {
    g->bytes = taps * g->groups * int64_t(sizeof(T));
  }

  void run() const {
    const lt_axis *a = g->axes;
    memset((void *)sums, 0, size_t(taps * g->groups) * sizeof(T));
    for (int64_t n = 0; n < g->images; n++)
      for (int64_t k = a[0].begin; k < a[0].end; k++)
        for (int64_t j = a[1].begin; j < a[1].end; j++) row(n, k, j);
    write();
  }

 private:
  static int64_t element(const lt_axis &a, int64_t position, int64_t tap) {
    return position * a.stride + tap * a.step + a.origin;
  }
  void row(int64_t n, int64_t k, int64_t j) const {
    const lt_axis *a = g->axes;
    const T *const gradient = (const T *)g->positions + n * g->positions_image +
                              k * a[0].position_step + j * a[1].position_step;
    const T *const image = (const T *)g->image + n * g->image_image;
    T *to = sums;
    for (int64_t z = 0; z < a[0].taps; z++)
      for (int64_t y = 0; y < a[1].taps; y++, to += a[2].taps * g->groups) {
        const int64_t plane = element(a[0], k, z), line = element(a[1], j, y);
        if (plane < 0 || plane >= a[0].size || line < 0 || line >= a[1].size) continue;
        const T *const from = image + plane * a[0].image_step + line * a[1].image_step;
        int64_t t = 0;
        for (; t + kTaps <= a[2].taps; t += kTaps) some<kTaps>(gradient, from, t, to);
        for (; t < a[2].taps; t++) some<1>(gradient, from, t, to);
      }
  }
  // The positions whose image element at kernel element t is inside of the image.
  Range inside(int64_t t) const {
    const lt_axis &a = g->axes[2];
    const int64_t low = element(a, 0, t), left = a.size - low;
    const Range all{low < 0 ? up(-low, a.stride) : 0, left > 0 ? up(left, a.stride) : 0};
    return {all.begin > a.begin ? all.begin : a.begin, all.end < a.end ? all.end : a.end};
  }
  // Adds the products of kMany kernel elements from t on along a row.
  template <int kMany>
  void some(const T *gradient, const T *image, int64_t t, T *to) const {
    Range all = inside(t);
    if constexpr (kMany > 1) {
      Range each[kMany];
      for (int i = 0; i < kMany; i++) {
        each[i] = inside(t + i);
        if (each[i].begin > all.begin) all.begin = each[i].begin;
        if (each[i].end < all.end) all.end = each[i].end;
      }
      if (all.empty()) all.begin = all.end = g->axes[2].end;
      for (int i = 0; i < kMany; i++) {
        const int64_t first = each[i].end < all.begin ? each[i].end : all.begin;
        lanes<1>(gradient, image, t + i, to, {each[i].begin, first});
        lanes<1>(gradient, image, t + i, to, {all.end, each[i].end});
      }
    }
    lanes<kMany>(gradient, image, t, to, all);
  }
  template <int kMany>
  void lanes(const T *gradient, const T *image, int64_t t, T *to, Range at) const {
    if (at.empty()) return;
    const lt_axis &a = g->axes[2];
    gradient += at.begin * a.position_step;
    image += element(a, at.begin, t) * a.image_step;
    to += t * g->groups;
    const int64_t count = at.end - at.begin;
    int64_t c = 0;
    for (; c + kVectors * N <= g->groups; c += kVectors * N)
      tile<kMany, kVectors, true>(gradient + c, image + c, to + c, count, N);
    for (; c + N <= g->groups; c += N)
      tile<kMany, 1, true>(gradient + c, image + c, to + c, count, N);
    if (c < g->groups)
      tile<kMany, 1, false>(gradient + c, image + c, to + c, count, int(g->groups - c));
  }
  template <int kMany, int kWide, bool kWhole>
  LT_INLINE void tile(const T *gradient, const T *image, T *to, int64_t count, int lanes) const {
    const auto read = [&](const T *p) __attribute__((always_inline)) {
      return kWhole ? load(p) : load_partial(p, lanes);
    };
    const lt_axis &a = g->axes[2];
    const int64_t tap = a.step * a.image_step, across = a.stride * a.image_step;
    Vec<T> acc[kMany * kWide];
    unrolled<kMany * kWide>([&](int m) __attribute__((always_inline)) { acc[m] = T(0); });
    for (int64_t i = 0; i < count; i++, gradient += a.position_step, image += across) {
      Vec<T> y[kWide];
      unrolled<kWide>([&](int v) __attribute__((always_inline)) { y[v] = read(gradient + v * N); });
      unrolled<kMany * kWide>([&](int m) __attribute__((always_inline)) {
        acc[m] = P::add(acc[m], y[m % kWide], read(image + m / kWide * tap + m % kWide * N));
      });
    }
    unrolled<kMany * kWide>([&](int m) __attribute__((always_inline)) {
      T *const sum = to + m / kWide * g->groups + m % kWide * N;
      if constexpr (kWhole)
        store(sum, load(sum) + acc[m]);
      else
        store_partial(sum, load_partial(sum, lanes) + acc[m], lanes);
    });
  }
  void write() const {
    const lt_axis *a = g->axes;
    const int64_t *step = g->tap_steps;
    const T *from = sums;
    for (int64_t k = 0; k < a[0].taps; k++)
      for (int64_t j = 0; j < a[1].taps; j++)
        for (int64_t i = 0; i < a[2].taps; i++, from += g->groups) {
          T *const to = (T *)g->result + k * step[0] + j * step[1] + i * step[2];
          for (int64_t c = 0; c < g->groups; c++) to[c * g->result_group] = from[c];
        }
  }
};

}  // namespace
}  // namespace lt
#endif
