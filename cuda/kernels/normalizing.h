// Normalization of units, as layers of networks do: some threads of a block share a unit, as its
// strands. A strand keeps its elements in registers if they fit, and otherwise reads them again for
// the sum, the sum of squared deviations and the results. Sums of strands are merged in pairs; all
// of it depends on the shape alone.
#include "blocks.h"
#include "halves.h"
#include "numbers.h"

namespace lt {
namespace {

// The arguments of a launch. Elements are strips x batches x groups x runs x span; a unit is a
// batch of a group, with a mean, a variance and a reciprocal deviation, in that order of groups,
// and a run has a weight and a bias in each group, which are in the dtype of the computation; 0 is
// none.
struct Normalizing {
  uint64_t in, out, mean, rstd, variance, weight, bias;
  int64_t units, groups, strips, runs, span;
  double eps;
  int32_t strands;
  uint8_t centred, rounded, reserved[2];
};

struct NormalizingTotals {
  double sums[kBlock];
};

// The units of one block.
template <class M>
struct NormalizedBlock {
  using S = decltype(load_value(M()));
  static constexpr int kHeld = sizeof(S) == 4 ? 16 : 8;  // elements of a strand in registers
  struct Held {
    S x[kHeld];
  };

  const Normalizing &l;
  NormalizingTotals &shared;
  int64_t group;

  LT_INLINE int strand(int thread) const { return thread % l.strands; }
  LT_INLINE int64_t unit(int thread) const {
    return group * (kBlock / l.strands) + thread / l.strands;
  }
  LT_INLINE int leader(int thread) const { return thread - strand(thread); }
  LT_INLINE int64_t length() const { return l.runs * l.span; }  // of a strip
  LT_INLINE int64_t count() const { return l.strips * length(); }
  LT_INLINE int64_t batches() const {
    return (count() + l.strands * kHeld - 1) / (l.strands * (int64_t)kHeld);
  }

  // Calls f(k, j, at) for the elements k of batch b, which are numbers j of the unit, at an index
  // in memory.
  template <class F>
  LT_INLINE void each(int thread, int64_t b, F f) const {
    const int64_t u = unit(thread), n = count(), row = length();
    const int64_t begin = b * l.strands * kHeld + strand(thread);
#pragma unroll
    for (int k = 0; k < kHeld; k++) {
      const int64_t j = begin + k * l.strands;
      if (j >= n) continue;
      const int64_t strip = l.strips == 1 ? 0 : divided(j, row);
      f(k, j - strip * row, (strip * l.units + u) * row + j - strip * row);
    }
  }

  // Calls f for all batches of a unit, which are loaded unless the only one has been.
  template <class F>
  LT_INLINE void each_batch(int thread, Held &held, bool loaded, F f) const {
    if (unit(thread) >= l.units) return;
    const int64_t n = batches();
#pragma unroll 1
    for (int64_t b = 0; b < n; b++) {
      if (!loaded || n > 1)
        each(thread, b, [&](int k, int64_t, int64_t at) {
          held.x[k] =
              convert_element<S>(*(const M *)LT_PLACE(l.in + at * sizeof(M), sizeof(M), false));
        });
      f(b);
    }
  }

  static LT_NOINLINE int64_t divided(int64_t i, int64_t by) {
    return (uint64_t)i >> 32 || (uint64_t)by >> 32 ? i / by : (uint32_t)i / (uint32_t)by;
  }

  // Adds f of each element; the leader of a unit gets its sum.
  template <class F>
  LT_INLINE void add_up(Each<Held> &held, bool loaded, F f) const {
    phase([&](int thread) {
      Held &h = held[thread];
      double sum = 0;
      each_batch(thread, h, loaded, [&](int64_t b) {
        S part = 0;
        each(thread, b, [&](int k, int64_t, int64_t) { part += f(thread, h.x[k]); });
        sum += (double)part;
      });
      shared.sums[thread] = sum;
    });
    for (int half = l.strands / 2; half > 0; half /= 2)
      phase([&](int thread) {
        if (strand(thread) < half) shared.sums[thread] += shared.sums[thread + half];
      });
  }

  // The value with the precision of the elements, if that is asked for.
  LT_INLINE S rounded(S x) const {
    return l.rounded ? convert_element<S>(convert_element<M>(x)) : x;
  }

  // The reciprocal of the deviation. Sums of squares of bfloat16 are rounded too, as PyTorch's.
  LT_INLINE S reciprocal(S variance) const {
    double used = variance;
    if (std::is_same_v<M, BFloat16> && l.rounded)
      used = rounded(S((double)rounded(S(used * (double)count())) / (double)count()));
    return rounded(S(1 / sqrt(used + l.eps)));
  }

  LT_INLINE S &statistic(uint64_t of, int64_t u) const {
    return *(S *)LT_PLACE(of + u * sizeof(S), sizeof(S), true);
  }
  LT_INLINE S parameter(uint64_t of, int64_t j, int64_t u) const {
    const int64_t run = l.span == 1 ? j : divided(j, l.span);
    const int64_t at = u % l.groups * l.runs + run;
    return *(const S *)LT_PLACE(of + at * sizeof(S), sizeof(S), false);
  }

  LT_INLINE void run() const {
    Each<Held> held;
    Each<S> means, scales;
    add_up(held, false, [&](int, S x) { return x; });
    phase([&](int thread) { means[thread] = S(shared.sums[leader(thread)] / (double)count()); });
    if (!l.centred) phase([&](int thread) { means[thread] = 0; });
    add_up(held, true, [&](int thread, S x) { return (x - means[thread]) * (x - means[thread]); });
    phase([&](int thread) {
      const S variance = S(shared.sums[leader(thread)] / (double)count());
      means[thread] = rounded(means[thread]), scales[thread] = reciprocal(variance);
      const int64_t u = unit(thread);
      if (strand(thread) || u >= l.units) return;
      statistic(l.mean, u) = means[thread], statistic(l.rstd, u) = scales[thread];
      statistic(l.variance, u) = variance;
    });
    phase([&](int thread) {
      Held &h = held[thread];
      each_batch(thread, h, true, [&](int64_t b) {
        each(thread, b, [&](int k, int64_t j, int64_t at) {
          const int64_t u = unit(thread);
          const S scale = l.weight ? scales[thread] * parameter(l.weight, j, u) : scales[thread];
          const S x = (h.x[k] - means[thread]) * scale;
          *(M *)LT_PLACE(l.out + at * sizeof(M), sizeof(M), true) =
              convert_element<M>(l.bias ? parameter(l.bias, j, u) + x : x);
        });
      });
    });
  }
};

}  // namespace
}  // namespace lt

#define LT_NORMALIZING(DTYPE, ...)                                                           \
  LT_BLOCK_KERNEL(normalize_##DTYPE, lt::Normalizing, lt::NormalizingTotals) {               \
    for (int64_t i = LT_GROUP; i * (lt::kBlock / args.strands) < args.units; i += LT_GROUPS) \
      lt::NormalizedBlock<__VA_ARGS__>{args, shared, i}.run();                               \
  }

LT_NORMALIZING(float16, lt::Float16)
LT_NORMALIZING(bfloat16, lt::BFloat16)
LT_NORMALIZING(float32, float)
LT_NORMALIZING(float64, double)
