// Dimensions with names: operators keep them, and reject those that are not there. cc names.c
// -ltensor
#include <stdio.h>
#include <tensor.h>

int main(void) {
  const float levels[] = {1, 2, 3, 4, 5, 6};
  const char *const names[] = {"row", "channel"};
  tensor_t *plain = NULL, *image = NULL, *turned = NULL, *mean = NULL;
  int64_t channel = 0;
  const bool done =
      tensor_from_data(levels, (int64_t[]){2, 3}, 2, TENSOR_FLOAT32, &plain) == TENSOR_OK &&
      tensor_rename(plain, names, 2, &image) == TENSOR_OK &&
      // Where a dimension is, whatever the order.
      tensor_dim_by_name(image, "channel", &channel) == TENSOR_OK &&
      tensor_mean(image, &channel, 1, false, TENSOR_DTYPE_NONE, &mean) == TENSOR_OK &&
      tensor_print(mean, stdout) == TENSOR_OK &&
      tensor_transpose(image, 0, 1, &turned) == TENSOR_OK;
  if (!done) fprintf(stderr, "%s\n", tensor_last_error());
  if (done && tensor_dim_by_name(turned, "depth", &channel) != TENSOR_OK)
    printf("%s\n", tensor_last_error());
  tensor_free(plain), tensor_free(image), tensor_free(turned), tensor_free(mean);
  return !done;
}

// Prints:
// tensor([2., 5.], names=('row',))
// dim_by_name: Name 'depth' not found in Tensor['channel', 'row']
