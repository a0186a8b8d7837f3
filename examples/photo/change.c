// Reads the tensors that photo.py saved, turns the crop into its negative, and saves them all
// again: change RESULTS.pt CHANGED.pt
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tensor.h>

static void check(tensor_status status) {
  if (status == TENSOR_OK) return;
  fprintf(stderr, "change: %s\n", tensor_last_error());
  exit(1);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: change RESULTS.pt CHANGED.pt\n");
    return 2;
  }
  char **names = NULL;
  tensor_t **tensors = NULL;
  int64_t count = 0, n = 0;
  check(tensor_load_dict(argv[1], NULL, false, &names, &count, &tensors, &n));
  for (int64_t i = 0; i < n; i++) {
    if (strcmp(names[i], "crop")) continue;
    check(tensor_neg_(tensors[i]));
    check(tensor_add_scalar_(tensors[i], tensor_int(1), tensor_int(1)));
  }
  check(tensor_save_dict(argv[2], (const char *const *)names, count,
                         (const tensor_t *const *)tensors, n, false));
  tensor_string_list_free(names, count);
  tensor_list_free(tensors, n);
  return 0;
}
