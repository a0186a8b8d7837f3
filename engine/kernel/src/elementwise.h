// Drives rows over strided operands: direct where every operand already has the row's dtype,
// through small blocks on the stack where some must be converted or streamed, in tiles where
// operands disagree on which dimension is fast.
#ifndef LIBTENSOR_KERNEL_ELEMENTWISE_H
#define LIBTENSOR_KERNEL_ELEMENTWISE_H

#include "conversions.h"
#include "short_rows.h"
#include "stream.h"
#include "transpose.h"

namespace lt {
namespace {

constexpr int64_t kBlock = 512;                // elements converted at a time
constexpr int64_t kTile = 64, kTileRows = 16;  // elements of a tile along dimensions 0 and 1

struct Cursor {
  char *data[LT_OPERANDS];
};

// Walks dimensions from..ndim-1 of the loop and calls body(cursor) at every position.
template <class F>
LT_INLINE void walk(const lt_loop *l, int from, Cursor at, F body) {
  int64_t index[LT_DIMS];
  for (int d = from; d < l->ndim; d++) {
    if (l->sizes[d] == 0) return;
    index[d] = 0;
  }
  for (;;) {
    body(at);
    int d = from;
    for (; d < l->ndim; d++) {
      if (++index[d] < l->sizes[d]) {
        for (int k = 0; k < l->operands; k++) at.data[k] += l->strides[k][d];
        break;
      }
      for (int k = 0; k < l->operands; k++) at.data[k] -= (l->sizes[d] - 1) * l->strides[k][d];
      index[d] = 0;
    }
    if (d == l->ndim) return;
  }
}

// Operands disagree when one moves along a cache line in dimension 0 and another in dimension 1.
LT_INLINE bool wants_tiles(const lt_loop *l) {
  if (l->ndim < 2 || l->sizes[0] < kTile || l->sizes[1] < kTileRows) return false;
  for (int k = 0; k < l->operands; k++)
    if (l->strides[k][1] != 0 && l->strides[k][0] >= 64 && l->strides[k][1] <= 16) return true;
  return false;
}

// An input that is dense only along dimension 1 is transposed tile by tile, so that rows read
// contiguous memory, unless it must be passed in place.
struct Turned {
  TurnPlane turn[LT_OPERANDS];
  alignas(64) char tile[LT_OPERANDS][kTile * kTileRows * 8];

  // Finds such inputs, and changes their steps along dimension 0 to those in the tile.
  LT_INLINE void find(const lt_loop *l, int64_t *strides) {
    for (int k = 0; k < l->operands; k++) {
      const int64_t size = dtype_size(l->memory[k]);
      const bool dense = l->strides[k][1] == size && l->strides[k][0] >= 64;
      turn[k] = k >= l->outputs && dense && !(l->fixed >> k & 1) ? find_turn(size) : nullptr;
      if (turn[k]) strides[k] = size;
    }
  }
};

// Calls row(cursor, n) over all rows of dimension 0, tiled where that helps. The steps along
// dimension 0 are those in strides, which may change before the first call.
template <class F>
LT_INLINE void for_rows(const lt_loop *l, Cursor start, int64_t *strides, F row) {
  if (!wants_tiles(l)) {
    if (l->sizes[0] > 0) walk(l, 1, start, [&](const Cursor &at) { row(at, l->sizes[0]); });
    return;
  }
  Turned turned;
  turned.find(l, strides);
  walk(l, 2, start, [&](const Cursor &plane) {
    for (int64_t j = 0; j < l->sizes[1]; j += kTileRows) {
      const int64_t rows = l->sizes[1] - j < kTileRows ? l->sizes[1] - j : kTileRows;
      for (int64_t i = 0; i < l->sizes[0]; i += kTile) {
        const int64_t n = l->sizes[0] - i < kTile ? l->sizes[0] - i : kTile;
        Cursor at;
        int64_t next[LT_OPERANDS];
        for (int k = 0; k < l->operands; k++) {
          at.data[k] = plane.data[k] + i * l->strides[k][0] + j * l->strides[k][1];
          next[k] = l->strides[k][1];
          if (!turned.turn[k]) continue;
          next[k] = kTile * strides[k];
          turned.turn[k](turned.tile[k], next[k], at.data[k], l->strides[k][0], n, rows);
          at.data[k] = turned.tile[k];
        }
        for (int64_t r = 0; r < rows; r++) {
          row(at, n);
          for (int k = 0; k < l->operands; k++) at.data[k] += next[k];
        }
      }
    }
  });
}

// An output in long rows that are dense along dimension 0.
LT_INLINE bool can_stream(const lt_loop *l, int output) {
  return l->stream && !wants_tiles(l) && l->sizes[0] >= kBlock &&
         l->strides[output][0] == dtype_size(l->memory[output]);
}

void run_elementwise(const lt_loop *l) {
  const lt_row row = (lt_row)l->row;
  Cursor start;
  int64_t strides[LT_OPERANDS];
  bool convert = false;
  alignas(64) char numbers[LT_OPERANDS][16];
  CastRow casts[LT_OPERANDS] = {};
  for (int k = 0; k < l->operands; k++) {
    start.data[k] = (char *)l->data[k];
    strides[k] = l->strides[k][0];
    if (l->memory[k] == l->compute[k]) {
      if (k < l->outputs && can_stream(l, k)) casts[k] = find_stream(strides[k]);
      convert = convert || casts[k];
      continue;
    }
    bool single = k >= l->outputs;
    for (int d = 0; d < l->ndim; d++) single = single && l->strides[k][d] == 0;
    if (single) {  // one value for all elements is converted once
      find_cast(l->memory[k], l->compute[k])(start.data[k], 0, numbers[k], 16, 1);
      start.data[k] = numbers[k];
      continue;
    }
    convert = true;
    casts[k] = k < l->outputs ? find_cast(l->compute[k], l->memory[k])
                              : find_cast(l->memory[k], l->compute[k]);
  }
  if (!convert) {
    for_rows(l, start, strides,
             [&](const Cursor &at, int64_t n) { row(at.data, strides, n, l->params); });
    return;
  }
  alignas(64) char blocks[LT_OPERANDS][kBlock * 16];
  int64_t block_strides[LT_OPERANDS];
  for_rows(l, start, strides, [&](const Cursor &at, int64_t n) {
    for (int k = 0; k < l->operands; k++)
      block_strides[k] = casts[k] ? dtype_size(l->compute[k]) : strides[k];
    for (int64_t i = 0; i < n; i += kBlock) {
      int64_t m = n - i < kBlock ? n - i : kBlock;
      char *data[LT_OPERANDS];
      for (int k = 0; k < l->operands; k++) {
        data[k] = at.data[k] + i * strides[k];
        if (!casts[k]) continue;
        if (k >= l->outputs) casts[k](data[k], strides[k], blocks[k], block_strides[k], m);
        data[k] = blocks[k];
      }
      row(data, block_strides, m, l->params);
      for (int k = 0; k < l->outputs; k++)
        if (casts[k])
          casts[k](blocks[k], block_strides[k], at.data[k] + i * strides[k], strides[k], m);
    }
  });
  finish_streams();
}

// The dimension along which src is dense while dst is dense along dimension 0; 0 for none.
LT_INLINE int turned_dimension(const lt_loop *l, int64_t size) {
  if (l->memory[0] != l->memory[1] || l->strides[0][0] != size || l->strides[1][0] == size ||
      l->sizes[0] < 8)
    return 0;
  for (int d = 1; d < l->ndim; d++)
    if (l->strides[1][d] == size && l->sizes[d] >= 8) return d;
  return 0;
}

void run_copy(const lt_loop *l) {
  Cursor start;
  start.data[0] = (char *)l->data[0];
  start.data[1] = (char *)l->data[1];
  const int64_t size = dtype_size(l->memory[0]);
  const TurnPlane turn = find_turn(size);
  const int fast = turn ? turned_dimension(l, size) : 0;
  if (fast) {
    lt_loop outer;
    outer.operands = 2, outer.ndim = l->ndim;
    for (int d = 2; d < l->ndim; d++) {
      const int from = d == fast ? 1 : d;  // dimension 1 takes the place of the fast one
      outer.sizes[d] = l->sizes[from];
      for (int k = 0; k < 2; k++) outer.strides[k][d] = l->strides[k][from];
    }
    walk(&outer, 2, start, [&](const Cursor &at) {
      turn(at.data[0], l->strides[0][fast], at.data[1], l->strides[1][0], l->sizes[0],
           l->sizes[fast]);
    });
    return;
  }
  if (l->ndim > 1 && l->memory[0] == l->memory[1] && l->strides[0][0] == size &&
      l->strides[1][0] == size) {
    const int64_t n = l->sizes[0] * size;
    if (const CopyRows rows = find_copy_rows(n)) {
      walk(l, 2, start, [&](const Cursor &at) {
        rows(at.data[0], l->strides[0][1], at.data[1], l->strides[1][1], n, l->sizes[1]);
      });
      return;
    }
  }
  const CastRow cast = find_cast(l->memory[1], l->memory[0]);
  int64_t strides[2] = {l->strides[0][0], l->strides[1][0]};
  for_rows(l, start, strides, [&](const Cursor &at, int64_t n) {
    cast(at.data[1], strides[1], at.data[0], strides[0], n);
  });
}

}  // namespace
}  // namespace lt
#endif
