// Walks a reduction's input and hands contiguous blocks of the compute dtype to the operator.
#ifndef LIBTENSOR_KERNEL_REDUCE_DRIVER_H
#define LIBTENSOR_KERNEL_REDUCE_DRIVER_H

#include "casts.h"
#include "reduce.h"

namespace lt {
namespace {

constexpr int64_t kColumns = 512;  // outputs whose totals are kept at a time
constexpr int64_t kGather = 4096;  // elements converted or gathered at a time
constexpr int64_t kFold = 8;       // least number of short rows that are reduced as one

// Calls body(offset) for every position in dimensions from..n-1.
template <class F>
LT_INLINE void odometer(const int64_t *sizes, const int64_t *strides, int from, int n, F body) {
  int64_t index[LT_DIMS];
  for (int d = from; d < n; d++) {
    if (sizes[d] == 0) return;
    index[d] = 0;
  }
  int64_t at = 0;
  for (;;) {
    body(at);
    int d = from;
    for (; d < n; d++) {
      if (++index[d] < sizes[d]) {
        at += strides[d];
        break;
      }
      at -= (sizes[d] - 1) * strides[d];
      index[d] = 0;
    }
    if (d >= n) return;
  }
}

// Everything that stays the same over one call.
struct Walk {
  const lt_reduction *r;
  const Reducer *op;
  CastRow cast;
  int64_t memory_size, size;  // of an element in memory and in the compute dtype
  bool convert;
  alignas(64) char block[kGather * 16];

  // Reduces the elements that start at x into one total.
  void row(const char *x, void *total) {
    odometer(r->reduced_sizes, r->reduced_in, 1, r->reduced, [&](int64_t at) {
      const int64_t n = r->reduced_sizes[0], stride = r->reduced_in[0];
      if (!convert && (stride == size || n == 1)) {
        op->inner(x + at, n, r->base, total, r);
        return;
      }
      for (int64_t i = 0; i < n; i += kGather) {
        int64_t m = n - i < kGather ? n - i : kGather;
        cast(x + at + i * stride, stride, block, size, m);
        op->inner(block, m, r->base + i, total, r);
      }
    });
  }

  // Adds n rows of m adjacent elements to m totals. Short contiguous rows are reduced as fewer
  // longer ones, whose totals are merged.
  void together(const char *x, int64_t n, int64_t stride, int64_t m, int64_t base, char *totals) {
    const int64_t wide = kColumns / r->columns / kFold * kFold, k = wide ? n / wide : 0;
    if (op->ordered || k < 4 || stride != m * size) {
      op->outer(x, n, stride, m, base, totals, r);
      return;
    }
    alignas(64) char parts[kColumns * LT_TOTAL];
    op->start(parts, m * wide);
    op->outer(x, k, wide * m * size, m * wide, base, parts, r);
    for (int64_t i = 0; i < wide; i++) op->merge(totals, parts + i * m * op->total_size, m);
    op->outer(x + k * wide * m * size, n - k * wide, m * size, m, base, totals, r);
  }

  // Reduces m adjacent outputs of kept dimension 0 into as many totals.
  void rows(const char *x, int64_t m, char *totals) {
    const int64_t step = r->kept_in[0];
    odometer(r->reduced_sizes, r->reduced_in, 1, r->reduced, [&](int64_t at) {
      const int64_t n = r->reduced_sizes[0], stride = r->reduced_in[0];
      if (!convert && (step == size || r->columns == 1)) {
        together(x + at, n, stride, m, r->base, totals);
        return;
      }
      const int64_t fit = kGather / (r->columns < kColumns ? r->columns : kColumns);
      for (int64_t i = 0; i < n; i += fit) {
        int64_t k = n - i < fit ? n - i : fit;
        const char *from = x + at + i * stride;
        if (step == memory_size && stride == m * memory_size) {
          cast(from, step, block, size, k * m);
        } else {
          for (int64_t j = 0; j < k; j++)
            cast(from + j * stride, step, block + j * m * size, size, m);
        }
        together(block, k, m * size, m, r->base + i, totals);
      }
    });
  }
};

// Writes the results of m totals, the first of which is output `first` of kept dimension 0.
void finish_tile(const lt_reduction *r, const Reducer *op, const char *totals, int64_t m,
                 const int64_t *offset) {
  alignas(64) char results[2][kColumns * 16];
  void *out[2] = {results[0], results[1]};
  op->finish(totals, m, r, out);
  for (int k = 0; k < 2; k++) {
    if (!r->out[k]) continue;
    LT_FIND_CAST(op->result[k], r->out_memory[k])(results[k], dtype_size(op->result[k]),
                                                  (char *)r->out[k] + offset[k],
                                                  r->kept ? r->kept_out[k][0] : 0, m);
  }
}

void run_reduction(const lt_reduction *r) {
  const Reducer *op = (const Reducer *)r->op;
  Walk w;
  w.r = r;
  w.op = op;
  w.cast = LT_FIND_CAST(r->memory, r->compute);
  w.memory_size = dtype_size(r->memory);
  w.size = dtype_size(r->compute);
  w.convert = r->memory != r->compute;
  alignas(64) char tile[kColumns * LT_TOTAL];
  const int64_t width = r->kept ? r->kept_sizes[0] : 1, step = r->kept ? r->kept_in[0] : 0;
  int64_t index[LT_DIMS] = {0}, in = 0, out[2] = {0, 0}, done = 0, outputs = 1;
  for (int d = 0; d < r->kept; d++) {
    outputs *= r->kept_sizes[d];
    index[d] = 0;
  }
  if (outputs == 0) return;
  for (;;) {
    for (int64_t j = 0; j < width; j += kColumns) {
      const int64_t m = width - j < kColumns ? width - j : kColumns;
      char *totals = r->totals && !r->pieces ? (char *)r->totals + done * op->total_size : tile;
      op->start(totals, m);
      if (r->pieces) {
        for (int64_t p = 0; p < r->pieces; p++)
          op->merge(totals,
                    (const char *)r->totals + (p * outputs * LT_TOTAL) + done * op->total_size, m);
      } else if (r->columns) {
        w.rows((const char *)r->in + in + j * step, m, totals);
      } else {
        for (int64_t i = 0; i < m; i++)
          w.row((const char *)r->in + in + (j + i) * step, totals + i * op->total_size);
      }
      done += m;
      if (totals != tile) continue;
      const int64_t at[2] = {out[0] + (r->kept ? j * r->kept_out[0][0] : 0),
                             out[1] + (r->kept ? j * r->kept_out[1][0] : 0)};
      finish_tile(r, op, totals, m, at);
    }
    int d = 1;
    for (; d < r->kept; d++) {
      if (++index[d] < r->kept_sizes[d]) {
        in += r->kept_in[d];
        for (int k = 0; k < 2; k++) out[k] += r->kept_out[k][d];
        break;
      }
      in -= (r->kept_sizes[d] - 1) * r->kept_in[d];
      for (int k = 0; k < 2; k++) out[k] -= (r->kept_sizes[d] - 1) * r->kept_out[k][d];
      index[d] = 0;
    }
    if (d >= r->kept) return;
  }
}

}  // namespace
}  // namespace lt
#endif
