// Execution of exported programs.
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "functions.h"
#include "interrupt.h"
#include "observer.h"
#include "program_numbers.h"
#include "program_run.h"

static const int64_t *run_block(run *r, const int64_t *w);

// Stores a value that the run owns, or frees it if the plan has no use for it.
static void give(run *r, int64_t n, tensor_value *value) {
  if (n >= 0)
    lt_store(r, n, *value);
  else
    tensor_value_free(value);
}

// ------------------------------------------------------------------------------------- arguments

tensor_value lt_program_constant(lt_program *p, const int64_t *w) {
  run r = {.p = p};
  tensor_value v;
  char *scratch = NULL;  // only lists use it
  lt_evaluate(&r, w, &v, &scratch);
  return v;
}

// Stores a value that outlives the run: another handle of a tensor, a copy of a string, or a
// number. Lists are errors: their memory belongs to the run.
static bool duplicate(run *r, const char *step, const tensor_value *from, tensor_value *to) {
  *to = *from;
  if (from->kind >= TENSOR_VALUE_TENSORS && from->kind != TENSOR_VALUE_UINT) {
    *to = (tensor_value){.kind = TENSOR_VALUE_NONE};
    lt_fail_step(r, step, "a list is an output, but outputs are tensors, numbers and strings");
    return false;
  }
  if (from->kind == TENSOR_VALUE_STRING) {
    if ((to->as.string = strdup(from->as.string))) return true;
    lt_fail_memory(r, step);
    return false;
  }
  if (from->kind != TENSOR_VALUE_TENSOR) return true;
  const tensor_status status =
      r->gradients ? tensor_to_options(from->as.tensor, TENSOR_DTYPE_NONE, TENSOR_LAYOUT_NONE,
                                       tensor_device_default(), false, false, TENSOR_FORMAT_NONE,
                                       &to->as.tensor)
                   : tensor_detach(from->as.tensor, &to->as.tensor);
  if (status == TENSOR_OK) return true;
  lt_fail_call(r, step, status);
  return false;
}

// ----------------------------------------------------------------------------------------- calls

static void free_values(tensor_value *values, int32_t count) {
  for (int32_t i = 0; i < count; i++)
    if (values[i].kind != TENSOR_VALUE_NONE) tensor_value_free(values + i);
}

// Stores the results of a call as values of the run. Returns the next word of the plan.
static const int64_t *store_results(run *r, const int64_t *w, const char *step,
                                    const lt_family *family, tensor_value *results, int32_t count) {
  int64_t n = *w++;
  for (int64_t i = 0; i < n; i++) {
    const int64_t kind = *w++;
    tensor_value *v = i < count ? results + i : NULL;
    if (kind == LT_ARG_VALUE) {
      if (!v || v->kind == TENSOR_VALUE_TENSORS)
        lt_fail_step(r, step, "%s returns %d results; the program expects %" PRId64, family->name,
                     count, n);
      else if (*w >= 0)
        lt_store(r, *w, *v), *v = (tensor_value){.kind = TENSOR_VALUE_NONE};
      w++;
    } else if (kind == LT_ARG_TENSORS) {
      const int64_t length = *w++;
      if (!v || v->kind != TENSOR_VALUE_TENSORS || v->length != length) {
        lt_fail_step(r, step, "%s returns %" PRId64 " tensors; the program expects %" PRId64,
                     family->name, v && v->kind == TENSOR_VALUE_TENSORS ? v->length : 0, length);
      } else {
        tensor_t **list = (tensor_t **)v->as.tensors;
        for (int64_t k = 0; k < length; k++)
          if (w[k] >= 0 && list[k]) {
            lt_store(r, w[k], (tensor_value){.kind = TENSOR_VALUE_TENSOR, .as.tensor = list[k]});
            list[k] = NULL;
          }
      }
      w += length;
    }
  }
  free_values(results, count);
  return w;
}

// Stores the arguments that an operator has written to as its results. Operators that write to
// lists (_foreach_add_) have no results.
static int32_t take_written(run *r, const char *step, const lt_bound *b, tensor_value *results) {
  const lt_target *t = b->target;
  int32_t count = 0;
  for (int i = 0; i < t->count && count < LT_MOST_RESULTS; i++) {
    const lt_formal *f = t->formals + i;
    if (!f->is_written || f->kind == 'A' || f->to < 0 || !b->a[(int)f->to].pointer) continue;
    const tensor_value from = {.kind = TENSOR_VALUE_TENSOR, .as.tensor = b->a[(int)f->to].pointer};
    if (duplicate(r, step, &from, results + count)) count++;
  }
  return count;
}

// Runs a call. In a functional one, copies of the arguments that the operator writes to are its
// last results.
static const int64_t *run_call(run *r, const int64_t *w, const char *step, bool is_functional) {
  const lt_family *family = r->p->families[*w++];
  const int64_t n = *w++;
  tensor_value values[LT_MOST_VALUES], results[LT_MOST_RESULTS + LT_MOST_VALUES];
  tensor_value *copies = results + LT_MOST_RESULTS;
  const char *keywords[LT_MOST_VALUES];
  char *scratch = r->scratch;
  if (n > LT_MOST_VALUES)
    return lt_fail_step(r, step, "%s: %" PRId64 " arguments", family->name, n);
  for (int64_t i = 0; i < n; i++) {
    keywords[i] = *w < 0 ? NULL : r->p->text + *w;
    w = lt_evaluate(r, w + 1, values + i, &scratch);
  }
  lt_bound bound;
  lt_problem problem;
  problem.code = TENSOR_OK;
  int32_t count = LT_MOST_RESULTS, copied = 0;
  if (is_functional &&
      !lt_copy_written(r, step, family->targets[0], values, keywords, n, copies, &copied))
    return free_values(copies, copied), NULL;
  tensor_status status = lt_bind_call(family, values, keywords, (int32_t)n, &bound, &problem);
  if (!status) {
    lt_hide_calls(r->hidden);
    status = lt_execute(&bound, results, &count, &problem);
    lt_hide_calls(true);
    if (!status && !count && !is_functional) count = take_written(r, step, &bound, results);
    lt_release_bound(&bound);
  }
  if (status) {
    lt_fail_step(r, step, "%s", problem.text);
    r->problem.code = status;
    return free_values(copies, copied), NULL;
  }
  memmove(results + count, copies, (size_t)copied * sizeof *copies);
  count += copied;
  return store_results(r, w, step, family, results, count);
}

// ---------------------------------------------------------------------------------- control flow

// Runs a block, and stores its results in values of the caller; frees the block's values.
static const int64_t *run_branch(run *r, const int64_t *w, const char *step,
                                 tensor_value *results) {
  const int64_t first = w[0], end = w[1];
  w = run_block(r, w);
  int64_t n = w ? *w++ : 0;
  for (int64_t i = 0; i < n && w; i++) {
    tensor_value v;
    char *scratch = r->scratch;
    w = lt_evaluate(r, w, &v, &scratch);
    if (!duplicate(r, step, &v, results + i)) {
      while (i--) tensor_value_free(results + i);
      w = NULL;
    }
  }
  for (int64_t i = first; i < end; i++) lt_release(r, i);
  return w;
}

static const int64_t *skip_steps(const int64_t *w);

static const int64_t *skip_block(const int64_t *w) {
  w = skip_steps(w + 2);
  int64_t n = *w++;
  while (n--) w = lt_skip_argument(w);
  return w;
}

static const int64_t *skip_step(const int64_t *w) {
  const int64_t kind = *w;
  w += 2;
  w += 1 + *w;
  switch (kind) {
    case LT_STEP_CALL:
    case LT_STEP_FUNCTIONAL: {
      int64_t n = w[1];
      for (w += 2; n--;) w = lt_skip_argument(w + 1);
      for (n = *w++; n--;) {
        const int64_t result = *w++;
        w += result == LT_ARG_VALUE ? 1 : result == LT_ARG_TENSORS ? 1 + *w : 0;
      }
      return w;
    }
    case LT_STEP_SYM: {
      int64_t n = w[1];
      for (w += 2; n--;) w = lt_skip_argument(w);
      return w + 1;
    }
    case LT_STEP_CHECK:
      return lt_skip_check(w);
    case LT_STEP_COND:
      w = lt_skip_argument(w);
      w += 1 + *w;
      w += 1 + *w;
      w = skip_block(skip_block(w));
      return w + 1 + *w;
    case LT_STEP_SCAN: {
      int64_t n = 0;
      for (int list = 0; list < 2; list++) {
        int64_t count = *w++;
        for (n += count; count--;) w = lt_skip_argument(w);
      }
      w = skip_block(w + n);
      return w + 1 + *w;
    }
    case LT_STEP_ASSOCIATIVE: {
      const int64_t n = *w++;
      for (int64_t i = 0; i < n; i++) w = lt_skip_argument(w);
      w = skip_block(w + 2 * n);
      return w + 1 + *w;
    }
    default: {
      const int64_t n = *w++;
      for (int64_t i = 0; i < n; i++) w = lt_skip_argument(w);
      w = skip_block(skip_block(w + n));
      return w + 1 + *w;
    }
  }
}

static const int64_t *skip_steps(const int64_t *w) {
  int64_t n = *w++;
  while (n--) w = skip_step(w);
  return w;
}

static const int64_t *run_cond(run *r, const int64_t *w, const char *step) {
  tensor_value predicate, item;
  char *scratch = r->scratch;
  w = lt_evaluate(r, w, &predicate, &scratch);
  if (predicate.kind == TENSOR_VALUE_TENSOR && tensor_numel(predicate.as.tensor) != 1) {
    char shape[100];
    lt_show_shape(tensor_sizes(predicate.as.tensor), tensor_dim(predicate.as.tensor), shape,
                  sizeof shape);
    return lt_fail_step(
        r, step, "the predicate must be a bool or a tensor with one element; it has the shape %s",
        shape);
  }
  if (!lt_read_item(r, step, &predicate, &item))
    return lt_fail_step(r, step, "the predicate is not a bool or a tensor with one element");
  const int64_t *true_uses = w, *false_uses = true_uses + 1 + *true_uses;
  w = false_uses + 1 + *false_uses;
  const int64_t *other = skip_block(w), *outs = skip_block(other);
  const int64_t n = *outs++;
  const bool is_true = lt_number_to_bool(&item);
  tensor_value *results = calloc((size_t)n + 1, sizeof *results);
  if (!results) return lt_fail_memory(r, step);
  if (run_branch(r, is_true ? w : other, step, results)) {
    const int64_t *untaken = is_true ? false_uses : true_uses;
    lt_connect_untaken(r, step, untaken + 1, *untaken, results, n);
    for (int64_t i = 0; i < n; i++) give(r, outs[i], results + i);
  }
  free(results);
  return r->problem.code ? NULL : outs + n;
}

static const int64_t *run_while(run *r, const int64_t *w, const char *step) {
  const int64_t n = *w++;
  const int64_t *init = w;
  for (int64_t i = 0; i < n; i++) w = lt_skip_argument(w);
  const int64_t *carried = w;
  w += n;
  tensor_value *results = calloc((size_t)n + 1, sizeof *results);
  if (!results) return lt_fail_memory(r, step);
  for (int64_t i = 0; i < n && init; i++) {
    tensor_value v, own;
    char *scratch = r->scratch;
    init = lt_evaluate(r, init, &v, &scratch);
    if (!duplicate(r, step, &v, &own)) break;
    lt_store(r, carried[i], own);
  }
  const int64_t *body = skip_block(w), *outs = skip_block(body);
  while (!r->problem.code) {
    tensor_value test = {.kind = TENSOR_VALUE_NONE}, item;
    if (!run_branch(r, w, step, &test)) break;
    const bool known = lt_read_item(r, step, &test, &item);
    tensor_value_free(&test);
    if (!known) lt_fail_step(r, step, "the condition is not a bool or a tensor with one element");
    if (!known || !lt_number_to_bool(&item)) break;
    if (!run_branch(r, body, step, results)) break;
    for (int64_t i = 0; i < n; i++) lt_store(r, carried[i], results[i]);
  }
  free(results);
  if (r->problem.code) return NULL;
  for (int64_t i = 0; i < outs[0]; i++) {
    if (outs[1 + i] >= 0) {
      lt_store(r, outs[1 + i], r->values[carried[i]]);
      r->owned[carried[i]] = false;
    } else {
      lt_release(r, carried[i]);
    }
  }
  return outs + 1 + outs[0];
}

// Polls the interrupt function. Returns whether it cancels the run, whose error is set then.
static bool is_interrupted(run *r, const char *step) {
  if (__builtin_expect(lt_interruptible == 0, 1) || !lt_poll_interrupt()) return false;
  lt_fail_step(r, step, "the call was cancelled");
  r->problem.code = TENSOR_ERROR_CANCELLED;
  return true;
}

// Sets the values of the slices `i` of tensors along their first dimension.
static bool set_slices(run *r, const int64_t *xs, int64_t count, const int64_t *slices, int64_t i,
                       const char *step) {
  for (int64_t k = 0; k < count; k++) {
    tensor_value x, slice = {.kind = TENSOR_VALUE_TENSOR};
    char *scratch = r->scratch;
    xs = lt_evaluate(r, xs, &x, &scratch);
    const tensor_status status = tensor_select(x.as.tensor, 0, i, &slice.as.tensor);
    if (status) return lt_fail_call(r, step, status), false;
    lt_store(r, slices[k], slice);
  }
  return true;
}

// Returns the size of tensors in their first dimension; -1 if they have no slice, or differ.
static int64_t count_slices(run *r, const int64_t *xs, int64_t count, const char *step) {
  int64_t length = -1;
  for (int64_t k = 0; k < count; k++) {
    tensor_value x;
    char *scratch = r->scratch;
    xs = lt_evaluate(r, xs, &x, &scratch);
    const bool is_tensor = x.kind == TENSOR_VALUE_TENSOR && tensor_dim(x.as.tensor) > 0;
    const int64_t size = is_tensor ? tensor_sizes(x.as.tensor)[0] : 0;
    if (size < 1 || (k && size != length)) {
      lt_fail_step(r, step, "the inputs must be tensors of one size, above 0, in dimension 0");
      return -1;
    }
    length = size;
  }
  return length;
}

// Stacks lists of tensors of one length, unless the run has an error, as values. Frees the lists.
static void give_stacked(run *r, const char *step, tensor_t **made, int64_t length, int64_t count,
                         const int64_t *outs) {
  for (int64_t k = 0; k < count && !r->problem.code; k++) {
    tensor_value v = {.kind = TENSOR_VALUE_TENSOR};
    const tensor_status status =
        tensor_stack((const tensor_t *const *)made + k * length, length, 0, &v.as.tensor);
    if (status)
      lt_fail_call(r, step, status);
    else
      give(r, outs[k], &v);
  }
  for (int64_t i = 0; made && i < length * count; i++) tensor_free(made[i]);
  free(made);
}

// Stacks the results of a block for the results of the slices before and each slice. The first
// result is the first slice.
static const int64_t *run_associative_scan(run *r, const int64_t *w, const char *step) {
  const int64_t n = *w++, *xs = w;
  for (int64_t i = 0; i < n; i++) w = lt_skip_argument(w);
  const int64_t *left = w, *right = w + n;
  w += 2 * n;
  const int64_t *outs = skip_block(w) + 1, length = count_slices(r, xs, n, step);
  if (length < 0) return NULL;
  int64_t size = 0;
  tensor_value *results = calloc((size_t)n + 1, sizeof *results);
  tensor_t **made = NULL;
  if (!__builtin_mul_overflow(length, n, &size)) made = calloc((size_t)size + 1, sizeof *made);
  if (!results || !made) lt_fail_memory(r, step);
  for (int64_t i = 0; i < length && !r->problem.code; i++) {
    if (!set_slices(r, xs, n, i ? right : left, i, step)) break;
    if (i && !run_branch(r, w, step, results)) break;
    for (int64_t k = 0; k < n; k++) {
      if (i && results[k].kind == TENSOR_VALUE_TENSOR)
        lt_store(r, left[k], results[k]);
      else if (i)
        lt_fail_step(r, step, "a result that is stacked is not a tensor"),
            tensor_value_free(results + k);
      tensor_value kept;
      if (!r->problem.code && duplicate(r, step, r->values + left[k], &kept))
        made[k * length + i] = kept.as.tensor;
    }
    is_interrupted(r, step);
  }
  for (int64_t i = 0; i < n; i++) lt_release(r, left[i]), lt_release(r, right[i]);
  give_stacked(r, step, made, length, n, outs);
  free(results);
  return r->problem.code ? NULL : outs + n;
}

// Runs a block for each slice of tensors, with values that are carried from one to the next. The
// other results of the block are stacked.
static const int64_t *run_scan(run *r, const int64_t *w, const char *step) {
  const int64_t n = *w++, *init = w;
  for (int64_t i = 0; i < n; i++) w = lt_skip_argument(w);
  const int64_t m = *w++, *xs = w;
  for (int64_t i = 0; i < m; i++) w = lt_skip_argument(w);
  const int64_t *carried = w, *slices = w + n;
  w += n + m;
  const int64_t *outs = skip_block(w), count = *outs++, length = count_slices(r, xs, m, step);
  if (length < 0) return NULL;
  int64_t size = 0;
  tensor_value *results = calloc((size_t)count + 1, sizeof *results);
  tensor_t **made = NULL;
  if (!__builtin_mul_overflow(length, count - n, &size))
    made = calloc((size_t)size + 1, sizeof *made);
  if (!results || !made) lt_fail_memory(r, step);
  for (int64_t i = 0; i < n && !r->problem.code; i++) {
    tensor_value v, own;
    char *scratch = r->scratch;
    init = lt_evaluate(r, init, &v, &scratch);
    if (duplicate(r, step, &v, &own)) lt_store(r, carried[i], own);
  }
  for (int64_t i = 0; i < length && !r->problem.code; i++) {
    if (!set_slices(r, xs, m, slices, i, step) || !run_branch(r, w, step, results)) break;
    for (int64_t k = 0; k < count; k++) {
      if (k < n) {
        lt_store(r, carried[k], results[k]);
      } else if (results[k].kind == TENSOR_VALUE_TENSOR) {
        made[(k - n) * length + i] = results[k].as.tensor;
      } else {
        tensor_value_free(results + k);
        lt_fail_step(r, step, "a result that is stacked is not a tensor");
      }
    }
    is_interrupted(r, step);
  }
  for (int64_t i = 0; i < m; i++) lt_release(r, slices[i]);
  give_stacked(r, step, made, length, count - n, outs + n);
  free(results);
  if (r->problem.code) return NULL;
  for (int64_t i = 0; i < n; i++) {
    r->owned[carried[i]] = false;
    give(r, outs[i], r->values + carried[i]);
  }
  return outs + count;
}

// Runs the steps of a block; returns its outputs, NULL after an error.
static const int64_t *run_block(run *r, const int64_t *w) {
  w += 2;
  for (int64_t n = *w++; n > 0; n--) {
    const int64_t kind = *w++;
    const char *step = r->p->text + *w++;
    const int64_t freed = *w++, *dead = w;
    w += freed;
    switch (kind) {
      case LT_STEP_CALL:
        w = run_call(r, w, step, false);
        break;
      case LT_STEP_FUNCTIONAL:
        w = run_call(r, w, step, true);
        break;
      case LT_STEP_SYM:
        w = lt_run_numbers(r, w, step);
        break;
      case LT_STEP_COND:
        w = run_cond(r, w, step);
        break;
      case LT_STEP_SCAN:
        w = run_scan(r, w, step);
        break;
      case LT_STEP_ASSOCIATIVE:
        w = run_associative_scan(r, w, step);
        break;
      case LT_STEP_CHECK:
        w = lt_check_result(r, w, step);
        break;
      default:
        w = run_while(r, w, step);
    }
    if (!w || r->problem.code) return NULL;
    if (is_interrupted(r, step)) return NULL;
    for (int64_t i = 0; i < freed; i++) lt_release(r, dead[i]);
  }
  return w;
}

// ------------------------------------------------------------------------------------------ runs

// Copies new values of buffers and inputs to their tensors, then stores the outputs of the program.
static void finish(run *r, const int64_t *w, const tensor_value *inputs, tensor_value *outputs) {
  const lt_program *p = r->p;
  const int64_t *at = ++w;
  for (int64_t i = 0; i < p->output_count; i++) at = lt_skip_argument(at);
  for (int64_t i = 0; i < p->mutation_count; i++) {
    tensor_value v;
    char *scratch = r->scratch;
    at = lt_evaluate(r, at, &v, &scratch);
    const int64_t to = p->mutations[i];
    tensor_t *target = to >= 0 ? r->state[to] : inputs[-1 - to].as.tensor;
    if (v.kind != TENSOR_VALUE_TENSOR || (to < 0 && inputs[-1 - to].kind != TENSOR_VALUE_TENSOR)) {
      lt_fail_step(r, "output", "a value that is written to an input or buffer is not a tensor");
      return;
    }
    const tensor_status status = tensor_copy_(target, v.as.tensor, false);
    if (status) {
      lt_fail_call(r, "output", status);
      return;
    }
  }
  for (int64_t i = 0; i < p->output_count; i++) {
    char *scratch = r->scratch;
    const int64_t n = *w == LT_ARG_VALUE ? w[1] : -1;
    tensor_value v;
    w = lt_evaluate(r, w, &v, &scratch);
    if (n >= 0 && r->owned[n]) {
      outputs[i] = v;
      r->owned[n] = false;  // of a value that is returned twice the second is another handle
    } else if (!duplicate(r, "output", &v, outputs + i)) {
      while (i--) tensor_value_free(outputs + i);
      return;
    }
  }
}

// Sets the transform and autocast of the thread to those before a run, which may have failed inside
// of vmap or of a region of autocast.
static void restore_modes(const lt_modes *before) {
  if (!lt_me) return;
  lt_modes *modes = &lt_me->modes;
  if (modes->level != before->level) tensor_transform_leave(before->level);
  memcpy(modes->autocast_enabled, before->autocast_enabled, sizeof modes->autocast_enabled);
  memcpy(modes->autocast_dtypes, before->autocast_dtypes, sizeof modes->autocast_dtypes);
  modes->autocast_uncached = before->autocast_uncached;
  if (modes->autocast_nesting == before->autocast_nesting) return;
  modes->autocast_nesting = before->autocast_nesting;
  if (!before->autocast_nesting) tensor_clear_autocast_cache();
}

tensor_status lt_run_program(lt_program *p, const tensor_program_options *options,
                             const tensor_value *inputs, tensor_value *outputs) {
  const size_t n = (size_t)p->value_count, symbols = (size_t)p->symbol_count;
  const size_t state = (size_t)p->state_count * sizeof(tensor_t *);
  const size_t size =
      n * sizeof(tensor_value) + symbols * 8 + state + p->scratch + n + symbols + 64;
  run r = {.p = p, .values = calloc(1, size), .gradients = options->gradients};
  const lt_modes modes = lt_me ? lt_me->modes : (lt_modes){.level = 0};
  r.problem.code = TENSOR_OK;
  if (!r.values) {
    lt_fail(0, "program_run: there is no memory for the values of the program");
    return TENSOR_ERROR_MEMORY;
  }
  r.symbols = (int64_t *)(r.values + n);
  r.state = (tensor_t **)(r.symbols + symbols);
  r.scratch = (char *)(r.state + p->state_count);
  r.owned = (bool *)(r.scratch + p->scratch);
  r.bound = r.owned + n;
  r.hidden = lt_hide_calls(true);  // only the calls of the program's operators are observed
  bool fits = lt_take_state(&r, options);
  for (int64_t i = 0; fits && i < p->state_count; i++)
    if (p->state_values[i] >= 0)
      r.values[p->state_values[i]] =
          (tensor_value){.kind = TENSOR_VALUE_TENSOR, .as.tensor = r.state[i]};
  for (int64_t i = 0; fits && i < p->input_count; i++) fits = lt_check_input(&r, i, inputs + i);
  for (int64_t i = 0; fits && i < p->input_count; i++)
    fits = lt_check_expressions(&r, i, inputs + i);
  const int64_t *w = fits ? run_block(&r, p->block) : NULL;
  if (w) finish(&r, w, inputs, outputs);
  for (int64_t i = 0; i < p->value_count; i++) lt_release(&r, i);
  restore_modes(&modes);
  lt_free_state(&r, options);
  lt_hide_calls(r.hidden);
  free(r.values);
  if (r.problem.code) lt_fail(0, r.problem.text);
  return r.problem.code;
}
