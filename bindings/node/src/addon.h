// The Node addon. table.c defines the JavaScript form of the library's operators; call.c binds the
// arguments of a call and runs it, immediately or, by async.c, on another thread. One lt_env exists
// per Node environment (the main thread, each worker). Files depend on each other in one direction,
// from addon.c at the top down to env.c (.ci/circles.py reports violations).
#ifndef LIBTENSOR_NODE_ADDON_H
#define LIBTENSOR_NODE_ADDON_H

#include <node_api.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../../capi/value.h"

// -------------------------------------------------------------------------------------------------------
// descriptions

// The type of an argument or a result, as the schema has it.
typedef enum lt_type {
  LT_TENSOR,
  LT_STORAGE,
  LT_GENERATOR,
  LT_NODE,     // an operation on the autograd graph
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
  LT_INDEX,
  LT_CALLBACK  // a function, as a tensor_callback
} lt_type;

// Those that objects of JavaScript own have classes.
enum { LT_CLASSES = LT_NODE + 1 };

enum {
  LT_IS_LIST = 1,
  LT_IS_OPTIONAL = 2,
  LT_IS_KEYWORD = 4,
  LT_HAS_DEFAULT = 8,
  LT_IS_MUTATED = 16,
  LT_IS_ALIAS = 32,
  LT_IS_MOVED = 64,      // the call may move the argument's storage to other memory
  LT_IS_VARIADIC = 128,  // the items of the list may be given as arguments
  LT_IS_INTEGERS = 256   // a tensor of integers, such as indices
};

typedef struct lt_argument {
  const char *name;  // in camel case
  uint8_t type;
  uint16_t flags;
  int8_t dim_of;   // the argument whose dimension it is, which may be given by name; -1
  lt_value value;  // the default
} lt_argument;

// An operator, as JavaScript calls it.
typedef struct lt_overload {
  const char *name;
  const lt_operator *row;  // of the library's table
  const lt_argument *arguments, *results;
  uint8_t argument_count, positional_count, result_count;
  int8_t operand;  // the operand that the number forms take as a number, -1 without
} lt_overload;

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
  const lt_overload *overloads;
  uint8_t count, forms;
} lt_entry;

// All names; NULL without memory.
const lt_entry *lt_read_table(size_t *count);

// --------------------------------------------------------------------------------------------------------
// environments

typedef struct lt_memory lt_memory;
typedef struct lt_buffer lt_buffer;
typedef struct lt_kept lt_kept;
typedef struct lt_inbox lt_inbox;

// The properties of a tensor without its elements.
typedef struct lt_facts {
  tensor_dtype dtype;
  tensor_device device;
  tensor_layout layout;
  int64_t numel, offset, dim;
  const int64_t *sizes, *strides;
} lt_facts;

// The native part of a JavaScript Tensor, Storage, Generator or Node. Only its environment's thread
// uses it.
typedef struct lt_box {
  void *handle;
  int32_t number;  // in the pool, from 1 on
  uint8_t kind;    // LT_TENSOR to LT_NODE
  bool wrapped;    // the JavaScript object lives
  bool disposed;   // the user has let go of it
  bool shared;     // the JavaScript object is a handle, which other objects get after this one
  bool idle;       // its handle waits for the next object
  bool writing;    // an asynchronous call writes it
  struct lt_facts *before;  // its properties before that call, or NULL
  int32_t reading;          // asynchronous calls that read it
  int32_t users;            // asynchronous calls that need the handle
  lt_memory *memory;        // of its storage, NULL without
  int64_t bytes;            // accounted for a separate storage, in place of a memory
  napi_ref lent;            // weak: the ArrayBuffer that data() gave
  const void *lent_data;    // its address and length
  size_t lent_bytes;
  struct lt_box *previous, *next;  // in the scope's list
  struct lt_scope *scope;
  napi_ref object;               // weak
  struct lt_box *older, *newer;  // in the environment's list
} lt_box;

typedef struct lt_scope {
  struct lt_scope *outer;
  lt_box *boxes;
} lt_scope;

// As in lib/classes.js. An item of an index has four of the numbers: its kind, start, stop and
// step.
enum {
  LT_CELL_READ,
  LT_CELL_MADE,
  LT_CELL_NOTED,
  LT_CELL_FAILED,
  LT_CELL_KINDS,
  LT_CELL_HANDLE = 9,
  LT_CELL_NUMBERS = 16
};
typedef enum lt_noted { LT_NOTED_ANY, LT_NOTED_NUMBER, LT_NOTED_OWN, LT_NOTED_OUT } lt_noted;
enum {
  LT_MOST_NOTED = 5,
  LT_CELL_LIST = -1000,
  LT_CELL_STRANGER = -1001,
  LT_CELL_ITERABLE = -1002
};

typedef struct lt_pool lt_pool;
typedef struct lt_saving lt_saving;
typedef struct lt_told lt_told;
typedef struct lt_defined lt_defined;

typedef struct lt_env {
  napi_env env;
  lt_pool *pool;
  // Functions of lib/classes.js: they create an object of each class, return and change the number
  // of an object's box, collect garbage of young objects, or with true of all, wrap operator
  // functions so that their arguments are recorded, make a tensor of an array, an array of an
  // iterable, and an error. Those of lib/signals.js register and unregister a function for an
  // AbortSignal. The references are weak, so that an unused copy of the package can be collected;
  // while asynchronous calls run, the object that contains all of them is kept.
  napi_ref makers[LT_CLASSES], reader, writer, collector, noting, to_tensor, list, fail, watch,
      unwatch;
  napi_ref parts;
  bool eager;       // references can be deleted before the finalizers of their objects have run
  napi_ref cells;   // memory that lib/classes.js and the addon exchange numbers through
  int32_t *cell;    // its integers: LT_CELL_READ and those that follow
  double *numbers;  // and its numbers, as many as LT_CELL_NUMBERS
  const lt_overload *index, *select, *slice;
  struct lt_binding *bindings;
  lt_scope *scope;
  lt_box gone[LT_CLASSES];  // for objects that were disposed
  lt_box *newest;           // of all boxes whose object has not been finalized
  int64_t boxes,
      kept_boxes;  // how many there are, without idle ones: now, and after the last collection
  int64_t idle_boxes;
  lt_buffer *buffers;     // whose memory tensors use
  struct lt_loan *loans;  // ArrayBuffers over memory of tensors
  lt_memory **memories;   // a hash table by address
  size_t memory_count, memory_room;
  int64_t bytes, kept_bytes;  // of all memories: now, and after the last collection
  int64_t patience;           // growth until the next collection
  int64_t unreported;         // external bytes that V8 has not been told of
  tensor_dtype default_dtype;
  lt_inbox *inbox;
  struct lt_async *async;
  int64_t pending;  // asynchronous calls
  struct lt_waiter *waiters;
  lt_saving *saving;  // the innermost hooks that operations save by
  napi_ref raised;    // the exception of a callback, in an array
  lt_told *told;      // the pending warnings
  pthread_t thread;   // that runs the environment's JavaScript
  lt_defined *defined;
  bool closing;  // warnings are no longer reported
} lt_env;

lt_env *lt_get_env(napi_env env);

lt_pool *lt_new_pool(void);  // NULL without memory
void lt_free_pool(lt_pool *pool);
lt_box *lt_new_box(lt_pool *pool);  // zeroed; NULL without memory
void lt_free_box(lt_pool *pool, lt_box *box);
lt_box *lt_box_at(const lt_pool *pool, int32_t number);
// Between these two calls, freed boxes are kept, because a call uses them.
void lt_keep_boxes(lt_pool *pool);
void lt_leave_boxes(lt_pool *pool);
bool lt_keeps_boxes(const lt_pool *pool);

// --------------------------------------------------------------------------------------------------------------
// errors

// These throw unless an exception is pending, and return NULL or false so that callers can return
// them.
napi_value lt_throw_status(napi_env env, tensor_status status, const char *message);
bool lt_throw_type(napi_env env, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The error object of a failed call.
napi_value lt_error(napi_env env, tensor_status status, int32_t number, const char *message);
// Throws the library's error of a call of a function of that name.
napi_value lt_throw_last(napi_env env, tensor_status status, const char *name);
// A message of the library's in JavaScript's words; and in the name of the function that was
// called. malloc's; NULL without memory.
char *lt_in_javascript(const char *message);
char *lt_in_name_of(const char *name, const char *message);
// Throws the error of a failed N-API call, and returns false for one.
bool lt_ok(napi_env env, napi_status status);

// ---------------------------------------------------------------------------------------------------------------
// boxes

// The use of a box by a call: it reads sizes and strides, reads elements, adds to them under a
// lock, writes them, or moves the storage to other memory.
typedef enum lt_access { LT_LOOKS, LT_READS, LT_ADDS, LT_WRITES, LT_MOVES } lt_access;

typedef struct lt_call lt_call;
void lt_throw_of_call(napi_env env, const lt_call *call, tensor_status status);

// Makes the JavaScript object that owns handle, a result of call, which may be NULL. NULL on
// failure, after which the handle is freed.
napi_value lt_wrap(napi_env env, lt_type kind, void *handle, const lt_call *call);
void lt_free_handle(lt_type kind, void *handle);
// Returns a tensor to the handle of the object that waits for it; the number of its box, 0 on
// failure.
int32_t lt_wrap_result(napi_env env, tensor_t *handle, const lt_call *call, napi_value object);
// The box behind the number that an object has.
lt_box *lt_box_of(lt_env *e, int32_t number);
// The box of an object, NULL for objects of other classes. Disposed objects, which have no box,
// share one for each class.
lt_box *lt_unwrap(napi_env env, napi_value object);
// Checks that a box permits an access; throws otherwise.
bool lt_check_box(napi_env env, const char *op, const char *argument, lt_box *box,
                  lt_access access);
// Saves the properties of a box that an asynchronous call writes from now on, which may change on
// another thread; ends with the call.
void lt_begin_writing(lt_box *box);
void lt_end_writing(lt_box *box);
void lt_use(lt_box *box);
void lt_unuse(napi_env env, lt_box *box);
// Collects unreachable objects before a call that needs more memory.
void lt_make_room(napi_env env, lt_env *e);
// Reports external memory to V8.
void lt_account(napi_env env, lt_env *e, int64_t bytes);
bool lt_define_classes(napi_env env, napi_value exports, const napi_value *classes);

// -------------------------------------------------------------------------------------------------------
// memory of storages

// The bytes of one storage, known by their address, which all boxes over them share.
struct lt_memory {
  uintptr_t base;                        // 0 for none; then it is not in the table
  int64_t bytes;                         // accounted as external memory
  int32_t users;                         // boxes, and ArrayBuffers that data() gave
  lt_buffer *buffer;                     // the ArrayBuffer that contains the bytes, or NULL
  struct lt_held *claims[LT_MOVES + 1];  // the asynchronous calls that use it, by kind of use
  lt_memory *next;                       // in the table
};

// Accounts for a new box, created by call, or NULL: a small tensor by its bytes, everything else by
// the memory of the storage. Without memory for the accounting, the box is not accounted.
void lt_attach(napi_env env, lt_env *e, lt_box *box, const lt_call *call);
// Returns a small tensor its memory, before others share it or an asynchronous call claims it.
void lt_track(napi_env env, lt_env *e, lt_box *box);
void lt_detach(napi_env env, lt_env *e, lt_box *box);
void lt_leave_memory(napi_env env, lt_env *e, lt_memory *memory);
// Updates a box whose call may have moved its memory, or replaced its storage.
void lt_follow(napi_env env, lt_env *e, lt_box *box, bool moved);
// Follows an out, which the call may have resized.
void lt_follow_out(napi_env env, lt_env *e, lt_box *box);
// Whether an object may have the memory of a tensor.
bool lt_reachable(const lt_env *e, const tensor_t *t);
// Whether asynchronous calls permit an access to a box's elements; sets doing to their use if not.
bool lt_unclaimed(const lt_box *box, lt_access access, const char **doing);
// Whether two boxes have bytes in common, between the first and the last element of each.
bool lt_overlap(const lt_box *a, const lt_box *b);
void lt_claim(struct lt_held *held);
void lt_unclaim(struct lt_held *held);

// -------------------------------------------------------------------------------------------------------
// shared buffers

// A release request in the environment's inbox: the first member of a malloc block.
typedef struct lt_letter {
  void (*open)(napi_env env, struct lt_letter *letter);
  lt_inbox *to;
  struct lt_letter *next;
} lt_letter;

bool lt_open_inbox(napi_env env, lt_env *e);
void lt_close_inbox(napi_env env, lt_env *e);
// Announces a letter, which is posted once.
void lt_expect(lt_inbox *inbox, lt_letter *letter);
void lt_post(lt_letter *letter);  // on any thread
// Releases the objects in the inbox, which other threads may have put there.
void lt_drain_inbox(napi_env env, lt_env *e);

// An ArrayBuffer whose memory tensors use. Only its environment's thread may let go of it, but its
// last tensor can be freed on any thread.
struct lt_buffer {
  lt_letter letter;
  napi_ref array_buffer;
  const char *data;
  size_t length;
  bool detachable;  // another owner can take the memory away at any time
  int32_t holders;  // memories, and the storage
  lt_buffer *next;  // of those that the environment has
  lt_buffer **link;
};

void lt_release_buffer(napi_env env, lt_buffer *buffer);
bool lt_buffer_detached(napi_env env, const lt_buffer *buffer);
// The ArrayBuffer that contains a tensor's elements, even if no box records it; NULL for none.
const lt_buffer *lt_buffer_of(napi_env env, const lt_env *e, const tensor_t *t);
bool lt_define_buffers(napi_env env, napi_value exports);

// --------------------------------------------------------------------------------------------------------------
// values

typedef enum lt_kind {
  LT_JS_ABSENT,
  LT_JS_NULL,
  LT_JS_BOOL,
  LT_JS_INT,   // a number without a fraction that an int64 holds, or a bigint
  LT_JS_UINT,  // a bigint beyond int64 that a uint64 holds
  LT_JS_FLOAT,
  LT_JS_COMPLEX,
  LT_JS_STRING,
  LT_JS_ARRAY,
  LT_JS_TYPED_ARRAY,
  LT_JS_TENSOR,
  LT_JS_STORAGE,
  LT_JS_GENERATOR,
  LT_JS_NODE,
  LT_JS_SLICE,
  LT_JS_OBJECT,
  LT_JS_WIDE,  // a bigint beyond 64 bits
  LT_JS_REST,  // the integers from one argument on, as a list
  LT_JS_FUNCTION,
  LT_JS_STRANGER,  // an object of another copy of the package
  LT_JS_OTHER
} lt_kind;

// A JavaScript value, looked at once.
typedef struct lt_js {
  napi_value value;
  lt_kind kind;
  tensor_scalar scalar;      // of numbers
  lt_box *box;               // of objects that own handles
  const struct lt_js *rest;  // of LT_JS_REST: the first
  int rest_count;
} lt_js;

// A tensor, storage or generator of a call.
typedef struct lt_held {
  lt_box *box;
  const char *argument;
  lt_access access;
  void **handle;   // where the call finds it
  tensor_t *copy;  // that an asynchronous call works on instead
  // The elements as an asynchronous call's claim on the memory.
  lt_memory *memory;
  const char *low, *high;
  int64_t storage_id;  // of a claim to write or to move
  const bool *paused;  // while it is set the claim does not count; NULL for one that always does
  struct lt_held *previous, *next;
} lt_held;

// One call: its bound arguments and the resources that it must release. Asynchronous calls keep it
// on the heap.
struct lt_call {
  const lt_overload *op;
  const char *name;  // the binding's
  int mode;          // LT_FUNCTION, LT_INPLACE or LT_OUT
  bool number;       // the last operand is a number
  lt_value arguments[LT_MOST_PARAMETERS];
  lt_value results[LT_MOST_RESULTS];
  napi_value outs[LT_MOST_RESULTS];  // the objects that an out or in-place form returns
  bool views;                        // it only makes views, and reads no elements
  bool aliases;                      // a result may share memory with its tensors
  bool shares;                       // a tensor of the call is in an ArrayBuffer
  bool moves;                        // a storage of the call may get other memory
  lt_held *held;                     // tensors, storages and generators of the call
  int32_t held_count, held_room;
  struct lt_temporary *temporaries;  // numbers and arrays made into tensors
  const char *const *names;          // the option names of a factory, or NULL
  int64_t name_count;
  bool leaf;                // the option requiresGrad, of a factory too
  napi_value waiting;       // the handle that is to own the tensor that it makes; NULL without
  int32_t reused;           // the number of the handle's box, 0 of a new handle
  int32_t made;             // the number of its box then
  lt_kept *callback;        // that the library takes over with success
  struct lt_block *blocks;  // of lists and strings
  size_t used;
  _Alignas(16) char inline_block[512];
};

void lt_look_number(double number, lt_js *js);
void lt_look_box(lt_box *box, lt_js *js);
// False only with an exception pending.
bool lt_look(napi_env env, napi_value value, lt_js *js);
// Throws that an argument is, or has, a bigint that does not fit; false.
bool lt_throw_wide(napi_env env, const char *op, const char *argument, lt_kind kind);
// Whether a value fits an argument, by its kind; with arrays also those that are to be made
// tensors.
bool lt_accepts(napi_env env, const lt_argument *argument, const lt_js *js, bool arrays);
// A tensor of an array that is given for an argument, for the call.
bool lt_from_array(napi_env env, lt_call *call, const lt_argument *argument, const lt_js *js,
                   tensor_t **to);
// Puts a value that fits into its C form; false with an exception pending.
bool lt_convert(napi_env env, lt_call *call, const lt_argument *argument, const lt_js *js,
                lt_value *to);
// The strings of an array of names, "" for null.
bool lt_convert_names(napi_env env, lt_call *call, const lt_js *js);
napi_value lt_from_scalar(napi_env env, tensor_scalar scalar);
napi_value lt_from_int(napi_env env, int64_t value);
napi_value lt_from_device(napi_env env, tensor_device device);
napi_value lt_from_text(napi_env env, const char *text);
const char *lt_layout_name(tensor_layout layout);
// How an argument's type reads in messages.
const char *lt_type_name(const lt_argument *argument);
const char *lt_kind_name(const lt_js *js);
// The same for an argument that does not match; the first item of an array may determine its type.
void lt_describe(napi_env env, const lt_argument *argument, const lt_js *js, char *to, size_t room);
// Whether a value is an integer: also -0, which is a number like 0.5 where those are taken.
bool lt_is_integer(const lt_js *js);

bool lt_read_dtype(const char *text, tensor_dtype *dtype);
// Reads a string as a value of an enumeration; false when it names none.
bool lt_read_name(lt_type type, const char *text, lt_value *to);
// A string, as far as there is room; false for other values and for one with NUL characters.
bool lt_short_text(napi_env env, napi_value value, char *to, size_t room);

bool lt_define_nested(napi_env env, napi_value exports);

// ---------------------------------------------------------------------------------------------------------------
// calls

// A function of the module or a method of a class: an entry in one of its forms.
typedef struct lt_binding {
  const char *name;  // name for the caller: "add_", "linalg.normAsync"
  const lt_entry *entry;
  int mode;
  bool method, async;
} lt_binding;

void *lt_allocate(lt_call *call, size_t bytes);
void lt_start_call(lt_call *call, const lt_overload *op, int mode);
// Has a tensor freed with the call; false, with an exception, without memory.
bool lt_keep_tensor(napi_env env, lt_call *call, tensor_t *tensor);
// Checks a box and notes that the call uses it; *handle is where the call finds its handle.
bool lt_hold(napi_env env, lt_call *call, const char *argument, lt_box *box, lt_access access,
             void **handle);
// Checks all boxes again: getters and proxies among the arguments may have disposed or transferred
// tensors that were bound before.
bool lt_check_held(napi_env env, const lt_call *call);
// Reads the arguments of a call; signal is NULL, or takes the option of that name.
bool lt_prepare(napi_env env, napi_callback_info info, lt_call *call, napi_value *signal);
// Runs the C function, on any thread, with the default dtype of the environment.
tensor_status lt_run_call(lt_call *call, tensor_dtype default_dtype);
// The value that a call returns; the results are JavaScript's from then on.
napi_value lt_results(napi_env env, lt_call *call);
void lt_drop_results(lt_call *call);
void lt_end_call(lt_call *call);
napi_value lt_invoke(napi_env env, napi_callback_info info);
napi_value lt_set_default_dtype(napi_env env, napi_callback_info info);
napi_value lt_index_noted(napi_env env, napi_callback_info info);
// Calls of operators by name, and their schemas (named.c).
napi_value lt_call_named(napi_env env, napi_callback_info info);
napi_value lt_schema_of(napi_env env, napi_callback_info info);
// The object of a value, which owns its tensors from then on.
napi_value lt_from_value(napi_env env, tensor_value *value);
// Custom operators (operators.c). Those of an environment are removed with it.
bool lt_define_custom(napi_env env, napi_value exports);
void lt_remove_operators(lt_env *e);
bool lt_define_operators(napi_env env, lt_env *e, napi_value exports);
bool lt_define_programs(napi_env env, napi_value exports);
// The lock of calls with one default dtype (turn.c), which a call holds while it runs, except in
// JavaScript callbacks: lt_pause releases it and returns the dtype; taking it again waits for other
// calls.
tensor_dtype lt_pause(void);
tensor_status lt_resume(tensor_dtype dtype);

// -------------------------------------------------------------------------------------------------------
// functions that the library calls

// Something of JavaScript's that the library keeps, in an array.
struct lt_kept {
  lt_letter letter;
  lt_env *e;
  napi_ref array;
};

// A request to a JavaScript callback: as a tensor_callback, as a tensor_pack, as a tensor_unpack,
// or as a function of a custom operator.
typedef struct lt_question {
  enum { LT_CALL, LT_PACK, LT_UNPACK, LT_OPERATOR } kind;
  lt_kept *kept;  // its functions
  tensor_t **given, **made;
  int64_t given_count, made_count;
  lt_kept *packed;
  napi_ref *raised;  // its exception
  // Calls the function of a custom operator; false with an exception pending.
  bool (*answer)(napi_env env, struct lt_question *question);
} lt_question;

// Keeps some values; NULL with an exception pending.
lt_kept *lt_keep(napi_env env, const napi_value *values, uint32_t count);
void lt_let_go(void *kept);  // a tensor_deleter
// One of the values, from 0 on.
bool lt_kept_value(napi_env env, const lt_kept *kept, uint32_t at, napi_value *to);
// A tensor_callback whose context is a lt_kept.
tensor_status lt_call_back(void *kept, tensor_t **given, int64_t given_count, tensor_t **made,
                           int64_t made_count);
// Calls a function of JavaScript's and waits for its answer. Functions of other environments than
// that of the call are an error.
tensor_status lt_ask_function(lt_question *question);
// Calls the function, on the environment's thread; false where it failed.
bool lt_answer(napi_env env, lt_question *question);
// The exception of a call that failed in a function of JavaScript's, NULL for none.
napi_value lt_take_raised(napi_env env, napi_ref *raised);

// The thread's saved-tensor hooks, for an asynchronous call; NULL for none, or with an exception
// pending.
lt_kept *lt_keep_saving(napi_env env, lt_env *e);
tensor_status lt_push_saving(lt_kept *hooks);
void lt_drop_saving(lt_env *e);
bool lt_define_hooks(napi_env env, napi_value exports);

// -------------------------------------------------------------------------------------------------------
// asynchronous calls

// The tensors that a backward pass uses in addition to its operands.
typedef struct lt_graph {
  lt_held *held;
  int64_t count;
  bool shares;  // a part of it is in an ArrayBuffer
  bool paused;  // the run waits for a function of JavaScript's, which may write all of it
} lt_graph;

// Replaces operands in ArrayBuffers by copies; returns false with an exception pending.
bool lt_copy_operands(napi_env env, const lt_env *e, lt_call *call);
// Copies written elements back to the call's tensors; message is allocated by malloc.
tensor_status lt_copy_back(napi_env env, const lt_call *call, char **message);
void lt_drop_copies(lt_call *call);
// Whether a call writes a part of an ArrayBuffer that it uses as another tensor, too, which copies
// would not show.
bool lt_writes_shared(const lt_call *call);
// Holds the tensors that a backward pass will use; returns false with an exception pending.
bool lt_hold_graph(napi_env env, const lt_call *call, lt_graph *graph);
void lt_release_graph(napi_env env, lt_graph *graph);
// Whether a call may run the hooks or functions of nodes.
bool lt_runs_graph(const lt_call *call);
// Rejects a backward pass through memory of a transferred ArrayBuffer; returns false with an
// exception pending.
bool lt_check_graph(napi_env env, const lt_call *call);
// Who waits until asynchronous calls are done with tensors: those are told whose tensors none uses.
napi_value lt_settled(napi_env env, napi_callback_info info);
void lt_tell_waiters(napi_env env, lt_env *e);
void lt_free_waiters(lt_env *e);
napi_value lt_invoke_async(napi_env env, napi_callback_info info);
bool lt_open_async(napi_env env, lt_env *e, napi_value exports);
void lt_free_async(lt_env *e);
// The environment that the calling thread runs a job for; NULL for environments' own threads.
lt_env *lt_env_of_job(void);

// Makes the environment of the calling thread receive the library's warnings until it ends.
void lt_open_warnings(lt_env *e);
void lt_close_warnings(lt_env *e);
// Has the warnings of the calls that follow told by an environment: a thread may have several.
void lt_hear_warnings(lt_env *e);
// Has a question answered by the environment's thread, where this one runs an asynchronous call:
// *asked reports whether it does.
bool lt_ask(lt_question *question, bool *asked);

#endif
