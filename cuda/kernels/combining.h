// Combining sources with the elements that an index selects, in the order of the index, as on the
// CPU: the targets are sorted (targets.h), and one thread processes all sources of a target. The
// result does not depend on the device; if all sources have one target, a single thread processes
// them.
#ifndef LIBTENSOR_CUDA_COMBINING_H
#define LIBTENSOR_CUDA_COMBINING_H

#include "elementwise.h"
#include "places.h"

#ifdef __CUDACC_RTC__
#define __typeof__(...) decltype(__VA_ARGS__)  // other compilers have it
#endif

namespace lt {
namespace {

// The arguments of a launch. The operands of the loop are self, index and
// source; along the columns the index stays the same, so that they are not sorted by. from and to
// are targets. Sources with an index out of range are skipped, and one of these is reported to
// `fault`.
struct Combination {
  Loop loop;
  uint64_t from, to, fault;
  int64_t columns;
  int64_t column_sizes[kDims], column_self[kDims], column_source[kDims];
  int64_t column_dims, run, check, reserved;
};

// The target of a source, in bytes from the first element of self, and the number of the source.
struct Target {
  uint64_t key;
  uint32_t index;
};

// The bits of a target in which it is sorted with the number of the source in a tile (targets.h).
constexpr int kTileBits = 12;

// The target of a source whose index is out of range.
constexpr uint64_t kNowhere = ~uint64_t(0) >> kTileBits;

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
  lt_place_params params = {0, 1, 0, 0, 0, 0};  // the only place is the one that the data points to
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
