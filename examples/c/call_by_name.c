// Evaluates a list of operators by name, as an interpreter of a graph does: each line has a name
// and the indices of its arguments among the earlier values.
#include <stdio.h>
#include <tensor.h>

typedef struct {
  const char *name;
  int arguments[2];  // -1 for none
} node;

int main(void) {
  const node graph[] = {{"aten::mul.Tensor", {0, 1}},
                        {"aten::add.Tensor", {2, 1}},
                        {"aten::relu.default", {3, -1}},
                        {"aten::sum.default", {4, -1}}};
  const int64_t size = 3;
  tensor_value values[6] = {{.kind = TENSOR_VALUE_TENSOR}, {.kind = TENSOR_VALUE_FLOAT, .as.f = 2}};
  if (tensor_from_data((float[]){-2, 0, 3}, &size, 1, TENSOR_FLOAT32, &values[0].as.tensor))
    return fprintf(stderr, "%s\n", tensor_last_error()), 1;

  int made = 2, failed = 0;
  for (int i = 0; i < 4 && !failed; i++) {
    tensor_value arguments[2];
    int count = 0;
    for (int k = 0; k < 2 && graph[i].arguments[k] >= 0; k++)
      arguments[count++] = values[graph[i].arguments[k]];
    tensor_error_info *error = NULL;
    int32_t results = 1;
    failed = tensor_call(graph[i].name, arguments, NULL, count, &values[made], &results, &error) !=
             TENSOR_OK;
    if (failed) fprintf(stderr, "%s\n", error ? error->message : "out of memory");
    tensor_error_free(error);
    made += !failed;
  }
  if (!failed) tensor_print(values[made - 1].as.tensor, stdout);
  for (int i = 0; i < made; i++) tensor_value_free(&values[i]);
  return failed;
}

// Prints:
// tensor(10.)
