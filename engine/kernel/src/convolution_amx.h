// Convolutions of bfloat16 in tile registers: rows of weights times the image elements at
// kAmxAcross positions, which are packed from an im2col tile.
#ifndef LIBTENSOR_KERNEL_SRC_CONVOLUTION_AMX_H
#define LIBTENSOR_KERNEL_SRC_CONVOLUTION_AMX_H

#include "arena.h"
#include "convolution.h"
#include "gemm_amx.h"

#if LT_AMX
namespace lt {
namespace {

// One group: the channels, or those of a kernel element, in parts, each of which adds to the sums
// of all rows at all positions. Elements are copied as the integers of their size.
struct AmxConvolver {
  using P = AmxPairs;
  using Unit = int16_t;
  using Steps = ConvolutionSteps<BFloat16>;
  using Out = Placed<Steps, decltype(elements_of<BFloat16, float>())>;
  static constexpr int64_t W = kAmxAcross;
  const lt_convolution *g;
  const decltype(elements_of<BFloat16, float>()) elements = elements_of<BFloat16, float>();
  Tapping<Unit> tapping;
  int64_t begin[LT_AXES], end[LT_AXES];
  Slab<Unit> s;  // for all kernel elements, or for those of one set
  int64_t lanes, parts;
  Unit *slab, *columns;
  BFloat16 *weights;  // of a part, if they are not adjacent
  int32_t *panel, *offsets;
  float *sums;
  AmxRows<P> product;

  Slab<Unit> slab_of(int64_t set) const {
    return Slab<Unit>(g->axes, tapping.set(set), begin, end);
  }

  explicit AmxConvolver(lt_convolution *g)
      : g(g),
        tapping(g->axes, g->channels),
        begin{g->axes[0].begin, g->axes[1].begin, g->axes[2].begin},
        end{g->axes[0].end, g->axes[1].end, g->axes[2].end},
        s(slab_of(0)) {
    lanes = s.positions();
    parts = tapping.sets() * ((g->channels + tapping.channels - 1) / tapping.channels);
    const int64_t most = depth(tapping.channels);
    Arena room{(char *)g->room};
    slab = room.take<Unit>(tapping.channels * s.plane + W);
    columns = room.take<Unit>((most + 1) * W);
    weights = room.take<BFloat16>(tapping.whole ? 0 : g->rows * most);
    panel = room.take<int32_t>((amx_depth<P>(most) / P::kSteps + 1) * W);
    offsets = room.take<int32_t>(most);
    sums = room.take<float>(parts > 1 ? g->rows * ((lanes + W - 1) / W * W) : kAmxDown * W);
    g->bytes = room.used;
  }
  int64_t depth(int64_t channels) const { return channels * (tapping.whole ? tapping.all : 1); }

  void place_taps() {
    for (int64_t c = 0, k = 0; c < tapping.channels; c++)
      s.each_tap([&](int64_t, int64_t at) { offsets[k++] = int32_t(c * s.plane + at); });
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
        s.fill(Same<Unit>(), g->axes, (const char *)g->image + at * int64_t(sizeof(Unit)),
               g->image_channel, channels, slab);
        const BFloat16 *from =
            (const BFloat16 *)g->weight + n * g->weight_group + c * tapping.all + set;
        multiply(n, from, depth(channels), part == 0, part + 1 >= parts);
        part++, c += channels;
      } while (c < g->channels);
    }
  }

  void multiply(int64_t n, const BFloat16 *weight, int64_t depth, bool first, bool last) {
    int64_t weight_row = g->weight_row;
    if (!tapping.whole) {
      for (int64_t i = 0; i < g->rows; i++)
        for (int64_t k = 0; k < depth; k++)
          weights[i * depth + k] = weight[i * weight_row + k * tapping.all];
      weight = weights, weight_row = depth;
    }
    for (int64_t q = 0; q < lanes; q += W) {
      const int64_t w = lanes - q < W ? lanes - q : W;
      Out out(elements, g, n);
      s.each_row_of(q, w, [&](auto... at) { out.add(g->axes, s, at...); });
      pack_columns(out, depth);
      for (int64_t i = 0; i < g->rows; i += kAmxDown) {
        const int64_t rows = g->rows - i < kAmxDown ? g->rows - i : kAmxDown;
        float *const to = parts > 1 ? sums + q * g->rows + i * W : sums;
        product.multiply(weight + i * weight_row, weight_row, rows, panel + W, depth, w, to, first);
        for (int64_t r = 0; r < rows && last; r++) out.row(to + r * W, 0, i + r, q, w);
      }
    }
  }

  // Packs the image elements at the positions of a tile. Whole registers are copied: later elements
  // overwrite the excess.
  void pack_columns(const Out &out, int64_t depth) {
    for (int64_t k = 0; k < depth; k++)
      for (int r = 0; r < out.count; r++)
        memcpy(columns + k * W + out.runs[r].lane, slab + offsets[k] + out.runs[r].place,
               W * sizeof(Unit));
    pack_amx<P>((const BFloat16 *)columns, W, 1, depth, W, panel);
  }
};

void convolution_amx(lt_convolution *g) {
  AmxConvolver convolver(g);
  if (!g->room) return;
  convolver.place_taps();
  for (int64_t n = 0; n < g->groups; n++) convolver.group(n);
}

}  // namespace
}  // namespace lt
#endif
#endif
