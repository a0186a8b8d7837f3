// What Go and the kernel of alignments agree on.
#ifndef LIBTENSOR_KERNEL_ALIGNMENT_H
#define LIBTENSOR_KERNEL_ALIGNMENT_H

#include "abi.h"

enum { LT_ALIGNMENT_ROOM = 16 };  // numbers beyond the states that each part of the room has

// The ways along `steps` steps of an example through the states of a sequence of `count` labels,
// with a blank before each of them and behind the last. Rows of logs, of the kernel's dtype, have
// an element for each of `classes`, and are `step` elements apart; those of forward, of float64,
// have `width` elements.
//
// Without a gradient forward becomes the logarithms of the sums of the ways up to each step and
// state, and loss the negative one of all ways. With one, whose rows lie as those of logs do, both
// are read, and it becomes given times the gradient. Room has four parts of width and
// LT_ALIGNMENT_ROOM float64 numbers each, and then one for each class.
typedef struct {
  uintptr_t logs, labels, forward, gradient, room;
  int64_t steps, step, classes, count, blank, width;
  double loss, given;
} lt_alignment;

#endif
