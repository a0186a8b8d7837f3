// Children that are forked before the first call use the library, daemons and their workers among
// them. One that is forked later gets an error from every call, and frees are harmless there; the
// parent is not disturbed.
#include "children.h"

static void work_alone(void) {
  check_work(300);
  tensor_t *product = work(8);
  CHECK(tensor_live_handles() == 1);
  OK(tensor_free(product));
  CHECK(tensor_live_handles() == 0);
}

// What daemon() and a server that forks its workers do.
static void serve(void) {
  CHECK(setsid() >= 0);
  for (int i = 0; i < 3; i++) PASSES(work_alone);
  work_alone();
}

int main(void) {
  PASSES(serve);
  const int64_t three[] = {3};
  tensor_t *a = floats((float[]){1, 2, 3}, three, 1), *c = NULL;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(20);
    FAILS(tensor_add(a, a, tensor_int(1), &c), TENSOR_ERROR_FORKED, "forked child");
    CHECK(c == NULL && tensor_dim(a) == 1);
    OK(tensor_free(a));
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  OK(tensor_add(a, a, tensor_int(1), &c));
  CHECK(data_of(c)[1] == 4);
  OK(tensor_free(a));
  OK(tensor_free(c));
  return 0;
}
