// The time of each operator in runs of a program.
#ifndef LIBTENSOR_RUN_OPERATOR_TIMES_H
#define LIBTENSOR_RUN_OPERATOR_TIMES_H

#include <stdbool.h>
#include <stdint.h>
#include <tensor.h>

// Collects the operator calls of one thread, by name.
typedef struct operator_times {
  struct operator_time *items;
  int32_t count, capacity, depth;
  bool is_full;  // there was no memory for a name
} operator_times;

// An observer (tensor_set_observer), whose context is the operator_times. Operators that a custom
// operator calls are part of that operator.
void add_operator_time(void *context, const tensor_event *event);

// Prints a table of the operators, the slowest first, with the calls and the time of one run out of
// `runs`, which took `milliseconds` together; then frees the table.
void print_operator_times(operator_times *times, int32_t runs, double milliseconds);

#endif
