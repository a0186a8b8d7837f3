// Calls of operators, of exported functions and of the bindings.
#include <stdio.h>
#include <string.h>

#include "export.h"
#include "gen_names.h"
#include "observer.h"

// The error of lt_run_operator for an argument that a check has rejected.
#define LT_CHECK(right, status) \
  if (!(right)) return status
#define LT_HANDLE(kind_of) \
  LT_CHECK(v->slot = resolve_handle(v->pointer, kind_of, op->name, p->name), TENSOR_ERROR_HANDLE)
// Valid values are recognized without a call.
#define LT_RANGE(value, low, high)                                  \
  LT_CHECK(((value) >= (low) && (value) <= (high)) ||               \
               lt_check_range(value, low, high, op->name, p->name), \
           TENSOR_ERROR_VALUE)

// lt_resolve, of which a live handle of the kind needs little.
static inline lt_slot *resolve_handle(const void *handle, int kind, const char *op,
                                      const char *name) {
  lt_slot *slot = lt_pin(handle);
  return slot && slot->kind == kind ? slot : lt_resolve(handle, kind, op, name);
}

// Checks the arguments by the letters of their parameters, turns handles into slots, and notes
// which operand is a number: the engine sees a 0-dim tensor that counts as one.
static inline __attribute__((always_inline)) tensor_status check_arguments(const lt_operator *op,
                                                                           _Bool number,
                                                                           lt_frame *frame) {
  lt_value *v = frame->args;
  for (const lt_parameter *p = op->parameters, *end = p + op->count; p < end; p++, v++) {
    switch (p->kind) {
      case 'o':
      case 'O':
        if (number) {
          frame->number = (int32_t)(p - op->parameters) + 1;
          LT_RANGE(v->scalar.kind, p->kind == 'O', TENSOR_SCALAR_UINT);
          break;
        }
        if (p->kind == 'o' && !v->pointer) break;
        LT_HANDLE(LT_TENSOR);
        break;
      case 't':
      case 'p':
        if (!v->pointer) break;
        // fall through
      case 'T':
      case 'P':
        LT_HANDLE(LT_TENSOR);
        break;
      case 'g':
        if (!v->pointer) break;
        // fall through
      case 'G':
        LT_HANDLE(LT_GENERATOR);
        break;
      case 'w':
        if (!v->pointer) break;
        // fall through
      case 'W':
        LT_HANDLE(LT_STORAGE);
        break;
      case 'j':
        if (!v->pointer) break;
        // fall through
      case 'J':
        LT_HANDLE(LT_NODE);
        break;
      case 'a':
      case 'A':
      case 'r':
      case 'R':
      case 'z':
      case 'Z':
        LT_CHECK(
            lt_check_list(v->list.data, v->list.length, (p->kind | 32) == 'z', op->name, p->name),
            TENSOR_ERROR_HANDLE);
        break;
      case 'x':
      case 'X':
        LT_CHECK(lt_check_index(v->list.data, v->list.length, op->name, p->name),
                 TENSOR_ERROR_HANDLE);
        break;
      case 'k':
      case 'K':
        LT_CHECK(lt_check_texts(v->list.data, v->list.length, op->name, p->name),
                 TENSOR_ERROR_VALUE);
        break;
      case 'l':
      case 'L':
      case 'v':
      case 'V':
      case 'e':
      case 'E':
      case 'h':
      case 'H':
      case 'n':
      case 'N':
        LT_CHECK(!v->list.length || lt_check_span(v->list.data, v->list.length, op->name, p->name),
                 TENSOR_ERROR_VALUE);
        break;
      case 's':
      case 'S':
        LT_RANGE(v->scalar.kind, p->kind == 'S', TENSOR_SCALAR_UINT);
        break;
      case 'u':
        LT_CHECK(!v->text || *v->text || lt_check_word(v->text, op->name, p->name),
                 TENSOR_ERROR_RUNTIME);
        break;
      case 'U':
        LT_CHECK(v->text || lt_check_pointer(v->text, op->name, p->name), TENSOR_ERROR_VALUE);
        break;
      case 'c':
      case 'C':
        LT_RANGE(v->device.type, -1, LT_DEVICES - 1);
        break;
      case 'd':
      case 'D':
        if (v->i == TENSOR_DTYPE_NONE) break;
        LT_CHECK(p->flags & LT_ANY_DTYPE
                     ? lt_check_range(v->i, TENSOR_DTYPE_NONE, LT_DTYPES - 1, op->name, p->name)
                     : lt_check_dtype(v->i, op->name, p->name),
                 TENSOR_ERROR_VALUE);
        break;
      case 'y':
      case 'Y':
        LT_RANGE(v->i, -1, LT_LAYOUTS - 1);
        break;
      case 'm':
      case 'M':
        LT_RANGE(v->i, -1, LT_FORMATS - 1);
    }
  }
  return TENSOR_OK;
}

// The slots of the tensors that an out form writes to.
static tensor_status resolve_out(const lt_operator *op, lt_frame *frame) {
  const char *name = op->out;
  memset(frame->out, 0, sizeof frame->out);
  for (int i = 0; op->results[i]; i++, name += strlen(name) + 1)
    if (!(frame->out[i] =
              lt_resolve(frame->args[op->count + i].pointer, LT_TENSOR, op->name, name)))
      return TENSOR_ERROR_HANDLE;
  return TENSOR_OK;
}

// lt_run_operator, with what an observer is told if `observed`.
static inline __attribute__((always_inline)) tensor_status run_operator(const lt_operator *op,
                                                                        int form, bool number,
                                                                        lt_value *a,
                                                                        bool observed) {
  lt_frame frame;  // the engine reads the fields that its form has
  frame.op = op->number, frame.mode = form, frame.args = a;
  frame.number = 0, frame.runs = (op->flags & LT_RUNS) != 0;
  tensor_status status = check_arguments(op, number, &frame);
  if (!status && form == LT_OUT) status = resolve_out(op, &frame);
  if (status) return status;
  const char *name = form == LT_INPLACE ? op->called_ : op->called;
  lt_observation observation;
  if (observed) lt_observe_arguments(&observation, op, name, &frame);
  for (int i = 0; form == LT_FUNCTION && op->results[i]; i++)
    frame.results[i] = (lt_value){0};  // none, unless it is made
  status = lt_invoke(&frame, name);
  if (observed) lt_observe_results(&observation, op, &frame, status);
  for (int i = 0; form == LT_FUNCTION && !status && op->results[i]; i++) a[i] = frame.results[i];
  return status;
}

__attribute__((cold, noinline)) static tensor_status run_observed(const lt_operator *op, int form,
                                                                  bool number, lt_value *a) {
  return run_operator(op, form, number, a, true);
}

tensor_status lt_run_operator(const lt_operator *op, int form, bool number, lt_value *a) {
  if (__builtin_expect(lt_is_observed(), 0) && !(op->flags & LT_UNOBSERVED))
    return run_observed(op, form, number, a);
  return run_operator(op, form, number, a, false);
}

tensor_status lt_return_handle(const lt_operator *op, bool number, lt_value *a, void *out) {
  if (!out && !lt_check_pointer(out, op->name, op->out)) return TENSOR_ERROR_VALUE;
  const tensor_status status = lt_run_operator(op, LT_FUNCTION, number, a);
  if (!status) *(void **)out = a->pointer;
  return status;
}

// Checks where a list's length is stored to; `list` is the list's name.
static _Bool check_length(const lt_operator *op, const int64_t *length, const char *list) {
  if (length) return 1;
  char name[64];
  snprintf(name, sizeof name, "%s_len", list);
  return lt_check_pointer(length, op->name, name);
}

tensor_status lt_return_list(const lt_operator *op, bool number, lt_value *a, void *out,
                             int64_t *length) {
  if (!out && !lt_check_pointer(out, op->name, op->out)) return TENSOR_ERROR_VALUE;
  if (!check_length(op, length, op->out)) return TENSOR_ERROR_VALUE;
  const tensor_status status = lt_run_operator(op, LT_FUNCTION, number, a);
  if (!status) *(const void **)out = a->list.data, *length = a->list.length;
  return status;
}

static _Bool is_list(char kind) { return kind == 'A' || kind == 'K'; }

// Stores a result by the letter of its kind to the addresses; returns those of the next result.
static void *const *store_result(char kind, const lt_value *v, void *const *out) {
  switch (kind) {
    case 'A':
    case 'K':
      *(const void **)out[0] = v->list.data;
      *(int64_t *)out[1] = v->list.length;
      return out + 2;
    case 'B':
      *(bool *)*out = v->i != 0;
      break;
    case 'D':
      *(tensor_dtype *)*out = (tensor_dtype)v->i;
      break;
    case 'I':
      *(int64_t *)*out = v->i;
      break;
    case 'F':
      *(double *)*out = v->f;
      break;
    case 'S':
      *(tensor_scalar *)*out = v->scalar;
      break;
    case 'C':
      *(tensor_device *)*out = v->device;
      break;
    default:
      *(void **)*out = v->pointer;
  }
  return out + 1;
}

// Sets the error of the first address that is NULL.
static tensor_status reject_addresses(const lt_operator *op, void *const *out) {
  const char *name = op->out;
  for (const char *kind = op->results; *kind; kind++, name += strlen(name) + 1) {
    if (!lt_check_pointer(*out++, op->name, name)) break;
    if (is_list(*kind) && !check_length(op, *out++, name)) break;
  }
  return TENSOR_ERROR_VALUE;
}

tensor_status lt_return_results(const lt_operator *op, bool number, lt_value *a, void *const *out) {
  void *const *address = out;
  for (const char *kind = op->results; *kind; kind++) {
    for (int i = 0; i <= is_list(*kind); i++) {
      if (!*address++) return reject_addresses(op, out);
    }
  }
  const tensor_status status = lt_run_operator(op, LT_FUNCTION, number, a);
  if (status) return status;
  for (const char *kind = op->results; *kind; kind++, a++) out = store_result(*kind, a, out);
  return status;
}
