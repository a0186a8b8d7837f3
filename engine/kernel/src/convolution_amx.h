// Convolutions of bfloat16 with positions as rows of tile registers: in a padded copy of the image
// the channels of a position are adjacent, so that each kernel element reads rows of it in place.
// The sums of all kernel elements and channels stay in registers.
#ifndef LIBTENSOR_KERNEL_SRC_CONVOLUTION_AMX_H
#define LIBTENSOR_KERNEL_SRC_CONVOLUTION_AMX_H

#include "arena.h"
#include "convolution.h"
#include "gemm_amx.h"

#if LT_AMX
namespace lt {
namespace {

// One box of positions. Elements are copied as the integers of their size.
struct AmxConvolver {
  using P = AmxPairs;
  using Unit = int16_t;
  using Elements = decltype(elements_of<BFloat16, float>());
  using Out = Placed<ConvolutionSteps<BFloat16>, Elements>;
  static constexpr int64_t W = kAmxAcross, kSize = sizeof(Unit);
  static constexpr int64_t kPage = 4096, kGroupBytes = 1 << 20;  // of weights in the L2 cache
  static constexpr int64_t kTurned = 32;  // channels that are transposed together
  const lt_convolution *g;
  const Elements elements = elements_of<BFloat16, float>();
  Side across;            // the last axis of the image
  Slab<Unit> s;           // whose last axis has no kernel elements if these are merged
  int64_t values;         // of a position, that a kernel element reads
  int64_t depth, stride;  // values in whole registers; values from a position to the next
  int64_t size;           // positions of the copy
  Unit *image, *row, *channels;
  int64_t *offsets;
  AmxRows<P> product;
  alignas(64) float sums[kAmxDown * W], turned[W * kAmxDown];

  // `axes` are those of g, or, with merged kernel elements, its first axes and `positions_of`.
  AmxConvolver(lt_convolution *g, const lt_axis *axes, const Taps &taps, const int64_t *begin,
               const int64_t *end)
      : g(g),
        across(g->axes[2], 0, g->axes[2].taps, begin[2], end[2]),
        s(axes, taps, begin, end),
        values(g->channels * (g->merged ? g->axes[2].taps : 1)),
        depth(amx_depth<P>(values)) {
    // Rows of a register must not all map to the same set of the L1 cache.
    stride = depth * kSize % kPage == 0 ? depth + kAmxDepth<P> : depth;
    size = s.z.slots * s.y.slots * s.x.slots * s.volume;
    Arena room{(char *)g->room};
    image = room.take<Unit>(size * stride);
    row = room.take<Unit>(g->merged ? row_elements() * g->channels : 0);
    channels = room.take<Unit>(kTurned * (g->merged ? row_elements() : s.x.extent));
    offsets = room.take<int64_t>(taps.count[0] * taps.count[1] * taps.count[2]);
    g->bytes = room.used;
  }

  // The axis of merged kernel elements, where each position is an element.
  static lt_axis positions_of(lt_axis a) {
    a.size = a.end, a.taps = 1, a.stride = 1, a.step = 1, a.origin = 0;
    return a;
  }
  // The elements of a row of the image from the first to the last that the box reads.
  int64_t row_elements() const {
    return (across.positions - 1) * across.stride + (across.taps - 1) * across.step + 1;
  }

  void run() {
    s.each_tap([&](int64_t t, int64_t at) { offsets[t] = at * stride; });
    if (s.z.padded() || s.y.padded() || s.x.padded() || depth > values)
      memset((void *)image, 0, size_t(size * stride * kSize));
    if (g->merged) memset((void *)row, 0, size_t(row_elements() * g->channels * kSize));
    for (int64_t n = 0; n < g->groups; n++) {
      fill((const char *)g->image + n * g->image_group * kSize);
      multiply(n);
    }
  }

  // Copies the channels of a group at all elements of the image that the box reads.
  void fill(const char *from) const {
    const lt_axis *const a = g->axes;
    const int64_t step = a[2].image_step, apart = s.x.stride * step * kSize;
    const auto each = [](const Side &side, auto &&f) {
      for (int64_t slot = 0; slot < side.slots; slot++) {
        const Range range = side.inside(slot);
        for (int64_t i = range.begin; i < range.end; i++) f(slot, i);
      }
    };
    each(s.z, [&](int64_t sz, int64_t k) {
      each(s.y, [&](int64_t sy, int64_t j) {
        const int64_t at =
            s.z.element(sz, k) * a[0].image_step + s.y.element(sy, j) * a[1].image_step;
        for (int64_t sx = 0; sx < s.x.slots; sx++) {
          const int64_t slot = (sz * s.y.slots + sy) * s.x.slots + sx;
          Unit *const to = image + (slot * s.volume + s.place(k, j, 0)) * stride;
          if (g->merged) {
            merge_row(from + at * kSize, to);
            continue;
          }
          const Range met = s.x.inside(sx);
          if (!met.empty())
            copy_row(from + (at + s.x.element(sx, met.begin) * step) * kSize, apart,
                     to + met.begin * stride, stride, met.end - met.begin);
        }
      });
    });
  }

  // Copies a few values, for which a call of memcpy would take longer.
  static LT_INLINE void copy_values(Unit *to, const Unit *from, int64_t n) {
#if defined(__AVX512BW__)
    constexpr int64_t kVector = 32;
    for (; n >= kVector; n -= kVector, to += kVector, from += kVector)
      _mm512_storeu_si512(to, _mm512_loadu_si512(from));
    const auto mask = __mmask32((uint32_t(1) << n) - 1);
    if (n > 0) _mm512_mask_storeu_epi16(to, mask, _mm512_maskz_loadu_epi16(mask, from));
#else
    memcpy((void *)to, from, size_t(n * kSize));
#endif
  }

  // Copies, for each position of a row, the channels at all kernel elements.
  void merge_row(const char *from, Unit *to) const {
    const int64_t step = g->axes[2].image_step, count = g->channels, taps = across.taps;
    const int64_t low = across.low, end = low + row_elements();
    const int64_t first = low < 0 ? 0 : low, last = end < across.size ? end : across.size;
    if (first < last)
      copy_row(from + first * step * kSize, step * kSize, row + (first - low) * count, count,
               last - first);
    for (int64_t i = 0; i < across.positions; i++, to += stride) {
      const Unit *const at = row + i * across.stride * count;
      if (across.step == 1 && !across.backward)
        copy_values(to, at, taps * count);
      else
        for (int64_t t = 0; t < taps; t++)
          copy_values(to + t * count, at + across.upward(t) * across.step * count, count);
    }
  }

  // Copies the channels of n elements of the image, which are `apart` bytes from each other, and
  // `between` values in the copy.
  void copy_row(const char *from, int64_t apart, Unit *to, int64_t between, int64_t n) const {
    const int64_t channel = g->image_channel * kSize;
    const auto turn = find_turn(kSize);
    if (channel == kSize && apart == g->channels * kSize && between == g->channels) {
      memcpy((void *)to, from, size_t(n * apart));
    } else if (channel == kSize) {
      for (int64_t i = 0; i < n; i++)
        copy_values(to + i * between, (const Unit *)(from + i * apart), g->channels);
    } else if (apart == kSize) {
      turn((char *)to, between * kSize, from, channel, g->channels, n);
    } else {
      for (int64_t c = 0; c < g->channels; c += kTurned) {
        const int64_t some = g->channels - c < kTurned ? g->channels - c : kTurned;
        for (int64_t i = 0; i < some; i++)
          read_elements<Unit, Unit>(from + (c + i) * channel, apart, channels + i * n, n);
        turn((char *)(to + c), between * kSize, (const char *)channels, n * kSize, some, n);
      }
    }
  }

  // The products of all positions and the weights of group n, as many rows of these at a time as
  // the L2 cache holds.
  void multiply(int64_t n) {
    const int32_t *const weights = (const int32_t *)g->weight + n * g->weight_group;
    const int64_t taps = s.z.taps * s.y.taps * s.x.taps, lanes = s.lanes();
    int64_t together = kGroupBytes / (taps * g->weight_row * 4) / W * W;
    if (together < W) together = W;
    for (int64_t first = 0; first < g->rows; first += together) {
      const int64_t last = g->rows - first < together ? g->rows : first + together;
      for (int64_t q = 0; q < lanes; q += kAmxDown) {
        const int64_t count = lanes - q < kAmxDown ? lanes - q : kAmxDown;
        Out out(elements, g, n);
        s.each_row(q, count, [&](auto... at) { out.add(g->axes, s, at...); });
        if (out.count == 0) continue;
        for (int64_t i = first; i < last; i += W) {
          const int64_t w = last - i < W ? last - i : W;
          sum(q, count, weights + i * g->weight_row, taps, w);
          write(out, count, i, w);
        }
      }
    }
  }

  // Sums the products at `count` positions from q on with w rows of weights.
  void sum(int64_t q, int64_t count, const int32_t *weights, int64_t taps, int64_t w) {
    const int64_t part = amx_part<P>(values);
    const auto each = [&](auto &&step) __attribute__((always_inline)) {
      for (int64_t t = 0; t < taps; t++) {
        const Unit *const at = image + q * stride + offsets[t];
        const int32_t *panel = weights + t * g->weight_tap;
        for (int64_t c = 0; c < depth; c += kAmxDepth<P>) {
          if (c % part == 0) panel += W;
          step(at + c, stride * kSize, panel);
          panel += product.kPanelUnits;
        }
      }
    };
    product.multiply_each(count, w, each, sums, true);
  }

  // Writes the sums of w rows from i on.
  void write(const Out &out, int64_t count, int64_t i, int64_t w) {
    if (g->result_row == 1) {
      const float *const bias = out.bias ? out.bias + i : nullptr;
      for (int r = 0; r < out.count; r++)
        for (int64_t p = 0; p < out.runs[r].n; p++) {
          float *const from = sums + (out.runs[r].lane + p) * W;
          char *const to = out.result + (out.runs[r].at + p * out.step + i) * kSize;
          if (bias)
            for (int64_t k = 0; k < w; k++) from[k] += bias[k];
          if (w == W)
            cast_row<float, BFloat16>((const char *)from, sizeof(float), to, kSize, W);
          else
            cast_row<float, BFloat16>((const char *)from, sizeof(float), to, kSize, w);
        }
      return;
    }
    constexpr int64_t kStep = W * sizeof(float);
    find_turn(sizeof(float))((char *)turned, kStep, (const char *)sums, kStep, count, w);
    for (int64_t r = 0; r < w; r++) out.row(turned + r * W, 0, i + r, 0, count);
  }
};

void convolution_amx(lt_convolution *g) {
  constexpr double kMost = 1 << 30;  // bytes of scratch memory
  lt_axis axes[LT_AXES];
  Taps taps{};
  int64_t begin[LT_AXES], end[LT_AXES];
  for (int d = 0; d < LT_AXES; d++) {
    axes[d] = d == 2 && g->merged ? AmxConvolver::positions_of(g->axes[d]) : g->axes[d];
    taps.count[d] = axes[d].taps, begin[d] = axes[d].begin, end[d] = axes[d].end;
  }
  const double taps_merged = g->merged ? double(g->axes[2].taps) : 1;
  const double row = double(end[2]) * double(g->axes[2].stride) +
                     taps_merged * double(g->axes[2].step < 0 ? -g->axes[2].step : g->axes[2].step);
  const double values = double(g->channels) * taps_merged + kAmxDepth<AmxPairs>;
  if ((tile_size(axes, taps.count, begin, end) * values + row * double(g->channels)) *
          sizeof(BFloat16) >
      kMost) {
    g->bytes = int64_t(1) << 62;
    return;
  }
  AmxConvolver convolver(g, axes, taps, begin, end);
  if (g->room) convolver.run();
}

}  // namespace
}  // namespace lt
#endif
#endif
