// Reductions: each thread adds up one piece of the elements of one output, and where there are
// several pieces a second launch merges them. Pieces depend on the shape alone, so that results do
// not depend on the device.
#ifndef LIBTENSOR_CUDA_REDUCING_H
#define LIBTENSOR_CUDA_REDUCING_H

#include "numbers.h"
#include "../../engine/kernel/src/reduce.h"

namespace lt {
namespace {

constexpr int kReducedDims = 16;

// One launch; reduction of reduce.go mirrors it. Strides are in bytes, dimension 0 the innermost.
struct Reduction {
  uint64_t in, out[2], totals;
  int64_t outputs, count, pieces;
  int64_t kept_sizes[kReducedDims], kept_in[kReducedDims], kept_out[2][kReducedDims];
  int64_t reduced_sizes[kReducedDims], reduced_in[kReducedDims];
  double params[2];
  int32_t kept, reduced;
  uint8_t memory, compute, out_memory[2], merging, reserved[3];
};

LT_INLINE int64_t offset_of(int64_t i, const int64_t *sizes, const int64_t *strides, int n) {
  int64_t at = 0;
#pragma unroll 1
  for (int d = 0; d < n; d++) {
    const int64_t rest = i / sizes[d];
    at += (i - rest * sizes[d]) * strides[d];
    i = rest;
  }
  return at;
}

template <class Op>
LT_INLINE void finish_output(const Reduction &l, const lt_reduction *r, typename Op::Total total,
                             int64_t o) {
  alignas(16) char results[2][16];
  void *out[2] = {results[0], results[1]};
  Op::finish(total, r, out, 0);
  for (int k = 0; k < 2; k++) {
    if (!l.out[k]) continue;
    const uint64_t at = l.out[k] + offset_of(o, l.kept_sizes, l.kept_out[k], l.kept);
    convert_value(Op::results[k], l.out_memory[k], results[k],
                  LT_PLACE(at, dtype_size(l.out_memory[k]), true));
  }
}

template <class Op>
LT_INLINE void reduce_piece(const Reduction &l, int64_t thread) {
  using T = typename Op::Element;
  lt_reduction r;
  r.count = l.count;
  r.params[0] = l.params[0], r.params[1] = l.params[1];
  r.base = 0;
  const int64_t o = thread / l.pieces, p = thread % l.pieces;
  const int64_t length = (l.count + l.pieces - 1) / l.pieces, end = (p + 1) * length;
  const uint64_t row = l.in + offset_of(o, l.kept_sizes, l.kept_in, l.kept);
  typename Op::Total total = Op::start();
  for (int64_t i = p * length; i < end && i < l.count; i++) {
    const char *from = LT_PLACE(row + offset_of(i, l.reduced_sizes, l.reduced_in, l.reduced),
                                dtype_size(l.memory), false);
    T x;
    if (l.memory == l.compute)
      x = *(const T *)from;
    else
      convert_value(l.memory, l.compute, from, (char *)&x);
    Op::inner(&x, 1, i, &total, &r);
  }
  if (l.pieces == 1)
    finish_output<Op>(l, &r, total, o);
  else
    *(typename Op::Total *)LT_PLACE(l.totals + thread * LT_TOTAL, sizeof total, true) = total;
}

template <class Op>
LT_INLINE void merge_pieces(const Reduction &l, int64_t o) {
  using Total = typename Op::Total;
  lt_reduction r;
  r.count = l.count;
  r.params[0] = l.params[0], r.params[1] = l.params[1];
  Total total = Op::start();
  for (int64_t p = 0; p < l.pieces; p++)
    Op::merge(&total, *(const Total *)LT_PLACE(l.totals + (o * l.pieces + p) * LT_TOTAL,
                                               sizeof(Total), false));
  finish_output<Op>(l, &r, total, o);
}

}  // namespace
}  // namespace lt

#define LT_REDUCING(NAME, ...)                                         \
  LT_KERNEL(NAME, lt::Reduction) {                                     \
    const int64_t n = args.outputs * (args.merging ? 1 : args.pieces); \
    for (int64_t i = LT_THREAD; i < n; i += LT_THREADS)                \
      if (args.merging)                                                \
        lt::merge_pieces<lt::__VA_ARGS__>(args, i);                    \
      else                                                             \
        lt::reduce_piece<lt::__VA_ARGS__>(args, i);                    \
  }

#endif
