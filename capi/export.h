// Macros of the generated exports. A line defines a function, which writes its arguments to an
// array and calls the operator's row of the table. Results and arguments are pairs of a kind and a
// name: LT_RETURN_HANDLE(tensor_abs, abs, false, (Tensor, out), (Tensor, self)).
#ifndef LIBTENSOR_CAPI_EXPORT_H
#define LIBTENSOR_CAPI_EXPORT_H

#include "each.h"
#include "gen_numbers.h"
#include "handle.h"

// Not constant, so that a test can replace lt_run_operator.
extern lt_operator lt_operators[];
#define LT_OP(name) (lt_operators + LT_OP_##name)

// lt_operator.run of every operator.
tensor_status lt_run_operator(const lt_operator *op, int form, bool number, lt_value *a);

// lt_run_operator of an operator whose one result is a handle.
tensor_status lt_return_handle(const lt_operator *op, bool number, lt_value *a, void *out);

// lt_run_operator of an operator whose one result is a list.
tensor_status lt_return_list(const lt_operator *op, bool number, lt_value *a, void *out,
                             int64_t *length);

// lt_run_operator of an operator with results of any kind; `out` has their addresses, and that of
// the length behind each list.
tensor_status lt_return_results(const lt_operator *op, bool number, lt_value *a, void *const *out);

// The kinds of arguments: one value or a list, its type, and how lt_value stores one.
#define LT_ARGUMENT_Tensor ONE, const tensor_t *, pointer = (void *)
#define LT_ARGUMENT_MutableTensor ONE, tensor_t *, pointer =
#define LT_ARGUMENT_Storage ONE, const tensor_storage_t *, pointer = (void *)
#define LT_ARGUMENT_MutableStorage ONE, tensor_storage_t *, pointer =
#define LT_ARGUMENT_Generator ONE, tensor_generator_t *, pointer =
#define LT_ARGUMENT_Node ONE, tensor_node_t *, pointer =
#define LT_ARGUMENT_Scalar ONE, tensor_scalar, scalar =
#define LT_ARGUMENT_Int ONE, int64_t, i =
#define LT_ARGUMENT_Float ONE, double, f =
#define LT_ARGUMENT_OptionalFloat ONE, const double *, pointer = (void *)
#define LT_ARGUMENT_Bool ONE, bool, i =
#define LT_ARGUMENT_OptionalBool ONE, int32_t, i =
#define LT_ARGUMENT_Str ONE, const char *, text =
#define LT_ARGUMENT_Dtype ONE, tensor_dtype, i =
#define LT_ARGUMENT_Layout ONE, tensor_layout, i =
#define LT_ARGUMENT_MemoryFormat ONE, tensor_memory_format, i =
#define LT_ARGUMENT_Device ONE, tensor_device, device =
#define LT_ARGUMENT_Pointer ONE, void *, pointer =
#define LT_ARGUMENT_ConstPointer ONE, const void *, pointer = (void *)
#define LT_ARGUMENT_Index LIST, const tensor_index *
#define LT_ARGUMENT_Tensors LIST, const tensor_t *const *
#define LT_ARGUMENT_Scalars LIST, const tensor_scalar *
#define LT_ARGUMENT_Ints LIST, const int64_t *
#define LT_ARGUMENT_Floats LIST, const double *
#define LT_ARGUMENT_Bools LIST, const bool *
#define LT_ARGUMENT_Strs LIST, const char *const *
#define LT_ARGUMENT_tensor_callback ONE, tensor_callback, pointer = (void *)
#define LT_ARGUMENT_tensor_deleter ONE, tensor_deleter, pointer = (void *)
#define LT_ARGUMENT_tensor_pack ONE, tensor_pack, pointer = (void *)
#define LT_ARGUMENT_tensor_unpack ONE, tensor_unpack, pointer = (void *)
#define LT_ARGUMENT_tensor_watcher ONE, tensor_watcher, pointer = (void *)

// The kinds of results: one value or a list, and its type.
#define LT_RESULT_Tensor ONE, tensor_t *
#define LT_RESULT_Storage ONE, tensor_storage_t *
#define LT_RESULT_Generator ONE, tensor_generator_t *
#define LT_RESULT_Node ONE, tensor_node_t *
#define LT_RESULT_Scalar ONE, tensor_scalar
#define LT_RESULT_Int ONE, int64_t
#define LT_RESULT_Float ONE, double
#define LT_RESULT_Bool ONE, bool
#define LT_RESULT_Str ONE, char *
#define LT_RESULT_Dtype ONE, tensor_dtype
#define LT_RESULT_Device ONE, tensor_device
#define LT_RESULT_Pointer ONE, void *
#define LT_RESULT_Tensors LIST, tensor_t **
#define LT_RESULT_Strs LIST, char **

// Calls macro##_ONE or macro##_LIST with the rest of the kind's definition and the name.
#define LT_BY_KIND(macro, ...) LT_BY_KIND_(macro, __VA_ARGS__)
#define LT_BY_KIND_(macro, form, ...) macro##_##form(__VA_ARGS__)

// The parameters of an argument and of a result.
#define LT_PARAMETER(kind, name) LT_BY_KIND(LT_PARAMETER, LT_ARGUMENT_##kind, name)
#define LT_PARAMETER_ONE(type, field, name) type name
#define LT_PARAMETER_LIST(type, name) type name, int64_t name##_len
#define LT_OUT_PARAMETER(kind, name) LT_BY_KIND(LT_OUT_PARAMETER, LT_RESULT_##kind, name)
#define LT_OUT_PARAMETER_ONE(type, name) type *name
#define LT_OUT_PARAMETER_LIST(type, name) type *name, int64_t *name##_len

// The lt_value of an argument, and the addresses that a result is stored to.
#define LT_VALUE(kind, name) LT_BY_KIND(LT_VALUE, LT_ARGUMENT_##kind, name)
#define LT_VALUE_ONE(type, field, name) {.field name}
#define LT_VALUE_LIST(type, name) \
  {                               \
    .list = { name, name##_len }  \
  }
#define LT_ADDRESS(kind, name) LT_BY_KIND(LT_ADDRESS, LT_RESULT_##kind, name)
#define LT_ADDRESS_ONE(type, name) name
#define LT_ADDRESS_LIST(type, name) name, name##_len

// Function `name` of an operator that changes arguments or has a form for outputs.
#define LT_RUN(name, op, form, number, ...)                           \
  TENSOR_API tensor_status name(LT_EACH(LT_PARAMETER, __VA_ARGS__)) { \
    lt_value a[] = {LT_EACH(LT_VALUE, __VA_ARGS__)};                  \
    return lt_run_operator(LT_OP(op), form, number, a);               \
  }

// Function `name` of an operator that has one result, which is a handle.
#define LT_RETURN_HANDLE(name, op, number, result, ...)                                        \
  TENSOR_API tensor_status name(LT_EACH(LT_PARAMETER, __VA_ARGS__), LT_OUT_PARAMETER result) { \
    lt_value a[] = {LT_EACH(LT_VALUE, __VA_ARGS__)};                                           \
    return lt_return_handle(LT_OP(op), number, a, LT_ADDRESS result);                          \
  }

// Function `name` of an operator that has one result, which is a list.
#define LT_RETURN_LIST(name, op, number, result, ...)                                          \
  TENSOR_API tensor_status name(LT_EACH(LT_PARAMETER, __VA_ARGS__), LT_OUT_PARAMETER result) { \
    lt_value a[] = {LT_EACH(LT_VALUE, __VA_ARGS__)};                                           \
    return lt_return_list(LT_OP(op), number, a, LT_ADDRESS result);                            \
  }

// Function `name` of an operator that has other results, which are in brackets.
#define LT_RETURN_RESULTS(name, op, number, results, ...)                         \
  TENSOR_API tensor_status name(LT_EACH(LT_PARAMETER, __VA_ARGS__),               \
                                LT_EACH(LT_OUT_PARAMETER, LT_UNPACK results)) {   \
    lt_value a[LT_LARGER(LT_COUNT(__VA_ARGS__), LT_COUNT results)] = {            \
        LT_EACH(LT_VALUE, __VA_ARGS__)};                                          \
    return lt_return_results(LT_OP(op), number, a,                                \
                             (void *[]){LT_EACH(LT_ADDRESS, LT_UNPACK results)}); \
  }

// LT_RUN and LT_RETURN_RESULTS of an operator without arguments.
#define LT_RUN_ALONE(name, op, form, number)            \
  TENSOR_API tensor_status name(void) {                 \
    lt_value a[1] = {{0}};                              \
    return lt_run_operator(LT_OP(op), form, number, a); \
  }
#define LT_RETURN_WITHOUT_ARGUMENTS(name, op, number, results)                    \
  TENSOR_API tensor_status name(LT_EACH(LT_OUT_PARAMETER, LT_UNPACK results)) {   \
    lt_value a[LT_COUNT results] = {{0}};                                         \
    return lt_return_results(LT_OP(op), number, a,                                \
                             (void *[]){LT_EACH(LT_ADDRESS, LT_UNPACK results)}); \
  }

#endif
