// Tensors in a file of PyTorch's format, read back as a map of the file: no bytes are copied until
// they are used. cc files.c -ltensor && ./a.out weights.pt
#include <stdio.h>
#include <tensor.h>

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: files FILE\n");
    return 1;
  }
  const char *const names[] = {"weight", "bias"};
  char **found = NULL;
  tensor_t *weight = NULL, *bias = NULL, **loaded = NULL;
  int64_t count = 0, loaded_count = 0;
  const bool done =
      tensor_arange(tensor_int(6), TENSOR_FLOAT32, TENSOR_LAYOUT_NONE, tensor_device_default(),
                    &weight) == TENSOR_OK &&
      tensor_ones((int64_t[]){2}, 1, TENSOR_FLOAT32, TENSOR_LAYOUT_NONE, tensor_device_default(),
                  &bias) == TENSOR_OK &&
      // The file is there whole or not at all.
      tensor_save_dict(argv[1], names, 2, (const tensor_t *[]){weight, bias}, 2, false) ==
          TENSOR_OK &&
      tensor_load_dict(argv[1], NULL, true, &found, &count, &loaded, &loaded_count) == TENSOR_OK;
  if (!done) fprintf(stderr, "%s\n", tensor_last_error());
  for (int64_t i = 0; i < count; i++) {
    printf("%s: ", found[i]);
    tensor_print(loaded[i], stdout);
  }
  tensor_free(weight), tensor_free(bias);
  tensor_string_list_free(found, count);
  tensor_list_free(loaded, loaded_count);
  // A missing file is reported with the system's error.
  if (done && tensor_load_dict("nowhere/weights.pt", NULL, false, &found, &count, &loaded,
                               &loaded_count) == TENSOR_ERROR_IO)
    printf("error %d of the system\n", tensor_last_errno());
  return !done;
}

// Prints:
// weight: tensor([0., 1., 2., 3., 4., 5.])
// bias: tensor([1., 1.])
// error 2 of the system
