// The gradients of a convolution's weights: products of the image, read in slabs, and of what
// belongs to positions, summed over these.
#ifndef LIBTENSOR_KERNEL_SRC_CONVOLUTION_WEIGHT_H
#define LIBTENSOR_KERNEL_SRC_CONVOLUTION_WEIGHT_H

#include "convolution.h"

namespace lt {
namespace {

// Where a tile finds what a tap meets of channels: at the places of positions, one after the other.
template <class P>
struct Walked {
  using Unit = typename P::Unit;
  const Unit *slab, *at;
  const int32_t *place;
  int64_t channel;
  LT_INLINE Walked(const Unit *slab, const int32_t *places, int64_t channel)
      : slab(slab), at(slab + *places), place(places), channel(channel) {}
  LT_INLINE Unit unit(int i, int64_t) const { return unit_at<P>(at + i * channel); }
  LT_INLINE void next() { at = slab + *++place; }
  LT_INLINE Walked from(int64_t rows) const { return {slab + rows * channel, place, channel}; }
};

// Sums that stay where tiles leave them.
template <class P>
struct Kept {
  static constexpr bool kWhole = false;
  void row(typename P::Sum *, int64_t, int64_t, int64_t, int64_t) const {}
};

template <class P, class T>
struct Weigher {
  using Unit = typename P::Unit;
  using Sum = typename P::Sum;
  static constexpr int R = kTileRows<Unit>, W = kPanel<Unit>, N = W / 2;
  static constexpr int64_t kDepth = 128;  // positions of a panel that the nearest cache holds
  static constexpr int64_t kFewRows = 8;  // which would leave most of a panel empty
  const lt_convolution_weight *g;
  Tapping<Unit> tapping;
  bool few;  // rows, which are multiplied along positions instead of side by side
  int64_t panels, most;
  Unit *slab, *packed;
  Sum *sums;
  int32_t *places;
  int64_t *taps;

  Weigher(lt_convolution_weight *g) : g(g), tapping(g->axes, g->channels) {
    few = kind_of<Unit> != kComplex && g->rows < kFewRows;
    panels = few ? g->rows : (g->rows + W - 1) / W;
    int64_t begin[LT_AXES] = {};
    const Slab<Unit> s(g->axes, tapping.set(0), begin, g->box);
    const int64_t positions = s.z.positions * s.y.positions * s.x.positions;
    most = few ? positions / s.x.positions * round_up(s.x.positions) : positions * W;
    const int64_t width = few ? N : g->channels * W;
    Pieces room{(char *)g->room};
    slab = room.take<Unit>(g->channels * s.plane + N);
    packed = room.take<Unit>(panels * most);
    sums = room.take<Sum>(panels * tapping.all * width * (few ? g->channels : 1));
    places = room.take<int32_t>(positions + 1);
    taps = room.take<int64_t>(tapping.all);
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
    const T *image = (const T *)g->image + n * g->image_image;
    const int64_t positions = pack_positions(n, begin, end);
    for (int64_t set = 0; set < tapping.sets(); set++) {
      const Slab<Unit> s(g->axes, tapping.set(set), begin, end);
      s.fill(g->axes, image, g->image_channel, g->channels, slab);
      s.each_tap([&](int64_t t, int64_t at) { taps[tapping.whole ? t : set] = at; });
      if constexpr (kind_of<Unit> != kComplex) {
        if (few) {
          along_positions(s, set, first);
          continue;
        }
      }
      side_by_side(s, set, positions, first);
    }
  }
  // The taps that a set has.
  int64_t tap_begin(int64_t set) const { return tapping.whole ? 0 : set; }
  int64_t tap_end(int64_t set) const { return tapping.whole ? tapping.all : set + 1; }

  // Packs what belongs to the positions of a box: panels of as many rows as two vectors hold, or
  // rows whose lines are whole vectors; and finds the places of positions in the slab.
  int64_t pack_positions(int64_t n, const int64_t *begin, const int64_t *end) const {
    const Slab<Unit> s(g->axes, tapping.set(0), begin, end);
    const int64_t step = g->axes[2].position_step, row = g->positions_row;
    int64_t count = 0, line = 0;
    s.each_row(0, s.lanes(), [&](int64_t lane, int64_t k, int64_t j, int64_t i, int64_t w) {
      const int64_t at[LT_AXES] = {k, j, i};
      const T *from = (const T *)g->positions + n * g->positions_image;
      for (int d = 0; d < LT_AXES; d++) from += (begin[d] + at[d]) * g->axes[d].position_step;
      for (int64_t p = 0; p < panels; p++) {
        if (few) {
          Unit *to = packed + p * most + line;
          cast_row<T, Unit>((const char *)(from + p * row), step * int64_t(sizeof(T)), (char *)to,
                            sizeof(Unit), w);
          memset((void *)(to + w), 0, size_t(round_up(w) - w) * sizeof(Unit));
        } else {
          const int64_t left = g->rows - p * W;
          pack<P>(from + p * W * row, step, row, w, left < W ? left : W,
                  packed + p * most + count * W);
        }
      }
      for (int64_t p = 0; p < w; p++) places[count++] = int32_t(lane + p);
      line += round_up(w);
    });
    places[count] = 0;
    return count;
  }

  void side_by_side(const Slab<Unit> &s, int64_t set, int64_t positions, bool first) const {
    const Kept<P> out;
    for (int64_t p = 0; p < panels; p++)
      for (int64_t q = 0; q < positions; q += kDepth) {
        const int64_t depth = positions - q < kDepth ? positions - q : kDepth;
        const Packed<P> panel(packed + p * most + q * W);
        for (int64_t t = tap_begin(set); t < tap_end(set); t++) {
          Sum *const to = sums + (p * tapping.all + t) * g->channels * W;
          const Target<P, Kept<P>> target{out, to, 0, 0, 0, W, first && q == 0, false};
          const Walked<P> left(slab + taps[t], places + q, s.plane);
          if (g->rows - p * W <= N && kind_of<Unit> != kComplex)
            tiles<P, R, 1>(left, panel, depth, target, g->channels);
          else
            tiles<P, R, 2>(left, panel, depth, target, g->channels);
        }
      }
  }

  void along_positions(const Slab<Unit> &s, int64_t set, bool first) const {
    for (int64_t m = 0; m < g->rows; m++)
      for (int64_t c = 0; c < g->channels; c++)
        dots<9>(s, packed + m * most, slab + c * s.plane, tap_begin(set), tap_end(set),
                sums + (m * g->channels + c) * tapping.all * N, first);
  }

  // Adds vectors of products along positions to those of taps, kTaps at a time.
  template <int kTaps>
  void dots(const Slab<Unit> &s, const Unit *row, const Unit *channel, int64_t t, int64_t end,
            Sum *to, bool first) const {
    for (; t + kTaps <= end; t += kTaps) {
      Vec<Sum> acc[kTaps];
      unrolled<kTaps>([&](int i) __attribute__((always_inline)) {
        acc[i] = first ? Vec<Sum>(Sum(0)) : load(to + (t + i) * N);
      });
      const Unit *y = row;
      for (int64_t k = 0; k < s.z.positions; k++)
        for (int64_t j = 0; j < s.y.positions; j++) {
          const Unit *x = channel + s.place(k, j, 0);
          int64_t i = 0;
          for (; i + N <= s.x.positions; i += N, y += N) {
            const Vec<Unit> u = load(y);
            unrolled<kTaps>([&](int n) __attribute__((always_inline)) {
              acc[n] = P::add(acc[n], load(x + taps[t + n] + i), u);
            });
          }
          if (i == s.x.positions) continue;
          const Vec<Unit> u = load(y);
          unrolled<kTaps>([&](int n) __attribute__((always_inline)) {
            const int left = int(s.x.positions - i);
            acc[n] = P::add(acc[n], load_partial(x + taps[t + n] + i, left), u);
          });
          y += N;
        }
      unrolled<kTaps>([&](int i)
                          __attribute__((always_inline)) { store(to + (t + i) * N, acc[i]); });
    }
    if constexpr (kTaps > 1) {
      if (t < end) dots<kTaps / 3>(s, row, channel, t, end, to, first);
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
    T *to = (T *)g->result + m * g->result_row + c * g->result_channel;
    int64_t t = 0;
    for (int64_t k = 0; k < tapping.taps[0]; k++)
      for (int64_t j = 0; j < tapping.taps[1]; j++)
        for (int64_t i = 0; i < tapping.taps[2]; i++, t++)
          to[k * g->tap_steps[0] + j * g->tap_steps[1] + i * g->tap_steps[2]] =
              convert<T>(total(m, c, t));
  }
  Sum total(int64_t m, int64_t c, int64_t t) const {
    if (!few) return sums[((m / W * tapping.all + t) * g->channels + c) * W + m % W];
    Sum lanes[N];
    memcpy(lanes, sums + ((m * g->channels + c) * tapping.all + t) * N, sizeof lanes);
    for (int h = N / 2; h > 0; h /= 2)
      for (int l = 0; l < h; l++) lanes[l] = lanes[l] + lanes[l + h];
    return lanes[0];
  }
};

struct ConvolveWeight {
  template <class T>
  static void row(lt_convolution_weight *g) {
    const Weigher<ConvolutionSteps<T>, T> weigher(g);
    if (!g->room) return;
    weigher.run();
    weigher.write();
  }
};

}  // namespace
}  // namespace lt
#endif
