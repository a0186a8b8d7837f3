// Tensors from nested lists of scalars. A binding traverses the lists of its language and reports
// lists, with their lengths, and scalars, in order. The library infers the sizes and the dtype,
// converts the scalars, and returns an error for lists of unequal lengths. Inline functions store
// the frequent scalar types without a call.
#ifndef LIBTENSOR_CAPI_LISTS_H
#define LIBTENSOR_CAPI_LISTS_H

#include <stdbool.h>

#include "../include/tensor.h"

enum { LT_DEEPEST = 128, LT_FEW = 32 };

// Kinds of numbers. A list of several kinds is stored as the last of them: LT_UINTS if some are
// beyond int64 and none is negative.
typedef enum { LT_BOOLS, LT_INTS, LT_UINTS, LT_FLOATS, LT_COMPLEX, LT_NONE_YET } lt_numbers;

// The list so far. An integer or a float takes 8 bytes of `items`, a complex number 16.
typedef struct lt_list {
  int64_t *at, *end;  // the position for the next number of the kind `straight`, and its limit
  lt_numbers straight;
  tensor_dtype dtype;   // of the tensor, TENSOR_DTYPE_NONE to infer it from the numbers
  tensor_dtype floats;  // for floats without a dtype, TENSOR_DTYPE_NONE for the default
  bool own;             // `items` was allocated
  bool whole;           // it is of integers
  lt_numbers held;      // the kind of numbers in `items`
  unsigned kinds;       // a bit for every kind of the numbers that had no dtype
  uint64_t dtypes;      // a bit for every dtype that numbers had
  int64_t *items, *room, few[LT_FEW];
  char beyond[80];  // the digits of the first integer beyond int64
  int depth, dims;  // of the open lists; of all
  bool leaf;        // `dims` is determined by numbers
  int64_t sizes[LT_DEEPEST], left[LT_DEEPEST];
} lt_list;

// Begins a list. The tensor has `dtype`, or the common dtype of its numbers: floats without a dtype
// have `floats`, or the default dtype if that is none. Call tensor_list_end in any case, also after
// an error.
TENSOR_API void tensor_list_begin(lt_list *l, tensor_dtype dtype, tensor_dtype floats);

// Provides memory for n numbers, before the first one and until the end. It may be the memory of
// the numbers that follow.
TENSOR_API void tensor_list_lend(lt_list *l, void *memory, int64_t n);

// A list of n items follows.
TENSOR_API tensor_status tensor_list_open(lt_list *l, int64_t n);

// Adds a number, with a dtype if it is known. Integers beyond int64 are supported for uint64;
// tensors of floats round them, and others reject them.
TENSOR_API tensor_status tensor_list_number(lt_list *l, tensor_scalar number, tensor_dtype dtype);

// An integer beyond 64 bits follows: its digits, and the nearest float.
TENSOR_API tensor_status tensor_list_beyond(lt_list *l, const char *digits, double nearest);

// Adds n numbers of a language in which integers are floats without a fraction: integers in the
// range of int64 become ints, except -0.
TENSOR_API tensor_status tensor_list_numbers(lt_list *l, const double *numbers, int64_t n);

// Returns the tensor of the list, on the CPU. With `out` NULL it discards the list.
TENSOR_API tensor_status tensor_list_end(lt_list *l, tensor_t **out);

// Keeps a tensor's sizes, strides and bytes unchanged while the calling thread reads them itself,
// as for lists of its elements; `data` is the first element. Ends with tensor_let_go of `held`.
TENSOR_API tensor_status tensor_hold(const tensor_t *self, void **data, int64_t *held);
TENSOR_API void tensor_let_go(int64_t held);

// Adds a number. Returns false if the fast path does not apply, and tensor_list_number has to be
// called.
static inline bool lt_list_float(lt_list *l, double x) {
  if (l->straight != LT_FLOATS || l->at == l->end) return false;
  return __builtin_memcpy(l->at++, &x, sizeof x), true;
}

static inline bool lt_list_complex(lt_list *l, double re, double im) {
  if (l->straight != LT_COMPLEX || l->at == l->end) return false;
  __builtin_memcpy(l->at++, &re, sizeof re);
  return __builtin_memcpy(l->at++, &im, sizeof im), true;
}

static inline bool lt_list_whole(lt_list *l, lt_numbers kind, int64_t x) {
  if (l->straight != kind || l->at == l->end) return false;
  return *l->at++ = x, true;
}

#endif
