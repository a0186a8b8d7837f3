// Softmax, its logarithm, their gradients and logarithms of sums of exponentials: some threads of a
// block share a lane, as its strands. Each strand keeps its elements in registers if they fit, and
// otherwise reads them again in each phase. Totals of strands are merged in pairs; that depends on
// the shape alone.
#ifndef LIBTENSOR_CUDA_SOFT_H
#define LIBTENSOR_CUDA_SOFT_H

#include "blocks.h"
#include "halves.h"
#include "lanes.h"
#include "../../engine/kernel/src/runs.h"
#include "../../engine/kernel/src/vmath_exp.h"

namespace lt {
namespace {

enum SoftLane { kSoftLane, kLogSoftLane, kLogSumExpLane, kSoftGradientLane, kLogSoftGradientLane };

// The arguments of a launch. Operands are outer x n x inner elements, of which
// outer * inner are lanes; results of kLogSumExpLane are one for each lane. Where `across` is set,
// adjacent threads process adjacent lanes.
struct SoftLanes {
  uint64_t in, with, out;
  int64_t lanes, n, inner;
  int32_t strands, across;
};

template <class T>
struct SoftTotals {
  T tops[kBlock];
  double sums[kBlock];
};

// The lanes of one block.
template <SoftLane KIND, class M>
struct SoftBlock {
  using T = Wider<M>;
  static constexpr bool kGradient = KIND >= kSoftGradientLane;
  static constexpr int kHeld = sizeof(T) == 4 ? 16 : 8;  // elements of a strand in registers
  struct Held {
    T x[kHeld], with[kHeld];
  };

  const SoftLanes &l;
  SoftTotals<T> &shared;
  int64_t group;

  LT_INLINE int together() const { return kBlock / l.strands; }
  LT_INLINE int strand(int thread) const {
    return l.across ? thread / together() : thread % l.strands;
  }
  LT_INLINE int number(int thread) const {
    return l.across ? thread % together() : thread / l.strands;
  }
  LT_INLINE int64_t lane(int thread) const { return group * together() + number(thread); }
  // The thread of the first strand of a lane, which has its totals.
  LT_INLINE int leader(int thread) const {
    return l.across ? number(thread) : thread - strand(thread);
  }
  LT_INLINE int64_t batches() const {
    return (l.n + l.strands * kHeld - 1) / (l.strands * (int64_t)kHeld);
  }

  // Calls f(k, at) for the elements k of batch b, where `at` is the index in memory, -1 behind the
  // end of the lane.
  template <class F>
  LT_INLINE void each(int thread, int64_t b, F f) const {
    const int64_t i = lane(thread);
    const int64_t first = l.inner == 1 ? i * l.n : i / l.inner * l.n * l.inner + i % l.inner;
    const int64_t begin = b * l.strands * kHeld + strand(thread);
#pragma unroll
    for (int k = 0; k < kHeld; k++) {
      const int64_t j = begin + k * l.strands;
      f(k, j < l.n ? first + j * l.inner : -1);
    }
  }

  LT_INLINE T load(uint64_t from, int64_t at, T fill) const {
    if (at < 0) return fill;
    return convert_element<T>(*(const M *)LT_PLACE(from + at * sizeof(M), sizeof(M), false));
  }

  LT_INLINE void load_batch(int thread, int64_t b, Held &held) const {
    each(thread, b, [&](int k, int64_t at) {
      held.x[k] = load(l.in, at, kGradient ? T(0) : T(-INFINITY));
      if (kGradient) held.with[k] = load(l.with, at, T(0));
    });
  }

  // Calls f for all batches of a lane, which are loaded unless the only one has been.
  template <class F>
  LT_INLINE void each_batch(int thread, Held &held, bool loaded, F f) const {
    if (lane(thread) >= l.lanes) return;
    const int64_t n = batches();
#pragma unroll 1
    for (int64_t b = 0; b < n; b++) {
      if (!loaded || n > 1) load_batch(thread, b, held);
      f(b);
    }
  }

  template <class F>
  LT_INLINE void merge(F f) const {
    for (int half = l.strands / 2; half > 0; half /= 2)
      phase([&](int thread) {
        if (strand(thread) < half) f(thread, thread + half * (l.across ? together() : 1));
      });
  }

  LT_INLINE void store(int64_t at, T x) const {
    if (at >= 0) *(M *)LT_PLACE(l.out + at * sizeof(M), sizeof(M), true) = convert_element<M>(x);
  }

  LT_INLINE void exponentiate(Held &held, T top) const {
#pragma unroll
    for (int k = 0; k < kHeld; k++) held.x[k] = vexp(Vec<T>(held.x[k] - top))[0];
  }

  LT_INLINE void find_tops(Each<Held> &held) const {
    const auto larger = [](T x, T best) { return x > best || x != x ? x : best; };
    phase([&](int thread) {
      T top = -INFINITY;
      each_batch(thread, held[thread], false, [&](int64_t) {
#pragma unroll
        for (int k = 0; k < kHeld; k++) top = larger(held[thread].x[k], top);
      });
      shared.tops[thread] = top;
    });
    merge([&](int to, int from) { shared.tops[to] = larger(shared.tops[from], shared.tops[to]); });
  }

  LT_INLINE void add_up(Each<Held> &held) const {
    phase([&](int thread) {
      Held &h = held[thread];
      double sum = 0;
      each_batch(thread, h, !kGradient, [&](int64_t) {
        if (!kGradient) exponentiate(h, shared.tops[leader(thread)]);
        T part = 0;
#pragma unroll
        for (int k = 0; k < kHeld; k++)
          part += KIND == kSoftGradientLane ? h.x[k] * h.with[k] : kGradient ? h.with[k] : h.x[k];
        sum += (double)part;
      });
      shared.sums[thread] = sum;
    });
    merge([&](int to, int from) { shared.sums[to] += shared.sums[from]; });
  }

  LT_INLINE void run() const {
    Each<Held> held;
    if (!kGradient) find_tops(held);
    add_up(held);
    phase([&](int thread) {
      Held &h = held[thread];
      const T top = shared.tops[leader(thread)];
      const double sum = shared.sums[leader(thread)];
      if constexpr (KIND == kLogSumExpLane) {
        if (strand(thread) == 0 && lane(thread) < l.lanes)
          store(lane(thread), isinf(top) || l.n == 0 ? top : T(top + log(sum)));
      } else {
        const T scale = kGradient ? T(sum) : KIND == kSoftLane ? T(1 / sum) : T(log(sum));
        // Of a logarithm, the elements have been replaced by their exponentials.
        each_batch(thread, h, KIND != kLogSoftLane, [&](int64_t b) {
          if (KIND == kSoftLane && batches() > 1) exponentiate(h, top);
          if (KIND == kLogSoftGradientLane) exponentiate(h, T(0));
          each(thread, b, [&](int k, int64_t at) {
            store(at, KIND == kSoftLane           ? h.x[k] * scale
                      : KIND == kLogSoftLane      ? h.x[k] - top - scale
                      : KIND == kSoftGradientLane ? h.x[k] * (h.with[k] - scale)
                                                  : h.with[k] - h.x[k] * scale);
          });
        });
      }
    });
  }
};

}  // namespace
}  // namespace lt

#define LT_SOFT(NAME, KIND, M)                                                               \
  LT_BLOCK_KERNEL(NAME, lt::SoftLanes, lt::SoftTotals<lt::Wider<M>>) {                       \
    for (int64_t i = LT_GROUP; i * (lt::kBlock / args.strands) < args.lanes; i += LT_GROUPS) \
      lt::SoftBlock<lt::KIND, M>{args, shared, i}.run();                                     \
  }

#endif
