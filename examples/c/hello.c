// cc hello.c -ltensor
#include <stdio.h>
#include <tensor.h>

int main(void) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  const int64_t sizes[] = {2, 3};
  tensor_t *a = NULL, *b = NULL;
  char *text = NULL;
  if (tensor_from_data((void *)values, sizes, 2, TENSOR_FLOAT32, &a) == TENSOR_OK &&
      tensor_mul_scalar(a, tensor_float(0.5), &b) == TENSOR_OK &&
      tensor_to_string(b, 4, 1000, 3, 80, -1, &text) == TENSOR_OK)
    puts(text);
  else
    fprintf(stderr, "%s\n", tensor_last_error());
  tensor_string_free(text);
  tensor_free(a);
  tensor_free(b);
  return text == NULL;
}
