// Convolutions as products of matrices of which one is never made: rows of weights times, for each
// tap of each channel, what it meets of the image at a vector of positions, read in a slab.
#ifndef LIBTENSOR_KERNEL_SRC_CONVOLUTION_H
#define LIBTENSOR_KERNEL_SRC_CONVOLUTION_H

#include "slab.h"

namespace lt {
namespace {

// One product a step, in the dtype that matrix products of T are summed in.
template <class T>
using ConvolutionSteps = Each<typename StepsOf<T>::type::Sum>;

// Where a tile finds what taps meet: at offsets in a slab.
template <class P>
struct Tapped : FromZero<P> {
  using Unit = typename P::Unit;
  const Unit *slab, *at;
  const int32_t *offset;
  LT_INLINE Tapped(const Unit *slab, const int32_t *offsets)
      : slab(slab), at(slab + *offsets), offset(offsets) {}
  LT_INLINE Vec<Unit> units(int v, int64_t) const { return load(at + v * Vec<Unit>::N); }
  LT_INLINE void next() { at = slab + *++offset; }
};

// What becomes of the sums of a tile: elements of the result where its lanes are positions.
template <class P, class T>
struct Placed {
  using Unit = typename P::Unit;
  using Sum = typename P::Sum;
  static constexpr bool kWhole = __is_same(Sum, T);
  static constexpr int kLanes = 8 * LT_VECTOR_BYTES / sizeof(Unit);
  struct Run {
    int64_t lane, at, n;
  };
  const Sum *bias;
  T *result;
  int64_t row_step, step;
  Run runs[kLanes];
  int count = 0;

  Placed(const lt_convolution *g, int64_t group, const Slab<Unit> &slab, int64_t q, int64_t lanes)
      : bias(g->bias ? (const Sum *)g->bias + group * g->bias_group : nullptr),
        result((T *)g->result + group * g->result_group),
        row_step(g->result_row),
        step(g->axes[2].position_step) {
    slab.each_row(q, lanes, [&](int64_t lane, int64_t k, int64_t j, int64_t i, int64_t n) {
      const int64_t at[LT_AXES] = {k, j, i};
      int64_t element = 0;
      for (int d = 0; d < LT_AXES; d++)
        element += (g->axes[d].begin + at[d]) * g->axes[d].position_step;
      runs[count++] = {lane, element, n};
    });
  }
  bool direct(int64_t w) const {
    return step == 1 && count == 1 && runs[0].n == w && w == kPanel<Unit>;
  }
  template <int kRows>
  LT_INLINE void whole(const Vec<Sum> (&sums)[kRows][2], int64_t, int64_t i, int64_t) const {
    T *const to = result + i * row_step + runs[0].at;
    unrolled<kRows>([&](int r) __attribute__((always_inline)) {
      const Vec<Sum> more(bias ? bias[i + r] : Sum(0));
      for (int v = 0; v < 2; v++)
        store((Sum *)to + r * row_step + v * Vec<Sum>::N, bias ? sums[r][v] + more : sums[r][v]);
    });
  }
  void row(Sum *sums, int64_t, int64_t i, int64_t, int64_t w) const {
    if (bias)
      for (int64_t k = 0; k < w; k++) sums[k] = sums[k] + bias[i];
    for (int r = 0; r < count; r++)
      cast_row<Sum, T>((const char *)(sums + runs[r].lane), sizeof(Sum),
                       (char *)(result + i * row_step + runs[r].at), step * int64_t(sizeof(T)),
                       runs[r].n);
  }
};

// One group: parts of the channels, or of those of a tap, one after the other, of which each adds
// to the sums of all rows at all lanes.
template <class P, class T>
struct Convolver {
  using Unit = typename P::Unit;
  using Sum = typename P::Sum;
  static constexpr int R = kTileRows<Unit>, W = kPanel<Unit>, N = W / 2;
  const lt_convolution *g;
  Tapping<Unit> tapping;
  int64_t begin[LT_AXES], end[LT_AXES];
  int64_t step, lanes, parts;
  Unit *slab;
  Sum *sums;
  int32_t *offsets;

  Slab<Unit> slab_of(int64_t set) const {
    return Slab<Unit>(g->axes, tapping.set(set), begin, end);
  }

  Convolver(lt_convolution *g) : g(g), tapping(g->axes, g->channels) {
    for (int d = 0; d < LT_AXES; d++) begin[d] = g->axes[d].begin, end[d] = g->axes[d].end;
    const Slab<Unit> s = slab_of(0);
    // A row alone has as many sums in registers as several have.
    step = kind_of<Unit> != kComplex && g->rows == 1 ? 8 * N : W;
    lanes = s.lanes();
    parts = tapping.sets() * ((g->channels + tapping.channels - 1) / tapping.channels);
    Pieces room{(char *)g->room};
    slab = room.take<Unit>(tapping.channels * s.plane + 8 * N);
    sums = room.take<Sum>(parts > 1 ? g->rows * ((lanes + step - 1) / step * step) : R * step);
    offsets = room.take<int32_t>(depth(tapping.channels) + 1);
    g->bytes = room.used;
  }
  int64_t depth(int64_t channels) const { return channels * (tapping.whole ? tapping.all : 1); }

  void place_taps() {
    const Slab<Unit> s = slab_of(0);
    for (int64_t c = 0, k = 0; c < tapping.channels; c++)
      s.each_tap([&](int64_t, int64_t at) { offsets[k++] = int32_t(c * s.plane + at); });
    offsets[depth(tapping.channels)] = 0;
  }

  void group(int64_t n) {
    int64_t part = 0;
    for (int64_t set = 0; set < tapping.sets(); set++) {
      const Slab<Unit> s = slab_of(set);
      int64_t c = 0;
      do {  // once where there are no channels, for the bias
        const int64_t left = g->channels - c;
        const int64_t channels = left < tapping.channels ? left : tapping.channels;
        s.fill(g->axes, (const T *)g->image + n * g->image_group + c * g->image_channel,
               g->image_channel, channels, slab);
        const Unit *weight = (const Unit *)g->weight + n * g->weight_group + c * tapping.all + set;
        multiply(n, s, {weight, g->weight_row, tapping.whole ? 1 : tapping.all}, depth(channels),
                 part == 0, part + 1 >= parts);
        part++, c += channels;
      } while (c < g->channels);
    }
  }

  void multiply(int64_t n, const Slab<Unit> &s, const Strided<P> &weights, int64_t depth,
                bool first, bool last) const {
    for (int64_t q = 0; q < lanes; q += step) {
      const int64_t w = lanes - q < step ? lanes - q : step;
      const Placed<P, T> out(g, n, s, q, w);
      if (out.count == 0) continue;
      Sum *const to = first && last ? sums : sums + q * g->rows;
      const Target<P, Placed<P, T>> target{out, to, 0, 0, q, w, first, last};
      const Tapped<P> taps(slab + q, offsets);
      if constexpr (kind_of<Unit> != kComplex) {
        if (w <= N) {
          tiles<P, R, 1>(weights, taps, depth, target, g->rows);
          continue;
        }
        if (w > W) {
          tile<P, 1, 8>(weights, taps, depth, target);
          continue;
        }
      }
      tiles<P, R, 2>(weights, taps, depth, target, g->rows);
    }
  }
};

struct Convolve {
  template <class T>
  static void row(lt_convolution *g) {
    Convolver<ConvolutionSteps<T>, T> convolver(g);
    if (!g->room) return;
    convolver.place_taps();
    for (int64_t n = 0; n < g->groups; n++) convolver.group(n);
  }
};

}  // namespace
}  // namespace lt
#endif
