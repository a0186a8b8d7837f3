// A program that was compiled and linked at a1c47474. The binary (program-x86_64) is kept: the
// functions that it calls keep the meanings, the numbers and the sizes of structs that it was
// compiled with. gcc -O1 -s program.c -I../../../include -L../../../build -ltensor
#include <stdio.h>
#include <string.h>
#include <tensor.h>

#define CHECK(what)                                                                           \
  do {                                                                                        \
    if (!(what)) return printf("line %d: %s; %s\n", __LINE__, #what, tensor_last_error()), 1; \
  } while (0)
#define OK(call) CHECK((call) == TENSOR_OK)

int main(void) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  tensor_t *a = NULL, *b = NULL, *c = NULL, *indices = NULL, *grad = NULL;
  tensor_scalar number;
  int64_t used, other[5];

  // Data, numbers, views and their strides.
  OK(tensor_from_data(values, (int64_t[]){2, 3}, 2, TENSOR_FLOAT32, &a));
  OK(tensor_mul_scalar(a, tensor_float(0.5), &b));
  OK(tensor_sum(b, NULL, 0, false, TENSOR_DTYPE_NONE, &c));
  OK(tensor_item(c, &number));
  CHECK(number.kind == TENSOR_SCALAR_FLOAT && number.value.f.re == 10.5);
  tensor_free(c), tensor_free(b);
  OK(tensor_transpose(a, 0, 1, &b));
  CHECK(tensor_dim(b) == 2 && tensor_sizes(b)[0] == 3 && tensor_sizes(b)[1] == 2 &&
        tensor_numel(b) == 6);
  OK(tensor_transpose_(b, 0, 1));
  CHECK(tensor_sizes(b)[0] == 2);
  tensor_free(b);

  // Dtypes by their numbers.
  OK(tensor_eq(a, a, &b));
  CHECK(tensor_get_dtype(b) == 0);
  tensor_free(b);

  // Two results, an out, an operator in place.
  OK(tensor_max_dim(a, 1, false, &b, &indices));
  CHECK(tensor_get_dtype(indices) == 5 && tensor_get_dtype(b) == 8);
  OK(tensor_add_out(b, b, tensor_int(1), b));
  OK(tensor_neg_(b));
  tensor_free(b), tensor_free(indices);

  // Gradients.
  OK(tensor_set_requires_grad(a, true));
  OK(tensor_mul(a, a, &b));
  OK(tensor_sum(b, NULL, 0, false, TENSOR_DTYPE_NONE, &c));
  OK(tensor_backward((const tensor_t *const[]){c}, 1, NULL, 0, false, false, NULL, 0));
  OK(tensor_grad(a, &grad));
  CHECK(grad != NULL);
  OK(tensor_select(grad, 0, 1, &indices));
  tensor_free(indices), tensor_free(grad), tensor_free(b), tensor_free(c);

  // Errors.
  CHECK(tensor_select(a, 0, 5, &b) != TENSOR_OK);
  CHECK(strstr(tensor_last_error(), "5") != NULL);
  tensor_free(a);
  CHECK(tensor_neg(a, &b) != TENSOR_OK);
  OK(tensor_memory_stats(&used, other, other + 1, other + 2, other + 3, other + 4));
  CHECK(used == 0);
  return 0;
}
