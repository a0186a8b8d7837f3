// tensor_parallel_for: every item once, errors of the function, invalid arguments.
#include <stdatomic.h>

#include "check.h"

static tensor_status mark(void *context, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++) ((atomic_int *)context)[i]++;
  return TENSOR_OK;
}
static tensor_status fail_late(void *context, int64_t begin, int64_t end) {
  (void)context;
  if (end < 900) return TENSOR_OK;
  char text[64];
  snprintf(text, sizeof text, "range %s", begin <= 900 ? "broken" : "after it");
  tensor_set_last_error(text);
  return TENSOR_ERROR_INDEX;
}

int main(void) {
  static atomic_int seen[1000];
  OK(tensor_set_num_threads(3));
  OK(tensor_parallel_for(1000, 10, mark, seen));
  for (int i = 0; i < 1000; i++) CHECK(seen[i] == 1);
  OK(tensor_parallel_for(0, 1, mark, NULL));
  OK(tensor_parallel_for(1000, INT64_MAX, mark, seen));
  FAILS(tensor_parallel_for(INT64_MAX, INT64_MAX / 3, mark, NULL), TENSOR_ERROR_VALUE, "'n'");
  FAILS(tensor_parallel_for(1000, 1000, fail_late, NULL), TENSOR_ERROR_INDEX, "range broken");
  CHECK(tensor_parallel_for(1000, 1, fail_late, NULL) == TENSOR_ERROR_INDEX);
  FAILS(tensor_parallel_for(-1, 1, mark, NULL), TENSOR_ERROR_VALUE,
        "argument 'n' is -1; it must be in the range from 0 to");
  FAILS(tensor_parallel_for(1, 0, mark, NULL), TENSOR_ERROR_VALUE, "argument 'grain' is 0");
  FAILS(tensor_parallel_for(1, 1, NULL, NULL), TENSOR_ERROR_VALUE, "argument 'function'");
  CHECK(tensor_live_handles() == 0);
  return 0;
}
