// Combining sources with the elements that an index selects, in the order of the index, as on the
// CPU: the targets are sorted (targets.h), and one thread processes all sources of a target. It
// loads the target once, accumulates in the compute dtype, and stores the result once. The result
// does not depend on the device; if all sources have one target, a single thread processes them.
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

// Whether T accumulates elements of smaller dtypes too.
template <class T>
constexpr bool kAccumulates = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                              std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>;

// An element of operand k, in the dtype that it is computed in.
template <class T>
LT_INLINE T load_element(const Loop &l, int k, uint64_t at) {
  if constexpr (kAccumulates<T>) {
    if (is_converted(l, k)) {
      T x[1];
      if (std::is_same_v<T, float> && is_half(l.memory[k]))
        load_batch(l.memory[k], at, 0, 1, x);
      else
        convert_value(l.memory[k], l.compute[k], LT_PLACE(at, dtype_size(l.memory[k]), false),
                      (char *)x);
      return x[0];
    }
  }
  return *(const T *)LT_PLACE(at, sizeof(T), false);
}

template <class T>
LT_INLINE void store_element(const Loop &l, uint64_t at, T x) {
  if constexpr (kAccumulates<T>)
    store_output<T>(l, 0, LT_PLACE(at, dtype_size(l.memory[0]), true), x);
  else
    *(T *)LT_PLACE(at, sizeof(T), true) = x;
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
  lt_place_params params = {0, 1, 0, 0, 0, 0};  // the only place is the one that the data points to
  const uint64_t to = c.loop.data[0] + key + self;
  T total, element;
  if constexpr (!LAST) total = load_element<T>(c.loop, 0, to);
  char *data[3] = {(char *)&total, (char *)&here, (char *)&element};
  for (int64_t j = i; j < n && targets[j].key == key; j++) {
    int64_t offsets[kOperands];
    locate(c.loop, targets[j].index, offsets);
    element = load_element<T>(c.loop, 2, c.loop.data[2] + offsets[2] + source);
    OP::template row<T>(data, strides, 1, &params);
  }
  store_element(c.loop, to, total);
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
