// The weight gradient of a convolution: products of the image, read from im2col tiles, and the
// gradient of the result, summed over positions.
#ifndef LIBTENSOR_KERNEL_SRC_CONVOLUTION_WEIGHT_H
#define LIBTENSOR_KERNEL_SRC_CONVOLUTION_WEIGHT_H

#include "arena.h"
#include "convolution.h"

namespace lt {
namespace {

// The source of the image elements of channels: at offsets from those of the positions, which are
// consecutive.
template <class P>
struct Walked {
  using Unit = typename P::Unit;
  static constexpr int R = kTileRows<Unit>;
  const Unit *slab, *at;
  const int32_t *place, *offsets;
  int64_t row[R];
  LT_INLINE Walked(const Unit *slab, const int32_t *places, const int32_t *offsets)
      : slab(slab), at(slab + *places), place(places), offsets(offsets) {
    for (int i = 0; i < R; i++) row[i] = offsets[i];
  }
  LT_INLINE Unit unit(int i, int64_t) const { return unit_at<P>(at + row[i]); }
  LT_INLINE void next() { at = slab + *++place; }
  LT_INLINE Walked from(int64_t rows) const { return {slab, place, offsets + rows}; }
};

// Sums that stay where tiles leave them.
template <class P>
struct Kept {
  static constexpr bool kWhole = false;
  void row(typename P::Sum *, int64_t, int64_t, int64_t, int64_t) const {}
};

template <class P, class E>
struct Weigher {
  using Unit = typename P::Unit;
  using Sum = typename P::Sum;
  static constexpr int R = kTileRows<Unit>, W = kPanel<Unit>, N = W / 2;
  static constexpr int64_t kDepth = 128;  // positions per packed panel, which fits the L1 cache
  static constexpr int64_t kFewRows = 8;  // fewer would leave most of a packed panel empty
  const lt_convolution_weight *g;
  const E elements;
  void (*const pack_panel)(const char *, int64_t, int64_t, int64_t, int64_t, Unit *);
  Tapping<Unit> tapping;
  bool few;  // rows, which are multiplied along positions instead of in lanes
  int64_t panels, most;
  Unit *slab, *packed;
  Sum *sums;
  int32_t *places, *offsets;

  Weigher(lt_convolution_weight *g, const E &elements, decltype(pack_panel) pack_panel)
      : g(g), elements(elements), pack_panel(pack_panel), tapping(g->axes, g->channels) {
    few = kind_of<Unit> != kComplex && g->all_rows < kFewRows;
    panels = few ? g->rows : (g->rows + W - 1) / W;
    int64_t begin[LT_AXES] = {};
    const Slab<Unit> s(g->axes, tapping.set(0), begin, g->box);
    most = few ? s.z.positions * s.y.positions * round_up(s.x.positions) : s.positions() * W;
    Arena room{(char *)g->room};
    slab = room.take<Unit>(g->channels * s.plane + N);
    packed = room.take<Unit>(panels * most);
    sums = room.take<Sum>(panels * g->channels * tapping.all * (few ? N : W));
    places = room.take<int32_t>(s.positions() + 1);
    offsets = room.take<int32_t>(g->channels * tapping.all + R);
    g->bytes = room.used;
  }
  static int64_t round_up(int64_t n) { return (n + N - 1) / N * N; }

  void run() const {
    bool first = true;
    for (int64_t n = 0; n < g->images; n++) {
      int64_t begin[LT_AXES], end[LT_AXES];
      each_box(0, begin, end, [&] {
        box(n, begin, end, first);
        first = false;
      });
    }
  }

  template <class F>
  void each_box(int d, int64_t *begin, int64_t *end, F &&f) const {
    if (d == LT_AXES) return f();
    for (int64_t i = g->axes[d].begin; i < g->axes[d].end; i += g->box[d]) {
      begin[d] = i;
      end[d] = i + g->box[d] < g->axes[d].end ? i + g->box[d] : g->axes[d].end;
      each_box(d + 1, begin, end, f);
    }
  }

  void box(int64_t n, const int64_t *begin, const int64_t *end, bool first) const {
    const char *image = (const char *)g->image + n * g->image_image * elements.size();
    const int64_t positions = pack_positions(n, begin, end);
    for (int64_t set = 0; set < tapping.sets(); set++) {
      const Slab<Unit> s(g->axes, tapping.set(set), begin, end);
      s.clear(slab, g->channels);
      s.fill(elements, g->axes, image, g->image_channel, g->channels, slab);
      int64_t n_offsets = 0;
      for (int64_t c = 0; c < g->channels; c++)
        s.each_tap([&](int64_t, int64_t at) { offsets[n_offsets++] = int32_t(c * s.plane + at); });
      const int64_t sums_of_set = tapping.whole ? 0 : set * g->channels;
      if constexpr (kind_of<Unit> != kComplex) {
        if (few) {
          along_positions(s, sums_of_set, first);
          continue;
        }
      }
      side_by_side(sums_of_set, positions, first);
    }
  }
  // The sum of a kernel element and channel: those of an im2col tile are adjacent.
  int64_t sum(int64_t c, int64_t t) const {
    return tapping.whole ? c * tapping.all + t : t * g->channels + c;
  }
  int64_t sums_of_slab() const { return g->channels * (tapping.whole ? tapping.all : 1); }

  // Packs the gradient at the positions of a box: packed panels with as many rows as two vectors
  // hold, or rows padded to whole vectors. Also computes the offsets of positions in the im2col
  // tile.
  int64_t pack_positions(int64_t n, const int64_t *begin, const int64_t *end) const {
    const Slab<Unit> s(g->axes, tapping.set(0), begin, end);
    const int64_t step = g->axes[2].position_step, row = g->positions_row;
    int64_t count = 0, line = 0;
    s.each_row(0, s.lanes(), [&](int64_t lane, int64_t k, int64_t j, int64_t i, int64_t w) {
      const int64_t at[LT_AXES] = {k, j, i};
      int64_t from = n * g->positions_image;
      for (int d = 0; d < LT_AXES; d++) from += (begin[d] + at[d]) * g->axes[d].position_step;
      for (int64_t p = 0; p < panels; p++) {
        if (few) {
          Unit *to = packed + p * most + line;
          elements.read(element(from + p * row), step * elements.size(), to, w);
          memset((void *)(to + w), 0, size_t(round_up(w) - w) * sizeof(Unit));
        } else {
          const int64_t left = g->rows - p * W;
          pack_panel(element(from + p * W * row), step, row, w, left < W ? left : W,
                     packed + p * most + count * W);
        }
      }
      line += round_up(w);
      if (!few)
        for (int64_t p = 0; p < w; p++) places[count++] = int32_t(lane + p);
    });
    places[count] = 0;
    return count;
  }

  // Element i of the gradient of the result.
  const char *element(int64_t i) const { return (const char *)g->positions + i * elements.size(); }

  void side_by_side(int64_t begin, int64_t positions, bool first) const {
    const Kept<P> out;
    for (int64_t p = 0; p < panels; p++)
      for (int64_t q = 0; q < positions; q += kDepth) {
        const int64_t depth = positions - q < kDepth ? positions - q : kDepth;
        Sum *const to = sums + (p * g->channels * tapping.all + begin) * W;
        const Target<P, Kept<P>> target{out, to, 0, 0, 0, W, first && q == 0, false};
        const Walked<P> left(slab, places + q, offsets);
        const Packed<P> panel(packed + p * most + q * W);
        if (g->rows - p * W <= N && kind_of<Unit> != kComplex)
          tiles<P, R, 1>(left, panel, depth, target, sums_of_slab());
        else
          tiles<P, R, 2>(left, panel, depth, target, sums_of_slab());
      }
  }

  void along_positions(const Slab<Unit> &s, int64_t begin, bool first) const {
    for (int64_t m = 0; m < g->rows; m++)
      dots<9>(s, packed + m * most, 0, sums_of_slab(),
              sums + (m * g->channels * tapping.all + begin) * N, first);
  }

  // Adds vectors of products along positions to the sums of kernel elements, kTaps at a time.
  template <int kTaps>
  void dots(const Slab<Unit> &s, const Unit *row, int64_t t, int64_t end, Sum *to,
            bool first) const {
    for (; t + kTaps <= end; t += kTaps) {
      Vec<Sum> acc[kTaps];
      unrolled<kTaps>([&](int i) __attribute__((always_inline)) {
        acc[i] = first ? Vec<Sum>(Sum(0)) : load(to + (t + i) * N);
      });
      const Unit *y = row;
      for (int64_t k = 0; k < s.z.positions; k++)
        for (int64_t j = 0; j < s.y.positions; j++) {
          const Unit *x = slab + s.place(k, j, 0);
          int64_t i = 0;
          for (; i + N <= s.x.positions; i += N, y += N) {
            const Vec<Unit> u = load(y);
            unrolled<kTaps>([&](int n) __attribute__((always_inline)) {
              acc[n] = P::add(acc[n], load(x + offsets[t + n] + i), u);
            });
          }
          if (i == s.x.positions) continue;
          const Vec<Unit> u = load(y);
          unrolled<kTaps>([&](int n) __attribute__((always_inline)) {
            const int left = int(s.x.positions - i);
            acc[n] = P::add(acc[n], load_partial(x + offsets[t + n] + i, left), u);
          });
          y += N;
        }
      unrolled<kTaps>([&](int i)
                          __attribute__((always_inline)) { store(to + (t + i) * N, acc[i]); });
    }
    if constexpr (kTaps > 1) {
      if (t < end) dots<kTaps / 3>(s, row, t, end, to, first);
    }
  }

  void write() const {
    constexpr int64_t kChannels = 8;  // whose sums the nearest cache holds
    for (int64_t m = 0; m < g->rows; m += W)
      for (int64_t c = 0; c < g->channels; c += kChannels) {
        const int64_t rows = m + W < g->rows ? m + W : g->rows;
        const int64_t channels = c + kChannels < g->channels ? c + kChannels : g->channels;
        for (int64_t i = m; i < rows; i++)
          for (int64_t k = c; k < channels; k++) write_taps(i, k);
      }
  }
  void write_taps(int64_t m, int64_t c) const {
    const int64_t to = m * g->result_row + c * g->result_channel;
    int64_t t = 0;
    for (int64_t k = 0; k < tapping.taps[0]; k++)
      for (int64_t j = 0; j < tapping.taps[1]; j++)
        for (int64_t i = 0; i < tapping.taps[2]; i++, t++) {
          const int64_t at = k * g->tap_steps[0] + j * g->tap_steps[1] + i * g->tap_steps[2];
          const Sum sum = total(m, c, t);
          if constexpr (E::kSame)
            ((Sum *)g->result)[to + at] = sum;
          else
            elements.write(&sum, (char *)g->result + (to + at) * elements.size(), 0, 1);
        }
  }
  Sum total(int64_t m, int64_t c, int64_t t) const {
    const int64_t all = g->channels * tapping.all;
    if (!few) return sums[(m / W * all + sum(c, t)) * W + m % W];
    Sum lanes[N];
    memcpy(lanes, sums + (m * all + sum(c, t)) * N, sizeof lanes);
    for (int h = N / 2; h > 0; h /= 2)
      for (int l = 0; l < h; l++) lanes[l] = lanes[l] + lanes[l + h];
    return lanes[0];
  }
};

template <class P, class E, class Pack>
[[gnu::noinline]] void weigh(lt_convolution_weight *g, const E &elements, Pack pack_panel) {
  if constexpr (E::kSame && kind_of<typename P::Unit> == kFloating) {
    if (g->groups > 0) {
      const DepthwiseWeight<P> depthwise(g);
      if (g->room) depthwise.run();
      return;
    }
  }
  const Weigher<P, E> weigher(g, elements, pack_panel);
  if (!g->room) return;
  weigher.run();
  weigher.write();
}

template <class P, class T>
void pack_elements(const char *from, int64_t row, int64_t column, int64_t depth, int64_t w,
                   typename P::Unit *panel) {
  pack<P>((const T *)from, row, column, depth, w, panel);
}

struct ConvolveWeight {
  template <class T>
  static void row(lt_convolution_weight *g) {
    using P = ConvolutionSteps<T>;
    weigh<P>(g, elements_of<T, typename P::Sum>(), pack_elements<P, T>);
  }
};

}  // namespace
}  // namespace lt
#endif
