// Convolutions as implicit matrix products: rows of weights times, for each kernel element of each
// channel, the image elements at a vector of positions, read from an im2col tile.
#ifndef LIBTENSOR_KERNEL_SRC_CONVOLUTION_H
#define LIBTENSOR_KERNEL_SRC_CONVOLUTION_H

#include "arena.h"
#include "convolution_depthwise.h"

namespace lt {
namespace {

// One product a step, in the dtype that matrix products of T are summed in.
template <class T>
using ConvolutionSteps = Each<typename StepsOf<T>::type::Sum>;

// The source of a tile's image elements: at offsets in an im2col tile.
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

// The destination of a tile's sums: elements of the result, for lanes that are positions.
template <class P, class E>
struct Placed {
  using Unit = typename P::Unit;
  using Sum = typename P::Sum;
  static constexpr bool kWhole = E::kSame;
  static constexpr bool kTurns = kWhole && sizeof(Sum) <= 8;
  static constexpr int kLanes = 8 * LT_VECTOR_BYTES / sizeof(Unit);
  struct Run {
    int64_t lane, place, at, n;  // in the im2col tile, and in the result
  };
  const E &elements;
  const Sum *bias;
  char *result;
  int64_t row_step, step;
  Run runs[kLanes];
  int count = 0;

  Placed(const E &elements, const lt_convolution *g, int64_t group)
      : elements(elements),
        bias(g->bias ? (const Sum *)g->bias + group * g->bias_group : nullptr),
        result((char *)g->result + group * g->result_group * elements.size()),
        row_step(g->result_row),
        step(g->axes[2].position_step) {}
  // Adds n positions from (k, j, i) on.
  template <class U>
  void add(const lt_axis *axes, const Slab<U> &slab, int64_t lane, int64_t k, int64_t j, int64_t i,
           int64_t n) {
    const int64_t at = (axes[0].begin + k) * axes[0].position_step +
                       (axes[1].begin + j) * axes[1].position_step +
                       (axes[2].begin + i) * axes[2].position_step;
    runs[count++] = {lane, slab.place(k, j, i), at, n};
  }
  // Writes all rows where channels are adjacent in the result.
  void turned(Sum *sums, int64_t rows) const {
    constexpr int W = kPanel<Unit>;
    if (bias)
      for (int64_t i = 0; i < rows; i++)
        for (int k = 0; k < W; k++) sums[i * W + k] = sums[i * W + k] + bias[i];
    for (int r = 0; r < count; r++)
      find_turn(sizeof(Sum))(result + runs[r].at * int64_t(sizeof(Sum)),
                             step * int64_t(sizeof(Sum)), (const char *)(sums + runs[r].lane),
                             W * sizeof(Sum), rows, runs[r].n);
  }
  bool direct(int64_t w) const {
    return step == 1 && count == 1 && runs[0].n == w && w == kPanel<Unit>;
  }
  template <int kRows>
  LT_INLINE void soon(int64_t, int64_t i, int64_t) const {
    const Sum *const to = (const Sum *)result + i * row_step + runs[0].at;
    unrolled<kRows * 2>([&](int t) __attribute__((always_inline)) {
      __builtin_prefetch(to + t / 2 * row_step + t % 2 * Vec<Sum>::N, 1);
    });
  }
  template <int kRows>
  LT_INLINE void whole(const Vec<Sum> (&sums)[kRows][2], int64_t, int64_t i, int64_t) const {
    Sum *const to = (Sum *)result + i * row_step + runs[0].at;
    unrolled<kRows>([&](int r) __attribute__((always_inline)) {
      const Vec<Sum> more(bias ? bias[i + r] : Sum(0));
      for (int v = 0; v < 2; v++)
        store(to + r * row_step + v * Vec<Sum>::N, bias ? sums[r][v] + more : sums[r][v]);
    });
  }
  void row(Sum *sums, int64_t, int64_t i, int64_t, int64_t w) const {
    if (bias)
      for (int64_t k = 0; k < w; k++) sums[k] = sums[k] + bias[i];
    for (int r = 0; r < count; r++)
      elements.write(sums + runs[r].lane, result + (i * row_step + runs[r].at) * elements.size(),
                     step * elements.size(), runs[r].n);
  }
};

// One group: the channels, or those of a kernel element, in parts, each of which adds to the sums
// of all rows at all positions.
template <class P, class E>
struct Convolver {
  using Unit = typename P::Unit;
  using Sum = typename P::Sum;
  static constexpr int R = kTileRows<Unit>, W = kPanel<Unit>, N = W / 2;
  static constexpr int64_t kManyRows = 32;  // enough to justify packing
  static constexpr int64_t kSpared = 20;    // if that saves more than one lane
  const lt_convolution *g;
  const E elements;
  Tapping<Unit> tapping;
  bool packs;   // packed panels of positions, instead of the im2col tile with its gaps
  bool turned;  // channels are adjacent in the result, and written together
  int64_t begin[LT_AXES], end[LT_AXES];
  Slab<Unit> s;  // for all kernel elements, or for those of one set
  int64_t step, lanes, parts;
  Unit *slab, *panel;
  Sum *sums;
  int32_t *offsets;

  Slab<Unit> slab_of(int64_t set) const {
    return Slab<Unit>(g->axes, tapping.set(set), begin, end);
  }

  Convolver(lt_convolution *g, const E &elements)
      : g(g),
        elements(elements),
        tapping(g->axes, g->channels),
        begin{g->axes[0].begin, g->axes[1].begin, g->axes[2].begin},
        end{g->axes[0].end, g->axes[1].end, g->axes[2].end},
        s(slab_of(0)) {
    // A single row keeps as many sums in registers as several rows do.
    step = kind_of<Unit> != kComplex && g->rows == 1 ? 8 * N : W;
    packs = g->rows >= kManyRows && ((s.lanes() - s.positions()) * kSpared > s.positions());
    turned =
        Placed<P, E>::kTurns && step == W && g->result_row == 1 && g->axes[2].position_step != 1;
    lanes = packs ? s.positions() : s.lanes();
    parts = tapping.sets() * ((g->channels + tapping.channels - 1) / tapping.channels);
    Arena room{(char *)g->room};
    slab = room.take<Unit>(tapping.channels * s.plane + 8 * N);
    panel = room.take<Unit>(packs ? depth(tapping.channels) * W + N : 0);
    sums = room.take<Sum>(parts > 1 ? g->rows * ((lanes + step - 1) / step * step)
                          : turned  ? g->rows * W
                                    : R * step);
    offsets = room.take<int32_t>(depth(tapping.channels) + 1);
    g->bytes = room.used;
  }
  int64_t depth(int64_t channels) const { return channels * (tapping.whole ? tapping.all : 1); }

  void place_taps() {
    for (int64_t c = 0, k = 0; c < tapping.channels; c++)
      s.each_tap([&](int64_t, int64_t at) { offsets[k++] = int32_t(c * s.plane + at); });
    offsets[depth(tapping.channels)] = 0;
  }

  void group(int64_t n) {
    int64_t part = 0;
    for (int64_t set = 0; set < tapping.sets(); set++) {
      if (tapping.sets() > 1) s = slab_of(set);
      if (tapping.sets() > 1 || n == 0) s.clear(slab, tapping.channels);
      int64_t c = 0;
      do {  // once without channels, for the bias
        const int64_t left = g->channels - c;
        const int64_t channels = left < tapping.channels ? left : tapping.channels;
        const int64_t at = n * g->image_group + c * g->image_channel;
        s.fill(elements, g->axes, (const char *)g->image + at * elements.size(), g->image_channel,
               channels, slab);
        const Unit *weight = (const Unit *)g->weight + n * g->weight_group + c * tapping.all + set;
        multiply(n, {weight, g->weight_row, tapping.whole ? 1 : tapping.all}, depth(channels),
                 part == 0, part + 1 >= parts);
        part++, c += channels;
      } while (c < g->channels);
    }
  }

  void multiply(int64_t n, const Strided<P> &weights, int64_t depth, bool first, bool last) const {
    for (int64_t q = 0; q < lanes; q += step) {
      const int64_t w = lanes - q < step ? lanes - q : step;
      Placed<P, E> out(elements, g, n);
      const auto add = [&](auto... at) { out.add(g->axes, s, at...); };
      if (packs)
        s.each_row_of(q, w, add);
      else
        s.each_row(q, w, add);
      if (out.count == 0) continue;
      Sum *const to = first && last ? sums : sums + q * g->rows;
      const Target<P, Placed<P, E>> target{out, to, 0, 0, q, w, first, last && !turned};
      if (packs) {
        pack(out, depth);
        rows(weights, Packed<P>(panel), depth, target);
      } else {
        rows(weights, Tapped<P>(slab + q, offsets), depth, target);
      }
      if constexpr (Placed<P, E>::kTurns) {
        if (last && turned) out.turned(to, g->rows);
      }
    }
  }

  template <class Source>
  void rows(const Strided<P> &weights, const Source &taps, int64_t depth,
            const Target<P, Placed<P, E>> &target) const {
    if constexpr (kind_of<Unit> != kComplex) {
      if (target.w <= N) return tiles<P, R, 1>(weights, taps, depth, target, g->rows);
      if constexpr (__is_same(Source, Tapped<P>))
        if (target.w > W) return tile<P, 1, 8>(weights, taps, depth, target);
    }
    tiles<P, R, 2>(weights, taps, depth, target, g->rows);
  }

  // Packs the image elements at the positions of a tile. Whole vectors are written: later elements
  // overwrite the excess.
  void pack(const Placed<P, E> &out, int64_t depth) const {
    Move moves[W + 2] = {};
    int count = 0;
    for (int r = 0; r < out.count; r++)
      for (int64_t i = 0; i < out.runs[r].n; i += N)
        moves[count++] = {out.runs[r].place + i, out.runs[r].lane + i};
    if (count == 2) return pack_by<2>(moves, count, depth);
    if (count == 3) return pack_by<3>(moves, count, depth);
    if (count == 4) return pack_by<4>(moves, count, depth);
    pack_by<0>(moves, count, depth);
  }
  // A vector of the im2col tile, and its offset in a row of the packed panel.
  struct Move {
    int64_t from, to;
  };
  template <int kMoves>
  void pack_by(const Move *moves, int count, int64_t depth) const {
    Unit *to = panel;
    for (int64_t k = 0; k < depth; k++, to += W) {
      const Unit *from = slab + offsets[k];
      if constexpr (kMoves > 0)
        unrolled<kMoves>([&](int m) __attribute__((always_inline)) {
          copy_vector(from + moves[m].from, to + moves[m].to);
        });
      else
        for (int m = 0; m < count; m++) copy_vector(from + moves[m].from, to + moves[m].to);
    }
  }
  static LT_INLINE void copy_vector(const Unit *from, Unit *to) {
    memcpy((void *)to, from, N * sizeof(Unit));
  }
};

// Transposed weights, for images computed from results: a row for each channel of images.
struct ConvolveTurn {
  template <class T>
  static void row(const lt_convolution_turn *g) {
    using Unit = typename ConvolutionSteps<T>::Unit;
    constexpr int64_t kRows = 16;  // that are read from the same lines
    const int64_t taps = g->taps[0] * g->taps[1] * g->taps[2];
    for (int64_t begin = 0; begin < g->rows; begin += kRows) {
      const int64_t end = begin + kRows < g->rows ? begin + kRows : g->rows;
      for (int64_t m = 0; m < g->channels; m++)
        for (int64_t c = begin; c < end; c++) {
          const T *from = (const T *)g->from + m * g->channel_step + c * g->row_step;
          Unit *to = (Unit *)g->to + (c * g->channels + m) * taps;
          for (int64_t k = 0; k < g->taps[0]; k++)
            for (int64_t j = 0; j < g->taps[1]; j++) {
              const T *line = from + k * g->tap_steps[0] + j * g->tap_steps[1];
              for (int64_t i = 0; i < g->taps[2]; i++)
                *to++ = convert<Unit>(line[i * g->tap_steps[2]]);
            }
        }
    }
  }
};

template <class P, class E>
[[gnu::noinline]] void convolve(lt_convolution *g, const E &elements) {
  if constexpr (E::kSame && kind_of<typename P::Unit> == kFloating) {
    if (Depthwise<P>::fits(g)) {
      const Depthwise<P> depthwise(g);
      if (g->room) depthwise.run();
      return;
    }
  }
  Convolver<P, E> convolver(g, elements);
  if (!g->room) return;
  convolver.place_taps();
  for (int64_t n = 0; n < g->groups; n++) convolver.group(n);
}

struct Convolve {
  template <class T>
  static void row(lt_convolution *g) {
    using P = ConvolutionSteps<T>;
    convolve<P>(g, elements_of<T, typename P::Sum>());
  }
};

}  // namespace
}  // namespace lt
#endif
