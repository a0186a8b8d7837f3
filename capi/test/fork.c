// A forked child gets an error from every call, and frees are harmless there; the parent is not
// disturbed.
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

int main(void) {
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
