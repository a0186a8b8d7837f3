// Elementwise kernels that report a match through their parameters: an element, or an index out of
// range.
#ifndef LIBTENSOR_CUDA_SEEKING_H
#define LIBTENSOR_CUDA_SEEKING_H

#include "elementwise.h"
#include "places.h"

namespace lt {
namespace {

// One launch; search of indexing.go mirrors it. The parameters of a thread that found something go to
// found.
struct Search {
  Loop loop;
  uint64_t found;
  int64_t reserved;
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
