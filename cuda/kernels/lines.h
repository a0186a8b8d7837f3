// Selection in lines: one thread per line, with separate scratch memory, by the functors of the CPU
// kernels, so that ties are resolved in the same way.
#ifndef LIBTENSOR_CUDA_LINES_H
#define LIBTENSOR_CUDA_LINES_H

#include "lanes.h"

namespace lt {
namespace {

// The arguments of a launch. Lines of n elements, their results and scratch memory
// are contiguous.
struct Lines {
  uint64_t in, out[2], scratch;
  int64_t lines, n, kept, scratch_bytes;
  int64_t params[2];
};

template <class OP, class T>
LT_INLINE void run_line(const Lines &l, int64_t i) {
  lt_scan s;
  s.in = (uintptr_t)LT_PLACE(l.in + i * l.n * sizeof(T), l.n * sizeof(T), false);
  s.out[0] = (uintptr_t)LT_PLACE(l.out[0] + i * l.kept * sizeof(T), l.kept * sizeof(T), true);
  s.out[1] = (uintptr_t)LT_PLACE(l.out[1] + i * l.kept * 8, l.kept * 8, true);
  s.scratch = (uintptr_t)LT_PLACE(l.scratch + i * l.scratch_bytes, l.scratch_bytes, true);
  s.outer = 1, s.n = l.n, s.inner = 1, s.width = 1;
  s.params[0] = l.params[0], s.params[1] = l.params[1];
  OP::template row<T>(&s);
}

}  // namespace
}  // namespace lt

#define LT_LINE(NAME, OP, ...)                                   \
  LT_KERNEL(NAME, lt::Lines) {                                   \
    for (int64_t i = LT_THREAD; i < args.lines; i += LT_THREADS) \
      lt::run_line<lt::OP, __VA_ARGS__>(args, i);                \
  }

#endif
