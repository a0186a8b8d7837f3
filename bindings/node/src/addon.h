// The Node addon. gen_operators.c describes every operator in tables; call.c binds JavaScript
// arguments to a description and runs it, at once or on a thread of the pool. One lt_env exists per
// Node environment (the main thread, each worker).
#ifndef LIBTENSOR_NODE_ADDON_H
#define LIBTENSOR_NODE_ADDON_H

#include <node_api.h>
#include <stdlib.h>
#include <string.h>

#include "../../../include/tensor.h"

// -------------------------------------------------------------------------------------------------------
// descriptions

// The type of an argument or a result, as the schema has it.
typedef enum lt_type {
  LT_TENSOR,
  LT_STORAGE,
  LT_GENERATOR,
  LT_OPERAND,  // a tensor or a number
  LT_SCALAR,
  LT_INT,
  LT_FLOAT,
  LT_BOOL,
  LT_STR,
  LT_DTYPE,
  LT_DEVICE,
  LT_LAYOUT,
  LT_FORMAT,
  LT_INDEX
} lt_type;

enum {
  LT_IS_LIST = 1,
  LT_IS_OPTIONAL = 2,
  LT_IS_KEYWORD = 4,
  LT_HAS_DEFAULT = 8,
  LT_IS_MUTATED = 16,
  LT_IS_ALIAS = 32
};

// An argument or result in C form.
typedef union lt_value {
  tensor_t *tensor;
  tensor_storage_t *storage;
  tensor_generator_t *generator;
  tensor_scalar scalar;
  int64_t i;
  double f;
  bool b;
  tensor_dtype dtype;
  const double *number;  // an optional float
  const char *text;
  char *string;
  tensor_device device;
  struct {
    const void *data;  // NULL when absent
    int64_t length;
  } list;
  struct {
    tensor_t **items;
    int64_t length;
  } tensors;
  struct {
    char **items;
    int64_t length;
  } strings;
} lt_value;

typedef struct lt_argument {
  const char *name;  // in camel case
  uint8_t type, flags;
  lt_value value;  // the default
} lt_argument;

typedef enum lt_mode { LT_FUNCTION, LT_INPLACE, LT_OUT, LT_MODES } lt_mode;

// Calls the C function of one form.
typedef tensor_status (*lt_form)(const lt_value *a, lt_value *r);

typedef struct lt_operator {
  const char *name;
  const lt_argument *arguments, *results;
  uint8_t argument_count, positional_count, result_count;
  int8_t operand;              // the operand that the number forms take as a number, -1 without
  lt_form forms[LT_MODES][2];  // [mode][the operand is a number]
} lt_operator;

enum {
  LT_AS_FUNCTION = 1,
  LT_AS_METHOD = 2,
  LT_AS_INPLACE = 4,
  LT_AS_ASYNC = 8,
  LT_AS_STORAGE = 16,
  LT_AS_GENERATOR = 32
};

// A name in JavaScript and the overloads behind it.
typedef struct lt_entry {
  const char *path;  // "add", "linalg.norm"
  const lt_operator *overloads;
  uint8_t count, forms;
} lt_entry;

extern const lt_entry lt_entries[];
extern const size_t lt_entry_count;

enum { LT_MAX_ARGUMENTS = 24, LT_MAX_RESULTS = 8 };

// --------------------------------------------------------------------------------------------------------
// environments

typedef struct lt_buffer lt_buffer;

// What a JavaScript Tensor, Storage or Generator wraps. Only its environment's thread touches it.
typedef struct lt_box {
  void *handle;
  uint8_t kind;                    // LT_TENSOR, LT_STORAGE, LT_GENERATOR
  bool wrapped;                    // the JavaScript object lives
  bool disposed;                   // the user has let go of it
  int32_t users;                   // asynchronous calls that need the handle
  int32_t reading;                 // asynchronous calls that read it
  bool writing;                    // an asynchronous call writes it
  int64_t bytes;                   // accounted as external memory
  lt_buffer *buffer;               // the ArrayBuffer whose memory the tensor shares, if any
  struct lt_box *previous, *next;  // in the scope's list
  struct lt_scope *scope;
  napi_ref object;               // weak
  struct lt_box *older, *newer;  // in the environment's list
} lt_box;

typedef struct lt_scope {
  struct lt_scope *outer;
  lt_box *boxes;
} lt_scope;

typedef struct lt_pool lt_pool;

typedef struct lt_env {
  lt_pool *pool;
  napi_ref classes[3];  // by kind
  struct lt_binding *bindings;
  lt_box *pending;  // for the constructor that lt_wrap calls
  lt_scope *scope;
  lt_box *newest;                   // of all boxes whose object has not been finalized
  int64_t boxes, made, made_bytes;  // how many there are, and what came since the last sweep
  int64_t unreported;               // external bytes that V8 has not been told of
  struct lt_inbox *inbox;
} lt_env;

lt_env *lt_get_env(napi_env env);

lt_pool *lt_new_pool(void);  // NULL without memory
void lt_free_pool(lt_pool *pool);
lt_box *lt_new_box(lt_pool *pool);  // zeroed; NULL without memory
void lt_free_box(lt_pool *pool, lt_box *box);
bool lt_is_box(const lt_pool *pool, const void *address);

// --------------------------------------------------------------------------------------------------------------
// errors

// These throw unless an exception is pending, and return NULL or false so that callers can return
// them.
napi_value lt_throw_status(napi_env env, tensor_status status, const char *message);
bool lt_throw_type(napi_env env, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The error object of a failed call.
napi_value lt_error(napi_env env, tensor_status status, const char *message);
// Throws what a failed N-API call left behind; false when it did fail.
bool lt_ok(napi_env env, napi_status status);

// ---------------------------------------------------------------------------------------------------------------
// boxes

// Makes the JavaScript object that owns handle. bytes is what it adds to the memory of the process.
// NULL on failure, after which the handle is freed.
napi_value lt_wrap(napi_env env, lt_type kind, void *handle, int64_t bytes);
// The box behind an object of ours, NULL for all else.
lt_box *lt_unwrap(napi_env env, napi_value value);
// Checks that a box can be read, or written; throws otherwise.
bool lt_check_box(napi_env env, const char *op, const char *argument, lt_box *box, bool write);
void lt_use(lt_box *box);
void lt_unuse(napi_env env, lt_box *box);
bool lt_define_classes(napi_env env, napi_value exports);

// -------------------------------------------------------------------------------------------------------
// shared buffers

// Ties a result to the ArrayBuffer that it shares memory with, when one of the call's tensors does.
void lt_inherit_buffer(lt_box *box, lt_buffer *from);
void lt_release_buffer(napi_env env, lt_buffer *buffer);
bool lt_buffer_detached(napi_env env, const lt_buffer *buffer);
bool lt_define_memory(napi_env env, napi_value exports);
bool lt_open_inbox(napi_env env, lt_env *e);
void lt_close_inbox(lt_env *e);
// Lets go of ArrayBuffers whose last tensor was freed, maybe on another thread.
void lt_drain_inbox(napi_env env, lt_env *e);

// --------------------------------------------------------------------------------------------------------------
// values

typedef enum lt_kind {
  LT_JS_ABSENT,
  LT_JS_NULL,
  LT_JS_BOOL,
  LT_JS_INT,  // a number without a fraction that an int64 holds, or a bigint
  LT_JS_FLOAT,
  LT_JS_COMPLEX,
  LT_JS_STRING,
  LT_JS_ARRAY,
  LT_JS_TYPED_ARRAY,
  LT_JS_TENSOR,
  LT_JS_STORAGE,
  LT_JS_GENERATOR,
  LT_JS_SLICE,
  LT_JS_OBJECT,
  LT_JS_OTHER
} lt_kind;

// A JavaScript value, looked at once.
typedef struct lt_js {
  napi_value value;
  lt_kind kind;
  tensor_scalar scalar;  // of numbers
  lt_box *box;           // of tensors, storages and generators
} lt_js;

typedef struct lt_held {
  lt_box *box;
  bool write;
} lt_held;

// One call: its bound arguments and what it must give back. Kept on the heap by asynchronous calls.
typedef struct lt_call {
  const lt_operator *op;
  lt_mode mode;
  lt_form form;
  lt_value arguments[LT_MAX_ARGUMENTS];
  lt_value results[LT_MAX_RESULTS];
  napi_value outs[LT_MAX_RESULTS];  // the objects that an out or in-place form returns
  bool shares;                      // a tensor of the call lies in an ArrayBuffer
  lt_held *held;                    // tensors, storages and generators of the call
  int32_t held_count, held_room;
  tensor_t *temporaries[LT_MAX_ARGUMENTS];  // numbers made into operands
  int32_t temporary_count;
  struct lt_block *blocks;  // of lists and strings
  size_t used;
  _Alignas(16) char inline_block[512];
} lt_call;

// False only with an exception pending.
bool lt_look(napi_env env, napi_value value, lt_js *js);
// Whether a value fits an argument, by its kind.
bool lt_accepts(napi_env env, const lt_argument *argument, const lt_js *js);
// Puts a value that fits into its C form; false with an exception pending.
bool lt_convert(napi_env env, lt_call *call, const lt_argument *argument, const lt_js *js,
                lt_value *to);
napi_value lt_from_scalar(napi_env env, tensor_scalar scalar);
napi_value lt_from_int(napi_env env, int64_t value);
napi_value lt_from_device(napi_env env, tensor_device device);
napi_value lt_from_text(napi_env env, const char *text);
const char *lt_layout_name(tensor_layout layout);
// How an argument's type reads in messages.
const char *lt_type_name(const lt_argument *argument);
const char *lt_kind_name(const lt_js *js);

bool lt_read_dtype(const char *text, tensor_dtype *dtype);

// ---------------------------------------------------------------------------------------------------------------
// calls

void *lt_allocate(lt_call *call, size_t bytes);
bool lt_hold(napi_env env, lt_call *call, const char *argument, lt_box *box, bool write);
bool lt_define_operators(napi_env env, lt_env *e, napi_value exports);

#endif
