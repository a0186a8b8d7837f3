// Reductions: the elements of an output, or a block of them, are a row, which some threads of a
// block share, its strands. Their totals are merged in shared memory, in pairs. If rows are split
// into blocks, a second launch merges those in the same way. All of it depends on the shape alone,
// so that results do not depend on the device.
#ifndef LIBTENSOR_CUDA_REDUCING_H
#define LIBTENSOR_CUDA_REDUCING_H

#include "batches.h"
#include "blocks.h"
#include "numbers.h"
#include "../../engine/kernel/src/reduce.h"

namespace lt {
namespace {

constexpr int kReducedDims = 16;

// The arguments of a launch. Strides are in bytes, dimension 0 the innermost.
// Where `across` is set, neighbouring outputs are nearer to each other than neighbouring elements.
struct Reduction {
  uint64_t in, out[2], totals;
  int64_t outputs, count, pieces, length;  // elements per block
  int64_t kept_sizes[kReducedDims], kept_in[kReducedDims], kept_out[2][kReducedDims];
  int64_t reduced_sizes[kReducedDims], reduced_in[kReducedDims];
  double params[2];
  int32_t kept, reduced, strands;
  uint8_t memory, compute, out_memory[2], merging, across, reserved[6];
};

template <class Index>
LT_INLINE int64_t offset_by(Index i, const int64_t *sizes, const int64_t *strides, int n) {
  int64_t at = 0;
#pragma unroll 1
  for (int d = 0; d < n; d++) {
    const Index rest = i / Index(sizes[d]);
    at += int64_t(i - rest * Index(sizes[d])) * strides[d];
    i = rest;
  }
  return at;
}
// The byte offset of element i of `numel`.
[[maybe_unused]] LT_NOINLINE int64_t offset_of(int64_t i, int64_t numel, const int64_t *sizes,
                                               const int64_t *strides, int n) {
  if (n == 1) return i * strides[0];
  if (numel < (int64_t)1 << 31) return offset_by<uint32_t>(i, sizes, strides, n);
  return offset_by<int64_t>(i, sizes, strides, n);
}

// The totals of the strands of a thread block.
template <class Total>
struct Strands {
  alignas(Total) char totals[kBlock][sizeof(Total)];
  LT_INLINE Total &operator[](int i) {
#ifdef LT_SIMULATED
    if (i < 0 || i >= kBlock) lt_sim_fault();
#endif
    return *(Total *)totals[i];
  }
};

// Merges totals of interleaved elements: if indices matter, in order of the first index.
template <class Op>
LT_INLINE void merge_strands(typename Op::Total *into, const typename Op::Total &from) {
  if constexpr (Op::ordered) {
    if (from.index >= 0 && from.index < into->index) {
      typename Op::Total first = from;
      Op::merge(&first, *into);
      *into = first;
      return;
    }
  }
  Op::merge(into, from);
}

// Number of elements that a thread loads ahead.
template <class T>
constexpr int kBatch = sizeof(T) > 4 ? 64 / sizeof(T) : 16;

// Loads n elements from i on, in turn with other strands, in any number of dimensions and of any
// dtype.
template <class T, int N>
LT_NOINLINE void find_batch(const Reduction &l, uint64_t row, int64_t i, int n, T (&x)[N]) {
  T found[N];
#pragma unroll 1
  for (int j = 0; j < n; j++, i += l.strands) {
    const char *from =
        LT_PLACE(row + offset_of(i, l.count, l.reduced_sizes, l.reduced_in, l.reduced),
                 dtype_size(l.memory), false);
    if (l.memory == l.compute)
      found[j] = *(const T *)from;
    else
      convert_value(l.memory, l.compute, from, (char *)&found[j]);
  }
#pragma unroll
  for (int j = 0; j < N; j++) x[j] = found[j];
}

// Adds up one strand of a row.
template <class Op>
LT_INLINE void add_strand(const Reduction &l, const lt_reduction &r, int64_t row, int strand,
                          typename Op::Total *total) {
  using T = typename Op::Element;
  constexpr int N = kBatch<T>;
  const int64_t o = row % l.outputs, begin = row / l.outputs * l.length;
  const int64_t end = begin + l.length < l.count ? begin + l.length : l.count;
  const uint64_t from = l.in + offset_of(o, l.outputs, l.kept_sizes, l.kept_in, l.kept);
  const int64_t step = l.strands * l.reduced_in[0];
  for (int64_t i = begin + strand; i < end; i += N * l.strands) {
    const int n = end - i > (N - 1) * l.strands ? N : (int)(end - i - 1) / l.strands + 1;
    const uint64_t at = from + i * l.reduced_in[0];
    T x[N];
    if (l.reduced == 1 &&
        (l.memory == l.compute || (std::is_same_v<T, float> && is_half(l.memory))))
      load_batch(l.memory, at, step, n, x);
    else
      find_batch(l, from, i, n, x);
    if (n == N && !Op::ordered) {
      Op::inner(x, N, i, total, &r);
      continue;
    }
    T few[N];  // in memory, where x need not be: registers have no index
#pragma unroll
    for (int j = 0; j < N; j++) few[j] = x[j];
#pragma unroll 1
    for (int j = 0; j < n; j++) Op::inner(few + j, 1, i + j * l.strands, total, &r);
  }
}

// Merges one strand of the blocks of an output.
template <class Op>
LT_INLINE void merge_pieces(const Reduction &l, int64_t o, int strand, typename Op::Total *total) {
  for (int64_t p = strand; p < l.pieces; p += l.strands)
    merge_strands<Op>(
        total, *(const typename Op::Total *)LT_PLACE(l.totals + (p * l.outputs + o) * LT_TOTAL,
                                                     sizeof(typename Op::Total), false));
}

template <class Op>
LT_INLINE void finish_output(const Reduction &l, const lt_reduction &r, typename Op::Total total,
                             int64_t o) {
  alignas(16) char results[2][16];
  void *out[2] = {results[0], results[1]};
  Op::finish(total, &r, out, 0);
  for (int k = 0; k < 2; k++) {
    if (!l.out[k]) continue;
    const uint64_t at = l.out[k] + offset_of(o, l.outputs, l.kept_sizes, l.kept_out[k], l.kept);
    convert_value(Op::results[k], l.out_memory[k], results[k],
                  LT_PLACE(at, dtype_size(l.out_memory[k]), true));
  }
}

// The rows of one block.
template <class Op>
LT_INLINE void reduce_rows(const Reduction &l, Strands<typename Op::Total> &shared, int64_t group) {
  using Total = typename Op::Total;
  const int together = kBlock / l.strands;  // rows
  const int64_t rows = l.merging ? l.outputs : l.outputs * l.pieces;
  const auto row = [&](int thread) {
    return group * together + (l.across ? thread % together : thread / l.strands);
  };
  const auto strand = [&](int thread) { return l.across ? thread / together : thread % l.strands; };
  lt_reduction r;
  r.count = l.count;
  r.params[0] = l.params[0], r.params[1] = l.params[1];
  r.base = 0;
  phase([&](int thread) {
    Total total = Op::start();
    if (row(thread) < rows) {
      if (l.merging)
        merge_pieces<Op>(l, row(thread), strand(thread), &total);
      else
        add_strand<Op>(l, r, row(thread), strand(thread), &total);
    }
    shared[thread] = total;
  });
  for (int half = l.strands / 2; half > 0; half /= 2) {
    phase([&](int thread) {
      if (strand(thread) < half)
        merge_strands<Op>(&shared[thread], shared[thread + half * (l.across ? together : 1)]);
    });
  }
  phase([&](int thread) {
    if (strand(thread) || row(thread) >= rows) return;
    if (l.merging || l.pieces == 1)
      finish_output<Op>(l, r, shared[thread], row(thread));
    else
      *(Total *)LT_PLACE(l.totals + row(thread) * LT_TOTAL, sizeof(Total), true) = shared[thread];
  });
}

}  // namespace
}  // namespace lt

// Without the bound of two blocks ptxas aims at fewer registers, and spills.
#define LT_REDUCING(NAME, ...)                                                                 \
  LT_BOUNDED_KERNEL(NAME, lt::Reduction, lt::Strands<lt::__VA_ARGS__::Total>, lt::kBlock, 2) { \
    const int64_t rows = args.merging ? args.outputs : args.outputs * args.pieces;             \
    for (int64_t i = LT_GROUP; i * (lt::kBlock / args.strands) < rows; i += LT_GROUPS)         \
      lt::reduce_rows<lt::__VA_ARGS__>(args, shared, i);                                       \
  }

#endif
