// Selection by rank in lines, one block of threads for each line: its elements are in the order of
// their keys, and equal ones in that of their indices. The digits of the wanted element are found
// from the highest on, by counting those of the elements that have the same higher digits (radix
// selection); then the elements up to it are collected in shared memory and sorted there (bitonic
// sort, after K. Batcher, 1968).
#include "blocks.h"
#include "numbers.h"
#include "../../engine/kernel/src/search.h"
#include "../../engine/kernel/src/sort.h"

#ifdef LT_SIMULATED
#define LT_COUNT(COUNTER) (COUNTER)++
#else
#define LT_COUNT(COUNTER) atomicAdd(&(COUNTER), 1u)
#endif

namespace lt {
namespace {

constexpr int kDigits = 256;      // values of a digit
constexpr int kCollected = 1024;  // elements that a block can sort

enum RankKind { kElementOfRank, kElementsUpToRank, kMedianOfAll, kMedianOfNumbers };

// The arguments of a launch. Lines are contiguous, as are their `keep` results. rank is that of
// the last element wanted, ignored for medians; flip is 1 for descending order.
struct Ranking {
  uint64_t in, values, indices;
  int64_t lines, n, keep, rank, flip, kind;
};

// An element: its key in the high bits of the order, its index in the low ones.
template <class K>
struct Ranked {
  K key;
  uint32_t index;
  LT_INLINE bool operator<(const Ranked &b) const {
    return key < b.key || (key == b.key && index < b.index);
  }
};

template <class T>
struct RankedBlock {
  using K = decltype(sort_key(T()));
  uint32_t counts[kDigits], collected;
  uint64_t digit, rank;
  Ranked<K> items[kCollected];
};
static_assert(kDigits == kBlock, "a thread has a digit");

template <class T>
class RankedLine {
  using Shared = RankedBlock<T>;
  using K = typename Shared::K;
  const Ranking &r;
  Shared &shared;
  const T *in;
  int64_t line;

  LT_INLINE K key(int64_t i) const { return K(sort_key(in[i]) ^ flip_of<T>(r.flip)); }

  // The elements of a thread.
  template <class F>
  LT_INLINE void each(int thread, F f) const {
    for (int64_t i = thread; i < r.n; i += kBlock) f(i, key(i));
  }

  // Replaces the counts by their inclusive prefix sums.
  LT_INLINE void sum_counts() {
    Each<uint32_t> sums;
    for (int step = 1; step < kDigits; step *= 2) {
      phase([&](int thread) {
        sums[thread] = shared.counts[thread] + (thread < step ? 0 : shared.counts[thread - step]);
      });
      phase([&](int thread) { shared.counts[thread] = sums[thread]; });
    }
  }

  // The value of the element of number `rank` among those for which f is called; rank becomes its
  // number among those with the same value. f(i, key, accept) calls accept with the value of an
  // element, of `bytes` bytes, or does not.
  template <class F>
  LT_INLINE uint64_t find(int bytes, uint64_t &rank, F f) {
    uint64_t digits = 0;
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
      phase([&](int thread) { shared.counts[thread] = 0; });
      phase([&](int thread) {
        each(thread, [&](int64_t i, K k) {
          f(i, k, [&](uint64_t value) {
            if (value >> shift >> 8 == digits >> shift >> 8)
              LT_COUNT(shared.counts[value >> shift & (kDigits - 1)]);
          });
        });
      });
      sum_counts();
      phase([&](int thread) {
        const uint64_t before = thread ? shared.counts[thread - 1] : 0;
        if (rank < before || rank >= shared.counts[thread]) return;
        shared.digit = thread;
        shared.rank = rank - before;
      });
      digits |= shared.digit << shift;
      rank = shared.rank;
    }
    return digits;
  }

  // The number of elements that are not NaN.
  LT_INLINE int64_t count_numbers() {
    phase([&](int thread) {
      if (thread == 0) shared.collected = 0;
    });
    phase([&](int thread) {
      each(thread, [&](int64_t, K k) {
        if (kind_of<T> == kFloating && k == K(~K(0))) LT_COUNT(shared.collected);
      });
    });
    return r.n - shared.collected;
  }

  LT_INLINE int64_t wanted_rank() {
    if (r.kind < kMedianOfAll) return r.rank;
    const int64_t numbers = count_numbers();
    const bool counts = numbers == r.n || (r.kind == kMedianOfNumbers && numbers > 0);
    return counts ? (numbers - 1) / 2 : numbers;
  }

  LT_INLINE void store(int64_t place, int64_t i) const {
    const int64_t at = line * r.keep + place;
    *(T *)LT_PLACE(r.values + at * sizeof(T), sizeof(T), true) = in[i];
    *(int64_t *)LT_PLACE(r.indices + at * 8, 8, true) = i;
  }

  // Stores the elements up to `last` in order.
  LT_INLINE void store_sorted(Ranked<K> last) {
    int size = 1;
    while (size < r.keep) size *= 2;
    phase([&](int thread) {
      if (thread == 0) shared.collected = 0;
      for (int i = thread; i < size; i += kBlock) shared.items[i] = {K(~K(0)), ~uint32_t(0)};
    });
    phase([&](int thread) {
      each(thread, [&](int64_t i, K k) {
        const Ranked<K> x = {k, (uint32_t)i};
        if (!(last < x)) shared.items[LT_COUNT(shared.collected)] = x;
      });
    });
    for (int run = 2; run <= size; run *= 2)
      for (int step = run / 2; step > 0; step /= 2)
        phase([&](int thread) {
          for (int i = thread; i < size / 2; i += kBlock) {
            const int low = i / step * 2 * step + i % step, high = low + step;
            const Ranked<K> a = shared.items[low], b = shared.items[high];
            if ((b < a) == !(low & run)) shared.items[low] = b, shared.items[high] = a;
          }
        });
    phase([&](int thread) {
      for (int64_t i = thread; i < r.keep; i += kBlock) store(i, shared.items[i].index);
    });
  }

 public:
  LT_INLINE RankedLine(const Ranking &r, Shared &shared, int64_t line)
      : r(r),
        shared(shared),
        in((const T *)LT_PLACE(r.in + line * r.n * sizeof(T), r.n * sizeof(T), false)),
        line(line) {}

  LT_INLINE void select() {
    uint64_t rank = wanted_rank();
    const K last = K(find(sizeof(K), rank, [](int64_t, K k, auto accept) { accept(k); }));
    int bytes = 1;
    while (bytes < 4 && r.n > (int64_t)1 << 8 * bytes) bytes++;
    const uint32_t index = (uint32_t)find(bytes, rank, [&](int64_t i, K k, auto accept) {
      if (k == last) accept(i);
    });
    if (r.kind == kElementsUpToRank)
      store_sorted({last, index});
    else
      phase([&](int thread) {
        if (thread == 0) store(0, index);
      });
  }
};

}  // namespace
}  // namespace lt

#define LT_RANKING(DTYPE, ...)                                               \
  LT_BLOCK_KERNEL(rank_##DTYPE, lt::Ranking, lt::RankedBlock<__VA_ARGS__>) { \
    for (int64_t line = LT_GROUP; line < args.lines; line += LT_GROUPS)      \
      lt::RankedLine<__VA_ARGS__>(args, shared, line).select();              \
  }

LT_RANKING(bool, lt::Bool)
LT_RANKING(uint8, uint8_t)
LT_RANKING(int8, int8_t)
LT_RANKING(int16, int16_t)
LT_RANKING(int32, int32_t)
LT_RANKING(int64, int64_t)
LT_RANKING(uint16, uint16_t)
LT_RANKING(uint32, uint32_t)
LT_RANKING(uint64, uint64_t)
LT_RANKING(float16, lt::Float16)
LT_RANKING(bfloat16, lt::BFloat16)
LT_RANKING(float32, float)
LT_RANKING(float64, double)
