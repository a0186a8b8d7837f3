// The interface of Go and the recurrence kernels.
#ifndef LIBTENSOR_KERNEL_RECURRENCE_H
#define LIBTENSOR_KERNEL_RECURRENCE_H

#include "abi.h"

// The types of cells; a backward step has the same type, and LT_CARRY is the backward step to the
// initial state.
enum { LT_TANH, LT_RELU, LT_LSTM, LT_GRU, LT_CARRY };

// A step for the rows of some sequences. Rows of `from`, with stride `from_row`, are multiplied by
// `weight`: packed panels of `vectors` vectors for each of `depth` elements; without it sums are
// read from `sums`, a row for each, or are 0. Packed panels have a vector of the same units for
// each gate, or, if all elements belong to one gate, adjacent units. A call computes the packed
// panels from begin to end. Every other operand has rows of `units` elements for each gate.
// Forward: x and bias are added to the sums, h and c are the previous states, and hidden and cell
// the next ones; gates, and a GRU's cell, are saved for the backward pass unless gates is 0.
// Backward: sums, carry and given are the gradient of hidden, own_cell that of cell; they determine
// the gradients of the gates' sums.
typedef struct {
  uintptr_t from, weight, sums;
  int64_t from_row, rows, depth, vectors, units, begin, end;
  uintptr_t x, bias, h, c, gates, cell, hidden;
  uintptr_t given, carry, carry_cell, slopes;
  int32_t kind, backward;
} lt_recurrence;

// Packs depth elements from element `first` of all packed panels on, which have `whole` of them.
// `step` is the stride of matrix elements, `unit` that of units, and `gate` that of gates, or 0 if
// all elements belong to one gate. A call without `packed` returns the number of vector lanes.
typedef struct {
  uintptr_t matrix, packed;
  int64_t lanes, first, depth, whole, step, unit, gate, vectors, units, begin, end;
} lt_recurrence_packing;

#endif
