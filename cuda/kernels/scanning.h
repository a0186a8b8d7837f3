// Cumulative sums, products and extremes: some threads of a block share a lane, as its strands, of
// which each accumulates adjacent elements of a tile. A few long lanes are divided into blocks,
// whose totals a first launch computes. All of it depends on the shape alone.
#ifndef LIBTENSOR_CUDA_SCANNING_H
#define LIBTENSOR_CUDA_SCANNING_H

#include "blocks.h"
#include "lanes.h"

namespace lt {
namespace {

// Of the unit scan, which comes later.
template <class T>
struct Accumulator;
template <class A, class T>
LT_INLINE A grown(T x);
template <class T, class A>
LT_INLINE T shrunk(A a);

// The arguments of a launch. Operands are outer x n x inner elements, of which
// outer * inner are lanes. Blocks of lanes have `length` elements, whole tiles. Where `across` is
// set, adjacent threads process adjacent lanes.
struct Scanning {
  uint64_t in, out[2], totals;
  int64_t lanes, n, inner, pieces, length;
  int32_t strands;
  uint8_t across, totaling, reserved[2];
};

// The steps of the unit scan on elements of type T: states, of which each includes the ones before.
template <class Step, class T, int HELD>
struct Accumulating {
  static constexpr int kHeld = HELD;
  using State = typename Accumulator<T>::type;
  static LT_INLINE State start() { return Step::template start<State>(); }
  static LT_INLINE State of(T x, int64_t) { return grown<State>(x); }
  static LT_INLINE State join(State a, State b) { return Step::template next<State>(a, b); }
  static LT_INLINE void store(const Scanning &l, int64_t at, State a) {
    *(T *)LT_PLACE(l.out[0] + at * sizeof(T), sizeof(T), true) = shrunk<T>(a);
  }
};

// An extreme with the index of the last element that equals it; NaN stays.
template <bool LARGEST, class T>
struct Extremes {
  static constexpr int kHeld = 8;  // elements of a strand
  struct State {
    T x;
    int64_t index;  // -1 before the first element
  };
  static LT_INLINE State start() { return {T(), -1}; }
  static LT_INLINE State of(T x, int64_t i) { return {x, i}; }
  static LT_INLINE State join(State a, State b) {
    if (b.index < 0) return a;
    const bool replaced = b.x != b.x || (LARGEST ? b.x >= a.x : b.x <= a.x);
    return a.index < 0 || replaced ? b : a;
  }
  static LT_INLINE void store(const Scanning &l, int64_t at, State a) {
    *(T *)LT_PLACE(l.out[0] + at * sizeof(T), sizeof(T), true) = a.x;
    *(int64_t *)LT_PLACE(l.out[1] + at * 8, 8, true) = a.index;
  }
};

template <class Op, class T>
struct ScanBlock {
  using State = typename Op::State;
  struct Shared {
    alignas(16) char states[kBlock][sizeof(State)];
    LT_INLINE State &operator[](int i) {
#ifdef LT_SIMULATED
      if (i < 0 || i >= kBlock) lt_sim_fault();
#endif
      return *(State *)states[i];
    }
  };
  struct Held {
    T x[Op::kHeld];
  };

  const Scanning &l;
  Shared &shared;
  int64_t group;

  LT_INLINE int together() const { return kBlock / l.strands; }
  LT_INLINE int strand(int thread) const {
    return l.across ? thread / together() : thread % l.strands;
  }
  // The number of a block of a lane.
  LT_INLINE int64_t number(int thread) const {
    return group * together() + (l.across ? thread % together() : thread / l.strands);
  }
  LT_INLINE int64_t lane(int thread) const { return number(thread) % l.lanes; }
  LT_INLINE int64_t piece(int thread) const { return number(thread) / l.lanes; }
  LT_INLINE bool is_used(int thread) const { return number(thread) < l.lanes * l.pieces; }
  // The thread of another strand of the same lane.
  LT_INLINE int other(int thread, int strands) const {
    return thread + strands * (l.across ? together() : 1);
  }

  LT_INLINE State &total(int64_t piece, int64_t lane, bool writes) const {
    return *(State *)LT_PLACE(l.totals + (piece * l.lanes + lane) * sizeof(State), sizeof(State),
                              writes);
  }

  // Calls f(k, j, at) for the elements of a strand in the tile at `begin`, j of the lane, at `at`
  // in memory.
  template <class F>
  LT_INLINE void each(int thread, int64_t begin, F f) const {
    if (!is_used(thread)) return;
    const int64_t i = lane(thread), first = i / l.inner * l.n * l.inner + i % l.inner;
    const int64_t from = begin + strand(thread) * Op::kHeld;
#pragma unroll
    for (int k = 0; k < Op::kHeld; k++)
      if (from + k < l.n) f(k, from + k, first + (from + k) * l.inner);
  }

  // The states of strands include those before, in a number of rounds.
  LT_INLINE void join_strands() const {
    Each<State> joined;
#pragma unroll 1
    for (int d = 1; d < l.strands; d *= 2) {
      phase([&](int thread) {
        joined[thread] = strand(thread) >= d ? Op::join(shared[other(thread, -d)], shared[thread])
                                             : shared[thread];
      });
      phase([&](int thread) { shared[thread] = joined[thread]; });
    }
  }

  LT_INLINE void run() const {
    Each<Held> held;
    Each<State> carried;
    phase([&](int thread) {
      State state = Op::start();
      if (!l.totaling && is_used(thread)) {
#pragma unroll 1
        for (int64_t p = 0; p < piece(thread); p++)
          state = Op::join(state, total(p, lane(thread), false));
      }
      carried[thread] = state;
    });
    const int64_t tile = (int64_t)l.strands * Op::kHeld;
#pragma unroll 1
    for (int64_t t = 0; t < l.length; t += tile) {
      phase([&](int thread) {
        const int64_t begin = piece(thread) * l.length + t;
        each(thread, begin, [&](int k, int64_t, int64_t at) {
          held[thread].x[k] = *(const T *)LT_PLACE(l.in + at * sizeof(T), sizeof(T), false);
        });
        State state = Op::start();
        each(thread, begin, [&](int k, int64_t j, int64_t) {
          const State one = Op::of(held[thread].x[k], j);
          state = k ? Op::join(state, one) : one;
        });
        shared[thread] = state;
      });
      join_strands();
      phase([&](int thread) {
        if (l.totaling) return;
        State state = carried[thread];
        if (strand(thread)) state = Op::join(state, shared[other(thread, -1)]);
        each(thread, piece(thread) * l.length + t, [&](int k, int64_t j, int64_t at) {
          state = Op::join(state, Op::of(held[thread].x[k], j));
          Op::store(l, at, state);
        });
      });
      phase([&](int thread) {
        const int last = other(thread, l.strands - 1 - strand(thread));
        carried[thread] = Op::join(carried[thread], shared[last]);
      });
    }
    phase([&](int thread) {
      if (l.totaling && is_used(thread) && strand(thread) == 0)
        total(piece(thread), lane(thread), true) = carried[thread];
    });
  }
};

}  // namespace
}  // namespace lt

#define LT_SCANNING(NAME, ...)                                                           \
  using NAME##_block = lt::ScanBlock<lt::__VA_ARGS__>;                                   \
  LT_BLOCK_KERNEL(NAME, lt::Scanning, NAME##_block::Shared) {                            \
    const int64_t pieces = args.lanes * args.pieces;                                     \
    for (int64_t i = LT_GROUP; i * (lt::kBlock / args.strands) < pieces; i += LT_GROUPS) \
      NAME##_block{args, shared, i}.run();                                               \
  }

#endif
