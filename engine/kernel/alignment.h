// The interface of Go and the kernel of alignments.
#ifndef LIBTENSOR_KERNEL_ALIGNMENT_H
#define LIBTENSOR_KERNEL_ALIGNMENT_H

#include "abi.h"

enum { LT_ALIGNMENT_ROOM = 16 };  // scratch elements per part in addition to the states

// The alignments of `steps` time steps of a batch element to the states of a sequence of `count`
// labels, with a blank before each of them and after the last. Rows of logs, of the kernel's dtype,
// have an element for each of `classes`, and a stride of `step` elements; those of forward, of
// float64, have `width` elements.
// Without a gradient the call writes to forward the logarithms of the sums over all alignments up
// to each step and state, and to loss the negative one of all alignments. With gradient, whose rows
// are laid out like those of logs, it reads both, and writes given times the gradient. Room has
// four parts of width + LT_ALIGNMENT_ROOM float64 elements each, and one element for each class.
typedef struct {
  uintptr_t logs, labels, forward, gradient, room;
  int64_t steps, step, classes, count, blank, width;
  double loss, given;
} lt_label_alignment;

#endif
