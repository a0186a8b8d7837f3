// Quantized tensors from C: integers that represent numbers, views of them, arithmetic; nothing
// stays in use.
#include "check.h"

static int64_t in_use(void) {
  int64_t used, other[5];
  OK(tensor_memory_stats(&used, other, other + 1, other + 2, other + 3, other + 4));
  return used;
}

static void numbers(void) {
  tensor_t *x = floats((const float[]){-1, 0.26f, 2.5f, 100}, (const int64_t[]){2, 2}, 2);
  tensor_t *q = NULL, *t = NULL, *ints = NULL, *back = NULL, *sum = NULL, *none = NULL;
  OK(tensor_quantize_per_tensor(x, 0.1, 10, TENSOR_QUINT8, &q));
  CHECK(tensor_get_dtype(q) == TENSOR_QUINT8);
  double scale = 0;
  int64_t zero = 0;
  bool quantized = false;
  OK(tensor_q_scale(q, &scale));
  OK(tensor_q_zero_point(q, &zero));
  OK(tensor_is_quantized(q, &quantized));
  CHECK(scale == 0.1 && zero == 10 && quantized);
  OK(tensor_int_repr(q, &ints));
  const uint8_t *bytes = NULL;
  OK(tensor_data_ptr(ints, (void **)&bytes));
  CHECK(bytes[0] == 0 && bytes[1] == 13 && bytes[2] == 35 && bytes[3] == 255);
  OK(tensor_transpose(q, 0, 1, &t));
  OK(tensor_dequantize(t, &back));
  CHECK(data_of(back)[0] == -1 && data_of(back)[3] == 24.5f);
  OK(tensor_quantized_add(q, q, 0.2, 10, &sum));
  OK(tensor_q_scale(sum, &scale));
  CHECK(scale == 0.2);
  FAILS(tensor_add(q, q, tensor_int(1), &none), TENSOR_ERROR_NOT_IMPLEMENTED,
        "add is not implemented for quantized tensors; call dequantize() first");
  FAILS(tensor_quantize_per_tensor(x, -0.1, 10, TENSOR_QUINT8, &none), TENSOR_ERROR_RUNTIME,
        "a scale must be positive");
  FAILS(tensor_quantize_per_tensor(x, 0.1, 10, TENSOR_QUINT4X2, &none), TENSOR_ERROR_RUNTIME,
        "several elements into a byte");
  FAILS(tensor_copy_(x, q, false), TENSOR_ERROR_RUNTIME, "call dequantize() first");
  CHECK(none == NULL);
  char *text = NULL;
  OK(tensor_to_string(q, 4, 1000, 3, 80, -1, &text));
  CHECK(strstr(text, "quantization_scheme=torch.per_tensor_affine, scale=0.1, zero_point=10)"));
  tensor_string_free(text);
  tensor_free(x), tensor_free(q), tensor_free(t), tensor_free(ints), tensor_free(back),
      tensor_free(sum);
}

static void channels(void) {
  tensor_t *x = floats((const float[]){1, 2, 3, 4}, (const int64_t[]){2, 2}, 2);
  tensor_t *scales = floats((const float[]){0.5f, 0.25f}, (const int64_t[]){2}, 1);
  tensor_t *zeros = NULL, *q = NULL, *input = NULL, *y = NULL, *numbers = NULL, *none = NULL;
  OK(tensor_from_data((const int64_t[]){0, 1}, (const int64_t[]){2}, 1, TENSOR_INT64, &zeros));
  OK(tensor_quantize_per_channel(x, scales, zeros, 0, TENSOR_QINT8, &q));
  int64_t axis = -1;
  OK(tensor_q_per_channel_axis(q, &axis));
  CHECK(axis == 0);
  OK(tensor_quantize_per_tensor(x, 0.5, 0, TENSOR_QUINT8, &input));
  OK(tensor_quantized_linear(input, q, NULL, 0.5, 0, NULL, &y));
  OK(tensor_dequantize(y, &numbers));
  CHECK(data_of(numbers)[0] == 5 && data_of(numbers)[1] == 11 && data_of(numbers)[3] == 25);
  FAILS(tensor_q_scale(q, &(double){0}), TENSOR_ERROR_RUNTIME, "quantized per channel");
  FAILS(tensor_quantize_per_channel(x, scales, zeros, 2, TENSOR_QINT8, &none), TENSOR_ERROR_INDEX,
        "2");
  tensor_free(x), tensor_free(scales), tensor_free(zeros), tensor_free(q), tensor_free(input),
      tensor_free(y), tensor_free(numbers);
}

static void dispatched(void) {
  char *text = NULL;
  OK(tensor_dispatch_table("sort", &text));
  CHECK(strstr(text, "sort\tkind\tquantized\trule\n") &&
        strstr(text, "sort\tkind\tsparse_coo\tunsupported\n"));
  tensor_string_free(text);
  FAILS(tensor_dispatch_table("nope", &text), TENSOR_ERROR_RUNTIME,
        "operator 'nope' does not exist");
}

int main(void) {
  numbers(), channels(), dispatched();
  const int64_t before = in_use();
  numbers(), channels(), dispatched();
  CHECK(in_use() == before);
  return 0;
}
