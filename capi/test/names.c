// Names of dimensions from C: which tensors have them, how operators propagate them, errors, and
// leaks.
#include "check.h"

static const int64_t SIZE[] = {2, 3};

static int64_t in_use(void) {
  int64_t used, other[5];
  OK(tensor_memory_stats(&used, other, other + 1, other + 2, other + 3, other + 4));
  return used;
}

static void named(const tensor_t *t, int64_t n, const char *const *names) {
  char **found;
  int64_t count;
  OK(tensor_names(t, &found, &count));
  CHECK(count == n);
  for (int64_t i = 0; i < n; i++) CHECK(strcmp(found[i], names[i]) == 0);
  tensor_string_list_free(found, count);
}

#define NAMED(t, n, ...) named(t, n, (const char *const[]){__VA_ARGS__})

static tensor_t *of(const char *first, const char *second) {
  tensor_t *x = floats((const float[]){1, 2, 3, 4, 5, 6}, SIZE, 2);
  OK(tensor_rename_(x, (const char *const[]){first, second}, 2));
  return x;
}

static void views(void) {
  tensor_t *x = of("N", "C"), *y, *z;
  NAMED(x, 2, "N", "C");
  OK(tensor_rename(x, (const char *const[]){"A", "..."}, 2, &y));
  NAMED(y, 2, "A", "C");
  CHECK(data_of(y) == data_of(x));
  OK(tensor_align_to(y, (const char *const[]){"C", "H", "..."}, 3, &z));
  NAMED(z, 3, "C", "H", "A");
  CHECK(tensor_sizes(z)[0] == 3 && tensor_sizes(z)[1] == 1);
  tensor_free(y), tensor_free(z);
  OK(tensor_rename(x, NULL, 0, &y));
  NAMED(y, 2, "", "");
  OK(tensor_refine_names(y, (const char *const[]){"...", "D"}, 2, &z));
  NAMED(z, 2, "", "D");
  tensor_free(y), tensor_free(z);
  OK(tensor_flatten_dims(x, (const int64_t[]){0, 1}, 2, "F", &y));
  NAMED(y, 1, "F");
  OK(tensor_unflatten_names(y, 0, (const int64_t[]){3, 2}, 2, (const char *const[]){"a", "b"}, 2,
                            &z));
  NAMED(z, 2, "a", "b");
  tensor_free(x), tensor_free(y), tensor_free(z);
}

static void operators(void) {
  tensor_t *x = of("N", "C"), *y = of("", "C"), *sum, *sums, *aligned, **both;
  int64_t dim, count;
  OK(tensor_add(y, x, tensor_int(1), &sum));
  NAMED(sum, 2, "N", "C");
  OK(tensor_dim_by_name(x, "N", &dim));
  CHECK(dim == 0);
  OK(tensor_sum(x, &dim, 1, false, TENSOR_DTYPE_NONE, &sums));
  NAMED(sums, 1, "C");
  OK(tensor_align_as(sums, x, &aligned));
  NAMED(aligned, 2, "N", "C");
  OK(tensor_align_tensors((const tensor_t *const[]){sums, x}, 2, &both, &count));
  CHECK(count == 2 && tensor_dim(both[0]) == 2);
  tensor_list_free(both, count);
  tensor_free(x), tensor_free(y), tensor_free(sum), tensor_free(sums), tensor_free(aligned);
}

static void rejections(void) {
  tensor_t *x = of("N", "C"), *y = of("C", "N"), *made = NULL;
  int64_t dim;
  FAILS(tensor_add(x, y, tensor_int(1), &made), TENSOR_ERROR_RUNTIME,
        "dim 'C' and dim 'N' are at the same position");
  FAILS(tensor_dim_by_name(x, "H", &dim), TENSOR_ERROR_RUNTIME,
        "dim_by_name: Name 'H' not found in Tensor['N', 'C']");
  FAILS(tensor_dim_by_name(x, "", &dim), TENSOR_ERROR_RUNTIME, "not found");
  FAILS(tensor_rename(x, (const char *const[]){"a"}, 1, &made), TENSOR_ERROR_RUNTIME,
        "do not match");
  FAILS(tensor_rename_(x, (const char *const[]){"a", "a"}, 2), TENSOR_ERROR_RUNTIME, "twice");
  FAILS(tensor_rename_(x, (const char *const[]){"a", "2"}, 2), TENSOR_ERROR_RUNTIME,
        "Invalid name");
  FAILS(tensor_rename_(x, (const char *const[]){"\xff", "b"}, 2), TENSOR_ERROR_RUNTIME,
        "Invalid name");
  FAILS(tensor_rename(x, (const char *const[]){"...", "..."}, 2, &made), TENSOR_ERROR_RUNTIME,
        "more than one ellipsis");
  FAILS(tensor_flatten_dims(x, (const int64_t[]){1, 0}, 2, "F", &made), TENSOR_ERROR_RUNTIME,
        "follow each other");
  FAILS(tensor_reshape(x, (const int64_t[]){6}, 1, &made), TENSOR_ERROR_NOT_IMPLEMENTED,
        "rename(None)");
  NAMED(x, 2, "N", "C");
  tensor_free(x), tensor_free(y);
}

int main(void) {
  views(), operators(), rejections();
  int64_t before = in_use();
  for (int i = 0; i < 1000; i++) views(), operators(), rejections();
  CHECK(in_use() == before);
  return 0;
}
