// Exported programs: loading, which binds the steps of a plan to operators, and the C interface.
#define _GNU_SOURCE
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "_cgo_export.h"
#include "export.h"
#include "functions.h"
#include "interrupt.h"
#include "observer.h"

// ------------------------------------------------------------------------------------- operators

// Names of operators that libtensor lacks.
typedef struct missing {
  char text[1600];
  size_t length;
  int count;
} missing;

// Adds a name, once. Names that the text has no room for are counted.
static void add_missing(missing *m, const char *name) {
  const size_t n = strlen(name);
  for (const char *at = m->text; *m->text && (at = strstr(at, name)); at += n)
    if ((at == m->text || at[-1] == ' ') && (at[n] == ',' || !at[n])) return;
  m->count++;
  if (m->length + strlen(name) + 8 >= sizeof m->text) return;
  m->length += (size_t)snprintf(m->text + m->length, sizeof m->text - m->length, "%s%s",
                                m->length ? ", " : "", name);
}

// Counts a call of an operator.
static void count_operator(lt_program *p, const char *name) {
  int64_t at = 0;
  int order = 1;
  while (at < p->operator_count && (order = strcmp(p->operators[at].name, name)) < 0) at++;
  if (order) {
    memmove(p->operators + at + 1, p->operators + at,
            (size_t)(p->operator_count++ - at) * sizeof *p->operators);
    p->operators[at] = (tensor_program_operator){.name = name};
  }
  p->operators[at].calls++;
}

// Whether a name in the text of missing operators is that of a custom one.
static bool has_custom(const char *text) {
  while (text && *text && strncmp(text, "aten::", 6) == 0)
    if ((text = strchr(text, ','))) text += 2;
  return text && *text;
}

// The state of a walk over the steps.
typedef struct walk {
  lt_program *p;
  missing *missing;
  uint64_t *shares;  // of each value: a bit for each tensor that it may share memory with (bit_of)
  uint64_t written;  // the bits of tensors that a step may write to
  bool counting;
} walk;

// The bit of a tensor of the state or an input. Several may have one, if there are more than bits.
static uint64_t bit_of(const lt_program *p, bool is_input, int64_t i) {
  if (is_input && i < 32) return UINT64_C(1) << i;
  return UINT64_C(1) << (32 + (is_input ? i : p->input_count + i) % 32);
}

static uint64_t bits_of(const walk *k, const int64_t *w) {
  uint64_t bits = 0;
  if (*w == LT_ARG_VALUE) return k->shares[w[1]];
  if (*w == LT_ARG_TENSORS)
    for (int64_t i = 0; i < w[1]; i++)
      if (w[2 + i] >= 0) bits |= k->shares[w[2 + i]];
  return bits;
}

static int64_t *visit_block(walk *k, int64_t *w);

// Whether a call of operators may write to its arguments, and whether its results may share memory
// with them.
static void describe_family(const lt_family *family, bool *writes, bool *views) {
  *writes = *views = false;
  for (int i = 0; i < family->count; i++) {
    const lt_target *t = family->targets[i];
    for (int f = 0; f < t->count; f++) *writes |= t->formals[f].is_written;
    *writes |= t->form != LT_FUNCTION;
    if (!t->op) {
      *views = true;
      continue;
    }
    *views |= (t->op->flags & (LT_VIEWS | LT_ITSELF | LT_A_VIEW)) || t->op->aliases;
    *writes |= t->op->changed >= 0;
    for (int f = 0; f < t->op->count; f++)
      *writes |= (t->op->parameters[f].flags & LT_MUTATED) != 0;
  }
}

static int64_t *visit_call(walk *k, int64_t *w, bool is_functional) {
  lt_program *p = k->p;
  const int64_t number = p->call_count++;
  const lt_family *family = NULL;
  if (!k->counting) {
    lt_problem problem;
    const char *name = p->text + *w;
    family = lt_find_call(name, &problem);
    if (!family) add_missing(k->missing, name);
    count_operator(p, name);
    p->families[number] = family;
    *w = number;
  }
  w++;
  const int64_t count = *w++;
  uint64_t shared = 0;
  for (int64_t i = 0; i < count; i++) {
    if (!k->counting) shared |= bits_of(k, w + 1);
    w = (int64_t *)lt_skip_argument(w + 1);
  }
  bool writes = false, views = false;
  if (family) describe_family(family, &writes, &views);
  writes &= !is_functional;
  if (writes) k->written |= shared;
  const uint64_t shares = views || writes ? shared : 0;
  int64_t results = *w++;
  while (results--) {
    const int64_t kind = *w++;
    if (kind == LT_ARG_VALUE) {
      if (!k->counting) k->shares[*w] = shares;
      w++;
    } else if (kind == LT_ARG_TENSORS) {
      int64_t n = *w++;
      for (; n--; w++)
        if (*w >= 0 && !k->counting) k->shares[*w] = shares;
    }
  }
  return w;
}

// The values that control flow defines may share memory with all tensors.
static int64_t *visit_values(walk *k, int64_t *w, int64_t n) {
  for (; n--; w++)
    if (*w >= 0 && !k->counting) k->shares[*w] = UINT64_MAX;
  return w;
}

// Visits a step: counts calls, or finds their operators.
static int64_t *visit_step(walk *k, int64_t *w) {
  const int64_t *start = w, kind = *w;
  w += 2;
  w += 1 + *w;
  switch (kind) {
    case LT_STEP_CALL:
    case LT_STEP_FUNCTIONAL:
      w = visit_call(k, w, kind == LT_STEP_FUNCTIONAL);
      break;
    case LT_STEP_SYM: {
      const bool is_view = *w == LT_SYM_VMAP_WRAP || *w == LT_SYM_VMAP_UNWRAP;
      const uint64_t shares = is_view && !k->counting ? bits_of(k, w + 2) : 0;
      int64_t n = w[1];
      for (w += 2; n--;) w = (int64_t *)lt_skip_argument(w);
      if (is_view && *w >= 0 && !k->counting) k->shares[*w] = shares;
      w++;
      break;
    }
    case LT_STEP_COND:
      w = (int64_t *)lt_skip_argument(w);
      w += 1 + *w;
      w += 1 + *w;
      w = visit_block(k, visit_block(k, w));
      w = visit_values(k, w + 1, *w);
      break;
    case LT_STEP_WHILE: {
      const int64_t n = *w++;
      for (int64_t i = 0; i < n; i++) w = (int64_t *)lt_skip_argument(w);
      w = visit_values(k, w, n);
      w = visit_block(k, visit_block(k, w));
      w = visit_values(k, w + 1, *w);
      break;
    }
    case LT_STEP_SCAN: {
      int64_t n = 0;
      for (int list = 0; list < 2; list++) {
        int64_t count = *w++;
        for (n += count; count--;) w = (int64_t *)lt_skip_argument(w);
      }
      w = visit_block(k, visit_values(k, w, n));
      w = visit_values(k, w + 1, *w);
      break;
    }
    case LT_STEP_ASSOCIATIVE: {
      const int64_t n = *w++;
      for (int64_t i = 0; i < n; i++) w = (int64_t *)lt_skip_argument(w);
      w = visit_block(k, visit_values(k, w, 2 * n));
      w = visit_values(k, w + 1, *w);
      break;
    }
    case LT_STEP_CHECK:
      w = (int64_t *)lt_skip_check(w);
  }
  if (kind == LT_STEP_CALL || kind == LT_STEP_FUNCTIONAL || kind == LT_STEP_SYM) {
    const size_t bytes = (size_t)(w - start) * 8;
    if (bytes > k->p->scratch) k->p->scratch = bytes;
  }
  return w;
}

static int64_t *visit_block(walk *k, int64_t *w) {
  w += 2;
  int64_t n = *w++;
  for (k->p->step_count += n; n--;) w = visit_step(k, w);
  for (n = *w++; n--;) w = (int64_t *)lt_skip_argument(w);
  return w;
}

static tensor_status find_operators(lt_program *p) {
  missing m = {.text = ""};
  walk k = {.p = p, .missing = &m, .counting = true};
  visit_block(&k, (int64_t *)p->block);
  p->families = calloc((size_t)p->call_count + 1, sizeof *p->families);
  p->operators = calloc((size_t)p->call_count + 1, sizeof *p->operators);
  k.shares = calloc((size_t)p->value_count + 1, sizeof *k.shares);
  if (!p->families || !p->operators || !k.shares) return free(k.shares), TENSOR_ERROR_MEMORY;
  for (int64_t i = 0; i < p->state_count; i++)
    if (p->state_values[i] >= 0) k.shares[p->state_values[i]] = bit_of(p, false, i);
  for (int64_t i = 0; i < p->input_count; i++)
    if (p->checks[i].value >= 0) k.shares[p->checks[i].value] = bit_of(p, true, i);
  k.counting = false;
  p->call_count = p->step_count = 0;
  visit_block(&k, (int64_t *)p->block);
  free(k.shares);
  for (int64_t i = 0; i < p->mutation_count; i++) {
    const int64_t to = p->mutations[i];
    k.written |= bit_of(p, to < 0, to < 0 ? -1 - to : to);
  }
  for (int64_t i = 0; i < p->state_count; i++)
    p->writes |= p->state[i].is_written = (k.written & bit_of(p, false, i)) != 0;
  for (int64_t i = 0; i < p->input_count; i++)
    p->inputs[i].is_written =
        p->inputs[i].kind == TENSOR_VALUE_TENSOR && k.written & bit_of(p, true, i);
  if (!m.count) return TENSOR_OK;
  char text[2048];
  snprintf(text, sizeof text,
           "program_load: the program uses %d operator%s that libtensor does not have: %s%s",
           m.count, m.count == 1 ? "" : "s", m.text,
           has_custom(m.text) ? "; custom operators have to be defined before the program is loaded"
                              : "");
  lt_fail(0, text);
  return TENSOR_ERROR_NOT_IMPLEMENTED;
}

// -------------------------------------------------------------------------------------- the plan

static bool read_inputs(lt_program *p, const int64_t **at) {
  const int64_t *w = *at;
  p->input_count = *w++;
  p->inputs = calloc((size_t)p->input_count + 1, sizeof *p->inputs);
  p->checks = calloc((size_t)p->input_count + 1, sizeof *p->checks);
  if (!p->inputs || !p->checks) return false;
  for (int64_t i = 0; i < p->input_count; i++) {
    tensor_program_value *v = p->inputs + i;
    lt_input *c = p->checks + i;
    v->name = p->text + *w++;
    v->dtype = TENSOR_DTYPE_NONE, v->shape = v->role = "";
    if (*w != LT_ARG_VALUE) {
      v->constant = lt_program_constant(p, w);
      v->kind = v->constant.kind;
      c->constant = w, c->value = -1;
      w = lt_skip_argument(w);
      continue;
    }
    c->value = w[1];
    v->dtype = (tensor_dtype)w[2];
    v->kind = v->dtype == TENSOR_DTYPE_NONE ? TENSOR_VALUE_INT : TENSOR_VALUE_TENSOR;
    v->shape = v->kind == TENSOR_VALUE_INT ? "" : p->text + w[3];
    c->dim_count = w[4];
    w += 5;
    if (!(c->dims = calloc((size_t)c->dim_count + 1, sizeof *c->dims))) return false;
    for (int64_t d = 0; d < c->dim_count; d++) {
      c->dims[d].length = *w++;
      c->dims[d].code = w;
      w += c->dims[d].length;
    }
  }
  *at = w;
  return true;
}

static bool read_plan(lt_program *p) {
  const int64_t *w = p->words;
  p->value_count = *w++;
  p->in_spec = p->text + *w++, p->out_spec = p->text + *w++, p->graph = p->text + *w++;
  p->state_count = *w++;
  p->state = calloc((size_t)p->state_count + 1, sizeof *p->state);
  p->state_values = calloc((size_t)p->state_count + 1, sizeof *p->state_values);
  if (!p->state || !p->state_values) return false;
  for (int64_t i = 0; i < p->state_count; i++, w += 4) {
    static const char *const roles[] = {"parameter", "buffer", "constant"};
    p->state[i] = (tensor_program_value){.name = p->text + w[0],
                                         .kind = TENSOR_VALUE_TENSOR,
                                         .dtype = tensor_get_dtype(p->tensors[i]),
                                         .shape = "",
                                         .role = roles[w[1]],
                                         .requires_grad = w[3] != 0};
    p->state_values[i] = w[2];
  }
  p->symbol_count = *w++;
  p->symbols = w;
  w += 3 * p->symbol_count;
  if (!read_inputs(p, &w)) return false;
  p->output_count = *w++;
  p->outputs = calloc((size_t)p->output_count + 1, sizeof *p->outputs);
  if (!p->outputs) return false;
  for (int64_t i = 0; i < p->output_count; i++, w += 3)
    p->outputs[i] =
        (tensor_program_value){.name = p->text + w[0],
                               .kind = w[1] < 0 ? TENSOR_VALUE_NONE : TENSOR_VALUE_TENSOR,
                               .dtype = (tensor_dtype)w[1],
                               .shape = p->text + w[2],
                               .role = ""};
  p->mutation_count = *w++;
  p->mutations = w;
  p->block = w + p->mutation_count;
  return true;
}

tensor_status lt_build_program(int64_t *words, char *text, tensor_t **tensors, int64_t tensor_count,
                               lt_program **out) {
  lt_program *p = calloc(1, sizeof *p);
  if (!p) {
    free(words), free(text), tensor_list_free(tensors, tensor_count);
    lt_fail(0, "program_load: there is no memory for the program");
    return TENSOR_ERROR_MEMORY;
  }
  p->words = words, p->text = text;
  p->tensors = tensors, p->tensor_count = tensor_count;
  tensor_status status = read_plan(p) ? find_operators(p) : TENSOR_ERROR_MEMORY;
  if (status == TENSOR_ERROR_MEMORY) lt_fail(0, "program_load: there is no memory for the program");
  if (status)
    lt_delete_program(p);
  else
    *out = p;
  return status;
}

void lt_delete_program(void *program) {
  lt_program *p = program;
  if (!p) return;
  for (int64_t i = 0; p->checks && i < p->input_count; i++) free(p->checks[i].dims);
  free(p->words), free(p->text), free(p->state), free(p->state_values), free(p->inputs);
  free(p->checks), free(p->outputs), free(p->families), free(p->operators);
  tensor_list_free(p->tensors, p->tensor_count);
  free(p);
}

// ----------------------------------------------------------------------------------------- the API

static tensor_status load(const char *path, const void *data, int64_t length,
                          tensor_program_t **out) {
  if (!out && !lt_check_pointer(out, "program_load", "out")) return TENSOR_ERROR_VALUE;
  lt_value a[2] = {{.text = path}, {.list = {data, length}}};
  lt_frame frame = {.args = a};
  tensor_status status = lt_invoke_with(&frame, "program_load", lt_read_program);
  if (status) return status;
  lt_slot *slot = lt_find(frame.results[3].pointer);
  lt_program *program;
  status = lt_build_program((int64_t *)frame.results[0].list.data, frame.results[1].pointer,
                            (tensor_t **)frame.results[2].list.data, frame.results[2].list.length,
                            &program);
  if (status) {
    // The message is that of the failed step.
    tensor_program_free(frame.results[3].pointer);
    return status;
  }
  slot->name = program;
  *out = frame.results[3].pointer;
  return TENSOR_OK;
}

TENSOR_API tensor_status tensor_program_load(const char *path, tensor_program_t **out) {
  if (!path && !lt_check_pointer(path, "program_load", "path")) return TENSOR_ERROR_VALUE;
  return load(path, NULL, 0, out);
}

TENSOR_API tensor_status tensor_program_load_memory(const void *data, int64_t length,
                                                    tensor_program_t **out) {
  if (length < 0 || !data) {
    char text[120];
    snprintf(text, sizeof text, "program_load_memory: argument 'data' is %p, of %lld bytes", data,
             (long long)length);
    lt_fail(0, text);
    return TENSOR_ERROR_VALUE;
  }
  return load(NULL, data, length, out);
}

// The program of a handle, pinned; NULL for others, with the last error.
static lt_program *resolve(const tensor_program_t *handle, const char *op) {
  lt_slot *slot = lt_resolve(handle, LT_PROGRAM, op, "program");
  return slot ? slot->name : NULL;
}

// Stores a list of the program, which is valid as long as the program.
static tensor_status give_values(const tensor_program_value *list, int64_t n,
                                 const tensor_program_value **values, int32_t *count,
                                 const char *op) {
  lt_unpin();
  if ((!values && !lt_check_pointer(values, op, "values")) ||
      (!count && !lt_check_pointer(count, op, "count")))
    return TENSOR_ERROR_VALUE;
  *values = list;
  *count = (int32_t)n;
  return TENSOR_OK;
}

TENSOR_API tensor_status tensor_program_inputs(const tensor_program_t *program,
                                               const tensor_program_value **values,
                                               int32_t *count) {
  const lt_program *p = resolve(program, "program_inputs");
  if (!p) return TENSOR_ERROR_HANDLE;
  return give_values(p->inputs, p->input_count, values, count, "program_inputs");
}

TENSOR_API tensor_status tensor_program_outputs(const tensor_program_t *program,
                                                const tensor_program_value **values,
                                                int32_t *count) {
  const lt_program *p = resolve(program, "program_outputs");
  if (!p) return TENSOR_ERROR_HANDLE;
  return give_values(p->outputs, p->output_count, values, count, "program_outputs");
}

TENSOR_API tensor_status tensor_program_state(const tensor_program_t *program,
                                              const tensor_program_value **values, int32_t *count) {
  const lt_program *p = resolve(program, "program_state");
  if (!p) return TENSOR_ERROR_HANDLE;
  return give_values(p->state, p->state_count, values, count, "program_state");
}

TENSOR_API tensor_status tensor_program_operators(const tensor_program_t *program,
                                                  const tensor_program_operator **operators,
                                                  int32_t *count) {
  const lt_program *p = resolve(program, "program_operators");
  if (!p) return TENSOR_ERROR_HANDLE;
  lt_unpin();
  if ((!operators && !lt_check_pointer(operators, "program_operators", "operators")) ||
      (!count && !lt_check_pointer(count, "program_operators", "count")))
    return TENSOR_ERROR_VALUE;
  *operators = p->operators;
  *count = (int32_t)p->operator_count;
  return TENSOR_OK;
}

TENSOR_API tensor_status tensor_program_tensor(const tensor_program_t *program, int32_t index,
                                               tensor_t **out) {
  const lt_program *p = resolve(program, "program_tensor");
  if (!p) return TENSOR_ERROR_HANDLE;
  if (index < 0 || index >= p->state_count) {
    char text[160];
    snprintf(text, sizeof text,
             "program_tensor: argument 'index' is %d; the program has %lld parameters, buffers and "
             "constants",
             index, (long long)p->state_count);
    lt_fail(0, text);
    return TENSOR_ERROR_INDEX;
  }
  const int64_t before = lt_begin();
  const bool hidden = lt_hide_calls(true);
  const tensor_status status = tensor_detach(p->tensors[index], out);
  lt_hide_calls(hidden);
  lt_end(before);
  return status;
}

TENSOR_API tensor_status tensor_program_structure(const tensor_program_t *program,
                                                  const char **inputs, const char **outputs) {
  const lt_program *p = resolve(program, "program_structure");
  if (!p) return TENSOR_ERROR_HANDLE;
  lt_unpin();
  if (inputs) *inputs = p->in_spec;
  if (outputs) *outputs = p->out_spec;
  return TENSOR_OK;
}

TENSOR_API tensor_status tensor_program_graph(const tensor_program_t *program, const char **graph) {
  const lt_program *p = resolve(program, "program_graph");
  if (!p) return TENSOR_ERROR_HANDLE;
  lt_unpin();
  if (!graph && !lt_check_pointer(graph, "program_graph", "graph")) return TENSOR_ERROR_VALUE;
  *graph = p->graph;
  return TENSOR_OK;
}

// Checks the number of inputs or outputs of a run, and that the array is not NULL unless it is 0.
static bool check_places(const char *name, int64_t expected, int32_t given, const void *values) {
  char text[160];
  if (given == expected && (!given || values)) return true;
  const int length = (int)strlen(name) - (expected == 1);
  if (given == expected)
    snprintf(text, sizeof text, "program_run: argument '%s' is NULL; the program has %lld %.*s",
             name, (long long)expected, length, name);
  else
    snprintf(text, sizeof text, "program_run: the program has %lld %.*s; %d %s given",
             (long long)expected, length, name, given, given == 1 ? "was" : "were");
  lt_fail(0, text);
  return false;
}

TENSOR_API tensor_status tensor_program_run_with(const tensor_program_t *program,
                                                 const tensor_program_options *options,
                                                 const tensor_value *inputs, int32_t n,
                                                 tensor_value *outputs, int32_t m) {
  lt_program *p = resolve(program, "program_run");
  if (!p) return TENSOR_ERROR_HANDLE;
  if (!check_places("inputs", p->input_count, n, inputs) ||
      !check_places("outputs", p->output_count, m, outputs))
    return TENSOR_ERROR_VALUE;
  tensor_program_options chosen = {.size = sizeof chosen};
  if (options && (options->size < sizeof options->size || options->size > sizeof chosen)) {
    char text[160];
    snprintf(
        text, sizeof text,
        "program_run: options.size is %zu; it must be sizeof(tensor_program_options), at most %zu",
        options->size, sizeof chosen);
    lt_fail(0, text);
    return TENSOR_ERROR_VALUE;
  }
  if (options) memcpy(&chosen, options, options->size);
  const int64_t items = chosen.state ? p->state_count : 0;
  if (chosen.state_count != items) {
    char text[160];
    snprintf(text, sizeof text,
             chosen.state
                 ? "program_run: argument 'options' has %d items of state; the program has %lld"
                 : "program_run: options.state is NULL, and options.state_count is %d; it must be "
                   "%lld",
             chosen.state_count, (long long)items);
    lt_fail(0, text);
    return TENSOR_ERROR_VALUE;
  }
  const int64_t before = lt_begin();
  const bool grad = tensor_exchange_grad_enabled(false);
  chosen.gradients &= grad;
  if (chosen.gradients) tensor_exchange_grad_enabled(true);
  tensor_status status = p->writes ? lt_lock_program(p) : TENSOR_OK;
  const bool locked = p->writes && !status;
  if (!status) status = lt_run_program(p, &chosen, inputs, outputs);
  if (__builtin_expect(lt_cancelling != 0, 0)) {
    const tensor_status ran = status;
    status = lt_report_cancelled(status, "program_run");
    for (int32_t i = 0; !ran && status && i < m; i++) tensor_value_free(outputs + i);
  }
  if (locked) lt_unlock_program(p);
  tensor_exchange_grad_enabled(grad);
  lt_end(before);
  if (__builtin_expect(lt_cancelling != 0, 0)) lt_end_cancelling();
  lt_settle();
  return status;
}

TENSOR_API tensor_status tensor_program_run(const tensor_program_t *program,
                                            const tensor_value *inputs, int32_t n,
                                            tensor_value *outputs, int32_t m) {
  return tensor_program_run_with(program, NULL, inputs, n, outputs, m);
}
