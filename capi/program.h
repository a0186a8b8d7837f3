// Exported programs: the plan of a program that engine/program has read, and its execution.
#ifndef LIBTENSOR_CAPI_PROGRAM_H
#define LIBTENSOR_CAPI_PROGRAM_H

#include "../engine/program/plan.h"
#include "call.h"
#include "handle.h"

// A dimension of an input, in the words of the plan; a length of 0 is not checked.
typedef struct lt_dim {
  const int64_t *code;
  int64_t length;
} lt_dim;

typedef struct lt_input {
  const int64_t *constant;  // the argument of the plan that the value must equal, or NULL
  int64_t value;
  int64_t dim_count;  // of a tensor
  lt_dim *dims;
} lt_input;

// A loaded program. It does not change after loading, so that threads can run it concurrently.
typedef struct lt_program {
  int64_t *words;
  char *text;
  int64_t value_count;
  const char *in_spec, *out_spec, *graph;
  // Parameters, buffers and constants; their values in a run, or -1.
  tensor_program_value *state;
  tensor_t **tensors;
  int64_t *state_values;
  int64_t state_count, tensor_count;
  int64_t symbol_count;
  const int64_t *symbols;  // a name, the least and the largest value of each
  tensor_program_value *inputs, *outputs;
  lt_input *checks;
  int64_t input_count, output_count;
  const int64_t *mutations;  // the tensors that the last results of the block are copied to
  int64_t mutation_count;
  const int64_t *block;
  const lt_family **families;  // the operators of the calls
  int64_t call_count, step_count;
  tensor_program_operator *operators;  // sorted by name
  int64_t operator_count;
  size_t scratch;                  // bytes that the lists of a step take at most
  bool writes;                     // it writes to its state: one run at a time
  const struct lt_runner *holder;  // the thread of this run
} lt_program;

// Makes a program of a plan, whose memory and tensors it owns, also after an error.
tensor_status lt_build_program(int64_t *words, char *text, tensor_t **tensors, int64_t tensor_count,
                               lt_program **out);
void lt_delete_program(void *program);
// Prepares a program of the parent for a forked child.
void lt_inherit_program(void *program);

// Waits for the run of a program that writes to its state, and locks it. Returns an error if the
// run would wait for this thread, or if the interrupt function cancels the call.
tensor_status lt_lock_program(lt_program *p);
void lt_unlock_program(lt_program *p);

// Runs a program with options of this library's size. `gradients` is set if the run is recorded.
tensor_status lt_run_program(lt_program *p, const tensor_program_options *options,
                             const tensor_value *inputs, tensor_value *outputs);

// Returns the value of an argument that does not depend on a run.
tensor_value lt_program_constant(lt_program *p, const int64_t *w);

// Reads an argument's words without evaluating it; returns what follows it.
const int64_t *lt_skip_argument(const int64_t *w);
// Reads the words of a check; returns what follows them.
const int64_t *lt_skip_check(const int64_t *w);

#endif
