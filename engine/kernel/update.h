// The interface of Go and the kernel "update", which updates a parameter by its gradient.
#ifndef LIBTENSOR_KERNEL_UPDATE_H
#define LIBTENSOR_KERNEL_UPDATE_H

#include <stdint.h>

enum { LT_SGD, LT_ADAM, LT_ADAMW, LT_ADAGRAD };

// n elements of a parameter, its gradient and up to three states, all of one dtype; 0 for unused
// ones. SGD has the velocity, Adam the means of gradients and of their squares and the largest of
// these, Adagrad the sum of squares.
typedef struct {
  int32_t kind, maximize;
  int32_t nesterov, first;  // of SGD; in the first step the velocity is the gradient
  uintptr_t tensors[5];
  int64_t n;
  double scale;  // gradients are multiplied by it, in memory too
  double decay;  // of the parameter, which is added to the gradient
  double decoupled, step, beta1, beta2, eps;
  double rate;  // the part of the gradient in the velocity
  double root;  // of the bias correction of squares
} lt_parameter_update;

#endif
