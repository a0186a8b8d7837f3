// What Go and the kernels of recurrences agree on.
#ifndef LIBTENSOR_KERNEL_RECURRENCE_H
#define LIBTENSOR_KERNEL_RECURRENCE_H

#include "abi.h"

// The kinds of cells; what goes back through one is that of its kind, and LT_CARRY what goes back
// to the state before all steps.
enum { LT_TANH, LT_RELU, LT_LSTM, LT_GRU, LT_CARRY };

// A step of the rows of some sequences. Rows of `from`, `from_row` elements apart, are multiplied
// by `weight`: panels of `vectors` vectors for each of `depth` elements; without it sums come from
// `sums`, a row for each, or are 0. Panels have a vector of the same units for each gate, or, where
// all elements are one gate's, adjacent units. A call makes the panels from begin to end. Every
// other operand has rows of `units` elements for each gate.
//
// Forward: x and bias are added to the sums, h and c are the states before, to which hidden and
// cell come after; gates are kept for the way back. Backward: sums, carry and given are what comes
// back to hidden, own_cell to cell; they make the gradients of the gates' sums.
typedef struct {
  uintptr_t from, weight, sums;
  int64_t from_row, rows, depth, vectors, units, begin, end;
  uintptr_t x, bias, h, c, gates, cell, hidden;
  uintptr_t given, carry, carry_cell, slopes;
  int32_t kind, backward;
} lt_recurrence;

// Packs depth elements from element `first` of all panels on, which have `whole` of them. An
// element of the matrix is `step` behind that before it, and `unit` behind that of the unit before;
// gates are `gate` apart, or, where that is 0, all are one's. A call without `packed` finds how
// many lanes vectors have.
typedef struct {
  uintptr_t matrix, packed;
  int64_t lanes, first, depth, whole, step, unit, gate, vectors, units, begin, end;
} lt_recurrence_packing;

#endif
