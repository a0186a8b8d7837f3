// Convolutions of float32 whose channels are adjacent, with positions as rows of products: in a
// padded copy of the image, a kernel element reads the channels of each position in place, and the
// sums of some positions and rows of weights stay in registers until they are complete.
#ifndef LIBTENSOR_KERNEL_SRC_CONVOLUTION_ROWS_H
#define LIBTENSOR_KERNEL_SRC_CONVOLUTION_ROWS_H

#include "arena.h"
#include "slab.h"

#if LT_VECTOR_BYTES >= 32
namespace lt {
namespace {

// The image elements along an axis that a box of positions reads: `count` of them from `low` on.
struct Reach {
  int64_t low, count, stride, step, taps, positions;
  explicit Reach(const lt_axis &a)
      : stride(a.stride), step(a.step), taps(a.taps), positions(a.end - a.begin) {
    const int64_t last = (taps - 1) * step;
    low = a.begin * stride + a.origin + (last < 0 ? last : 0);
    count = (positions - 1) * stride + (last < 0 ? -last : last) + 1;
  }
  // The distance of a kernel element from the first element that a position reads.
  int64_t offset(int64_t tap) const { return step < 0 ? (tap - taps + 1) * step : tap * step; }
  // Those of the elements that the image has.
  Range inside(int64_t size) const {
    const Range r{low < 0 ? -low : 0, size - low < count ? size - low : count};
    return r.empty() ? Range{0, 0} : r;
  }
};

// Sums of kRows positions, `pitch` bytes from each other, and kVectors vectors of rows of weights:
// over `depth` adjacent values at each of some offsets.
struct PositionRows {
  static constexpr int N = Vec<float>::N, W = 2 * N;
  static constexpr int kMost = LT_VECTOR_BYTES == 64 ? 14 : 6;  // whose sums fill the registers
  const int64_t *offsets;
  int64_t runs, depth, pitch;
  const float *panel, *bias;
  int64_t w;         // rows of weights that count
  int64_t out_step;  // between the results of positions

  // A position is one of three that have a pointer in common.
  static constexpr int kShared = 3;

  template <int kRows, int kVectors>
  void sum(const float *image, float *out) const {
    constexpr int kBases = (kRows + kShared - 1) / kShared;
    const int64_t apart = pitch;
    const float *weights = panel;
    Vec<float> acc[kRows][kVectors];
    const auto each = [&](auto &&f) __attribute__((always_inline)) {
      unrolled<kRows * kVectors>([&](int t) __attribute__((always_inline)) {
        f(t / kVectors, t % kVectors, acc[t / kVectors][t % kVectors]);
      });
    };
    each([](int, int, Vec<float> &x) __attribute__((always_inline)) { x = 0.f; });
    for (int64_t k = 0; k < runs; k++) {
      const char *at[kBases];
      for (int b = 0; b < kBases; b++)
        at[b] = (const char *)(image + offsets[k]) + b * kShared * apart;
      const auto step = [&](int c) __attribute__((always_inline)) {
        Vec<float> y[kVectors];
        unrolled<kVectors>(
            [&](int v) __attribute__((always_inline)) { y[v] = load(weights + c * W + v * N); });
        unrolled<kRows>([&](int r) __attribute__((always_inline)) {
          const Vec<float> x = ((const float *)(at[r / kShared] + r % kShared * apart))[c];
          unrolled<kVectors>(
              [&](int v) __attribute__((always_inline)) { acc[r][v] = fma(x, y[v], acc[r][v]); });
        });
      };
      const auto pass = [&](int n) __attribute__((always_inline)) {
        unrolled<kBases>([&](int b) __attribute__((always_inline)) { at[b] += n * sizeof(float); });
        weights += n * W;
      };
      int64_t c = depth;
      for (; c >= 4; c -= 4) {
        unrolled<4>([&](int i) __attribute__((always_inline)) { step(i); });
        pass(4);
      }
      for (; c > 0; c--) step(0), pass(1);
    }
    each([&](int r, int v, Vec<float> &x) __attribute__((always_inline)) {
      const int64_t left = w - v * N;
      if (left <= 0) return;
      float *const to = out + r * out_step + v * N;
      if (left >= N)
        store(to, bias ? x + load(bias + v * N) : x);
      else
        store_partial(to, bias ? x + load_partial(bias + v * N, int(left)) : x, int(left));
    });
  }

  using Sum = void (PositionRows::*)(const float *image, float *out) const;
  template <int... I>
  static Sum choose(int64_t n, bool wide, std::integer_sequence<int, I...>) {
    static constexpr Sum sums[2][kMost] = {{&PositionRows::sum<I + 1, 1>...},
                                           {&PositionRows::sum<I + 1, 2>...}};
    return sums[wide][n - 1];
  }
  // The sums of n adjacent positions, in tiles of about the same size.
  void run(const float *image, float *out, int64_t n) const {
    for (int64_t tiles = up(n, kMost); tiles > 0; tiles--) {
      const int64_t some = up(n, tiles);
      (this->*choose(some, w > N, std::make_integer_sequence<int, kMost>()))(image, out);
      image = (const float *)((const char *)image + some * pitch);
      out += some * out_step, n -= some;
    }
  }
};

// One box of positions.
struct RowConvolver {
  static constexpr int64_t W = PositionRows::W, kSize = sizeof(float);
  const lt_convolution *g;
  Reach z, y, x;
  int64_t depth, runs;  // adjacent values that kernel elements read, and how many such runs
  float *image, *panel;
  int64_t *offsets;

  explicit RowConvolver(lt_convolution *g)
      : g(g), z(g->axes[0]), y(g->axes[1]), x(g->axes[2]), depth(g->channels) {
    runs = z.taps * y.taps * x.taps;
    if (x.step == 1) depth *= x.taps, runs = z.taps * y.taps;
    Arena room{(char *)g->room};
    image = room.take<float>(z.count * y.count * x.count * g->channels);
    panel = room.take<float>(runs * depth * W);
    offsets = room.take<int64_t>(runs);
    g->bytes = room.used;
  }
  // The copy of element (k, j, i) that the box reads.
  int64_t place(int64_t k, int64_t j, int64_t i) const {
    return ((k * y.count + j) * x.count + i) * g->channels;
  }

  void run() const {
    const int64_t columns = depth / g->channels;  // kernel elements of a run
    for (int64_t k = 0, t = 0; k < z.taps; k++)
      for (int64_t j = 0; j < y.taps; j++)
        for (int64_t i = 0; i < x.taps; i += columns)
          offsets[t++] = place(z.offset(k), y.offset(j), x.offset(i));
    for (int64_t n = 0; n < g->groups; n++) {
      fill((const float *)g->image + n * g->image_group);
      for (int64_t i = 0; i < g->rows; i += W) multiply(n, i, g->rows - i < W ? g->rows - i : W);
    }
  }

  // Copies the channels of a group at all elements that the box reads; those outside of the image
  // are zeros.
  void fill(const float *from) const {
    const lt_axis *const a = g->axes;
    const Range planes = z.inside(a[0].size), rows = y.inside(a[1].size), met = x.inside(a[2].size);
    const bool whole = z.count == planes.end - planes.begin && y.count == rows.end - rows.begin &&
                       x.count == met.end - met.begin;
    if (!whole) memset((void *)image, 0, size_t(z.count * place(1, 0, 0) * kSize));
    const int64_t n = met.end - met.begin, step = a[2].image_step, bytes = g->channels * kSize;
    for (int64_t k = planes.begin; k < planes.end; k++)
      for (int64_t j = rows.begin; j < rows.end; j++) {
        const float *const row = from + (z.low + k) * a[0].image_step +
                                 (y.low + j) * a[1].image_step + (x.low + met.begin) * step;
        float *const to = image + place(k, j, met.begin);
        if (step == g->channels) {
          memcpy((void *)to, row, size_t(n * bytes));
          continue;
        }
        for (int64_t i = 0; i < n; i++)
          memcpy((void *)(to + i * g->channels), row + i * step, size_t(bytes));
      }
  }

  // The products of all positions and w rows of weights of group n from row i on.
  void multiply(int64_t n, int64_t i, int64_t w) const {
    const int64_t all = runs * depth;
    const float *const weights = (const float *)g->weight + n * g->weight_group;
    pack<Each<float>>(weights + i * g->weight_row, 1, g->weight_row, all, w, panel);
    PositionRows product{offsets, runs,    depth, x.stride * g->channels * kSize,
                         panel,   nullptr, w,     g->axes[2].position_step};
    if (g->bias) product.bias = (const float *)g->bias + n * g->bias_group + i;
    const lt_axis *const a = g->axes;
    float *const out = (float *)g->result + n * g->result_group + i;
    for (int64_t k = 0; k < z.positions; k++)
      for (int64_t j = 0; j < y.positions; j++)
        product.run(image + place(k * z.stride, j * y.stride, 0),
                    out + (a[0].begin + k) * a[0].position_step +
                        (a[1].begin + j) * a[1].position_step + a[2].begin * a[2].position_step,
                    x.positions);
  }
};

void convolution_rows(lt_convolution *g) {
  constexpr double kMost = 1 << 30;  // bytes of scratch memory
  double values = double(g->channels);
  for (const lt_axis &a : g->axes)
    values *= double(a.end - a.begin - 1) * double(a.stride) +
              double(a.taps - 1) * double(a.step < 0 ? -a.step : a.step) + 1;
  if (values * sizeof(float) > kMost) {
    g->bytes = int64_t(1) << 62;
    return;
  }
  const RowConvolver convolver(g);
  if (g->room) convolver.run();
}

}  // namespace
}  // namespace lt
#endif
#endif
