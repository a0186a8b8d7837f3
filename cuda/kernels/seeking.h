// Elementwise kernels that report a match through their parameters: an element, or an index out of
// range.
#ifndef LIBTENSOR_CUDA_SEEKING_H
#define LIBTENSOR_CUDA_SEEKING_H

#include "elementwise.h"
#include "places.h"

namespace lt {
namespace {

// The arguments of a launch. The parameters of a thread that found something go
// to found. If that is 0, they are those of an index out of range, which is reported to `fault`.
struct Search {
  Loop loop;
  uint64_t found, fault;
  int64_t check, reserved;
};

// The result of an index out of range: OP::kOutside, or 0.
template <class OP, class T, class = void>
struct Outside {
  static LT_INLINE T value() { return T(); }
};
template <class OP, class T>
struct Outside<OP, T, std::enable_if_t<(OP::kOutside < 0)>> {
  static LT_INLINE T value() { return T(OP::kOutside); }
};

// FLAG is the index of the parameter that reports a match.
template <class OP, class T, int OUTPUTS, int OPERANDS, int FLAG>
LT_INLINE void seek(const Search &s, int64_t i) {
  const Loop &l = s.loop;
  char *data[OPERANDS];
  places<OUTPUTS, OPERANDS>(l, i, data);
  alignas(16) char params[64];
  for (int k = 0; k < 8; k++) ((int64_t *)params)[k] = ((const int64_t *)l.params)[k];
  int64_t strides[OPERANDS];
  alignas(16) char blocks[OPERANDS][16];
  for (int k = 0; k < OPERANDS; k++) {
    strides[k] = 1;
    if (k < OUTPUTS || l.memory[k] == l.compute[k]) continue;
    convert_value(l.memory[k], l.compute[k], data[k], blocks[k]);
    data[k] = blocks[k];
  }
  OP::template row<T>(data, strides, 1, params);
  if (*(const int64_t *)(params + FLAG) == 0) return;
  if (!s.found) {
    report_index(s.fault, s.check, ((const lt_place_params *)params)->bad);
    if constexpr (OUTPUTS == 1) *(T *)data[0] = Outside<OP, T>::value();
    return;
  }
  char *found = LT_PLACE(s.found, 64, true);
  for (int k = 0; k < 8; k++) ((int64_t *)found)[k] = ((const int64_t *)params)[k];
}

}  // namespace
}  // namespace lt

#define LT_SEEKING(NAME, OUTPUTS, OPERANDS, FLAG, OP, ...)             \
  LT_KERNEL(NAME, lt::Search) {                                        \
    for (int64_t i = LT_THREAD; i < args.loop.numel; i += LT_THREADS)  \
      lt::seek<lt::OP, __VA_ARGS__, OUTPUTS, OPERANDS, FLAG>(args, i); \
  }

#endif
