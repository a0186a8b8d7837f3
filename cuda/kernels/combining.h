// Combining sources with the elements that an index selects, in the order of the index, as on the
// CPU: the positions are sorted, and one thread processes all sources of a position. The result
// does not depend on the device; if all sources have one position, a single thread processes them.
#ifndef LIBTENSOR_CUDA_COMBINING_H
#define LIBTENSOR_CUDA_COMBINING_H

#include "merging.h"
#include "seeking.h"

#ifdef __CUDACC_RTC__
#define __typeof__(...) decltype(__VA_ARGS__)  // other compilers have it
#endif

namespace lt {
namespace {

// One launch; combination of combine.go mirrors it. The operands of the loop are self, index and
// source; along the columns the index stays the same, so that they are not sorted by. from and to
// are items.
struct Combination {
  Loop loop;
  uint64_t from, to;
  int64_t columns;
  int64_t column_sizes[kDims], column_self[kDims], column_source[kDims];
  int64_t column_dims;
};

// The target of a source, in bytes from the first element of self, and the number of the source.
struct Target {
  uint64_t key;
  uint32_t index;
};

// The key of a source whose index is out of range, since another thread wrote to it.
constexpr uint64_t kNowhere = ~uint64_t(0);

// The targets of a range of sources, sorted.
LT_INLINE void target_run(const Combination &c, int64_t thread) {
  const int64_t n = c.loop.numel, begin = thread * kRun, m = n - begin < kRun ? n - begin : kRun;
  auto *to = (Target *)LT_PLACE(c.to + begin * sizeof(Target), m * sizeof(Target), true);
  Target targets[kRun];
  alignas(16) char params[64];
  for (int k = 0; k < 8; k++) ((int64_t *)params)[k] = ((const int64_t *)c.loop.params)[k];
  const Places place(params);
  for (int64_t i = 0; i < m; i++) {
    int64_t offsets[kOperands];
    locate(c.loop, begin + i, offsets);
    const int64_t at = place(LT_PLACE(c.loop.data[1] + offsets[1], 8, false));
    targets[i] = {
        at < 0 && ((const place_params *)params)->failed ? kNowhere : uint64_t(offsets[0] + at),
        uint32_t(begin + i)};
    ((place_params *)params)->failed = 0;
  }
  insertion(targets, m, [](const Target &a, const Target &b) { return a.key < b.key; });
  for (int64_t i = 0; i < m; i++) to[i] = targets[i];
}

// Combines the sources of one position, or, with LAST, stores the last of them.
template <bool LAST, class OP, class T>
LT_INLINE void combine(const Combination &c, int64_t thread) {
  const int64_t n = c.loop.numel, i = thread / c.columns;
  const auto *targets = (const Target *)LT_PLACE(c.from, n * sizeof(Target), false);
  const uint64_t key = targets[i].key;
  if (key == kNowhere) return;
  const int64_t beside = LAST ? i + 1 : i - 1;
  if (beside >= 0 && beside < n && targets[beside].key == key) return;
  int64_t self = 0, source = 0, column = thread % c.columns;
  for (int d = 0; d < c.column_dims; d++) {
    const int64_t rest = column / c.column_sizes[d], at = column - rest * c.column_sizes[d];
    self += at * c.column_self[d];
    source += at * c.column_source[d];
    column = rest;
  }
  const int64_t here = 0, strides[3] = {1, 0, 1};
  place_params params = {0, 1, 0, 0, 0};  // the only place is the one that the data points to
  char *data[3] = {LT_PLACE(c.loop.data[0] + key + self, sizeof(T), true), (char *)&here, nullptr};
  for (int64_t j = i; j < n && targets[j].key == key; j++) {
    int64_t offsets[kOperands];
    locate(c.loop, targets[j].index, offsets);
    data[2] = LT_PLACE(c.loop.data[2] + offsets[2] + source, sizeof(T), false);
    OP::template row<T>(data, strides, 1, &params);
  }
}

}  // namespace
}  // namespace lt

#define LT_COMBINE(NAME, LAST, OP, ...)                       \
  LT_KERNEL(NAME, lt::Combination) {                          \
    const int64_t threads = args.loop.numel * args.columns;   \
    for (int64_t i = LT_THREAD; i < threads; i += LT_THREADS) \
      lt::combine<LAST, lt::OP, __VA_ARGS__>(args, i);        \
  }

#endif
