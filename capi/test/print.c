// tensor_print with default options writes the result of to_string, and reports streams that fail.
#include <errno.h>

#include "check.h"

// The output of tensor_print.
static char *printed(const tensor_t *t) {
  char *text = NULL;
  size_t length = 0;
  FILE *stream = open_memstream(&text, &length);
  OK(tensor_print(t, stream));
  fclose(stream);
  return text;
}

int main(void) {
  tensor_t *small = floats((const float[]){0.5, 1, 1.5, 2}, (int64_t[]){2, 2}, 2), *large = NULL;
  char *text = printed(small);
  CHECK(strcmp(text, "tensor([[0.5000, 1.0000],\n        [1.5000, 2.0000]])\n") == 0);
  free(text);
  OK(tensor_zeros((int64_t[]){1001}, 1, TENSOR_FLOAT32, TENSOR_LAYOUT_NONE, tensor_device_default(),
                  &large));
  text = printed(large);  // summarized, as there are more than 1000
  CHECK(strcmp(text, "tensor([0., 0., 0.,  ..., 0., 0., 0.])\n") == 0);
  free(text);

  FILE *full = fopen("/dev/full", "w"), *unwritable = fopen("/dev/null", "r");
  setvbuf(full, NULL, _IONBF, 0);
  FAILS(tensor_print(small, full), TENSOR_ERROR_IO, "print: the stream cannot be written");
  CHECK(tensor_last_errno() == ENOSPC);
  FAILS(tensor_print(small, unwritable), TENSOR_ERROR_IO, "print: the stream cannot be written");
  FAILS(tensor_print(small, NULL), TENSOR_ERROR_VALUE, "print: argument 'stream'");
  FAILS(tensor_print(NULL, stdout), TENSOR_ERROR_HANDLE, "print: argument 'self' is NULL");
  fclose(full), fclose(unwritable);

  tensor_free(small), tensor_free(large);
  CHECK(tensor_live_handles() == 0);
  puts("print: ok");
  return 0;
}
