// A run of an exported program.
#ifndef LIBTENSOR_CAPI_PROGRAM_RUN_H
#define LIBTENSOR_CAPI_PROGRAM_RUN_H

#include "program.h"

// A run: the values of the plan, of which it frees those that it owns.
typedef struct run {
  lt_program *p;
  tensor_value *values;
  bool *owned;
  char *scratch;  // the lists of the present step
  tensor_t **state;
  int64_t *symbols;  // the values of symbolic sizes
  bool *bound;       // whether they have one
  bool gradients;    // it is recorded on the autograd graph
  bool hidden;       // an observer makes the run, whose operators are not observed
  lt_problem problem;
} run;

// Set the error of the run, which names the step, unless it has one, and return NULL: an error of
// the program or its inputs, the last error of the thread, with its status, and missing memory.
__attribute__((format(printf, 3, 4))) void *lt_fail_step(run *r, const char *step,
                                                         const char *format, ...);
void *lt_fail_call(run *r, const char *step, tensor_status status);
void *lt_fail_memory(run *r, const char *step);

// Evaluates an argument. Returns the next word of the plan. Lists are in the plan, or in scratch
// memory.
const int64_t *lt_evaluate(run *r, const int64_t *w, tensor_value *to, char **scratch);
// Frees a value that the run owns.
void lt_release(run *r, int64_t n);
// Stores a value that the run owns.
void lt_store(run *r, int64_t n, tensor_value value);
// Reads a number, or the element of a tensor that has one.
bool lt_read_item(run *r, const char *step, const tensor_value *v, tensor_value *to);
// Runs a step of arithmetic on numbers. Returns the next word of the plan; NULL after an error.
const int64_t *lt_run_numbers(run *r, const int64_t *w, const char *step);

// Writes a shape to `to`: "[2, 3]". Cuts it off if there is no room.
void lt_show_shape(const int64_t *sizes, int64_t n, char *to, size_t room);
// Checks input i, and stores it as a value of the run. The first size that a symbol describes
// becomes its value.
bool lt_check_input(run *r, int64_t i, const tensor_value *v);
// Checks the sizes of an input that are expressions of symbols, which later inputs may have set.
bool lt_check_expressions(run *r, int64_t i, const tensor_value *v);
// Compares a result of a custom operator with the dtype and the sizes that the program has for it.
// Returns what follows the words of the check; NULL with an error of the run if they differ.
const int64_t *lt_check_result(run *r, const int64_t *w, const char *step);

// Adds tensors of the run that require grad to the autograd graph of the results of cond, with
// gradients of 0: those that the graph uses which was not run. Sets the error of the run if it
// fails.
void lt_connect_untaken(run *r, const char *step, const int64_t *used, int64_t used_count,
                        tensor_value *results, int64_t count);

// Copies a tensor with its strides and its storage offset.
tensor_status lt_clone_storage(const tensor_t *t, tensor_t **out);
// Replaces the arguments of a call that a target writes to by copies, and stores the copies.
// The caller frees the `count` copies, also if it fails, which sets the error of the run.
bool lt_copy_written(run *r, const char *step, const lt_target *t, tensor_value *values,
                     const char *const *keywords, int64_t n, tensor_value *copies, int32_t *count);

// Chooses the tensors of the state. A run that records gradients writes to another handle of a
// tensor of the program, so that no autograd graph of a run is kept by the program.
bool lt_take_state(run *r, const tensor_program_options *options);
// Frees the handles that lt_take_state made.
void lt_free_state(run *r, const tensor_program_options *options);

#endif
