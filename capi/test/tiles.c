// The permission of Linux for tile registers, which alternate signal stacks can be too small for.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "check.h"

// Multiplies matrices of ones, whose size fills tile registers.
static void multiply(void) {
  static const int64_t sizes[] = {40, 40};
  tensor_t *x, *y, *sum;
  OK(tensor_ones(sizes, 2, TENSOR_BFLOAT16, TENSOR_STRIDED, tensor_device_default(), &x));
  OK(tensor_matmul(x, x, &y));
  OK(tensor_sum(y, NULL, 0, false, TENSOR_FLOAT32, &sum));
  tensor_scalar total;
  OK(tensor_item(sum, &total));
  CHECK(total.value.f.re == 40 * 40 * 40);
  OK(tensor_free(x));
  OK(tensor_free(y));
  OK(tensor_free(sum));
}

static void check_tier(bool tiles) {
  char *tier;
  OK(tensor_cpu_tier(&tier));
  CHECK(tiles || strcmp(tier, "amx") != 0);
  tensor_string_free(tier);
}

int main(void) {
  static char small[8192];
  const stack_t stack = {.ss_sp = small, .ss_size = sizeof small};
  if (sigaltstack(&stack, NULL) == 0) {
    multiply();
    check_tier(false);
    CHECK(sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL) == 0);
    check_tier(false);  // the answer of Linux is final
  } else {
    CHECK(errno == ENOMEM);
    check_tier(true);
  }
  multiply();
  return 0;
}
