// Queries about devices before a program chooses one. No driver is required for any of them.
#include <string.h>

#include "check.h"

static int64_t count(const char *type) {
  int64_t n = -1;
  OK(tensor_device_count(type, &n));
  return n;
}

int main(void) {
  CHECK(count("cpu") == 1 && count("meta") == 1 && count("xpu") == 0 && count("cuda") >= 0);
  for (int i = 0; i < 2; i++) {
    const char *type = i ? "xpu" : "cuda";
    char *why = NULL;
    OK(tensor_device_absence(type, &why));
    CHECK((strlen(why) == 0) == (count(type) > 0));
    tensor_string_free(why);
    tensor_t *made = NULL;
    const int64_t size[] = {2};
    const tensor_device beyond = {i ? TENSOR_XPU : TENSOR_CUDA, (int16_t)count(type)};
    FAILS(tensor_zeros(size, 1, TENSOR_FLOAT32, TENSOR_STRIDED, beyond, &made),
          TENSOR_ERROR_RUNTIME, type);
    const tensor_device before = {beyond.type, -5};
    FAILS(tensor_zeros(size, 1, TENSOR_FLOAT32, TENSOR_STRIDED, before, &made),
          TENSOR_ERROR_RUNTIME, "or -1 for the current device, but got -5");
    CHECK(!made);
  }
  const tensor_device cpu = {TENSOR_CPU, -1};
  int64_t bytes[7];
  OK(tensor_device_synchronize(cpu));
  FAILS(tensor_device_memory(cpu, &bytes[0], &bytes[1], &bytes[2], &bytes[3], &bytes[4], &bytes[5],
                             &bytes[6]),
        TENSOR_ERROR_RUNTIME, "memory_stats");
  int64_t stream = 7, event = 7;
  FAILS(tensor_stream_new(cpu, 0, &stream), TENSOR_ERROR_RUNTIME, "has no streams");
  FAILS(tensor_stream_current(cpu, &stream), TENSOR_ERROR_RUNTIME, "has no streams");
  FAILS(tensor_stream_synchronize(-1), TENSOR_ERROR_VALUE, "there is no stream -1");
  FAILS(tensor_event_new(cpu, true, false, &event), TENSOR_ERROR_RUNTIME, "has no streams");
  FAILS(tensor_event_free(0), TENSOR_ERROR_VALUE, "there is no event 0");
  CHECK(stream == 7 && event == 7);
  int64_t current = 7;
  OK(tensor_device_current("cuda", &current));
  CHECK(current == 0);
  int64_t n = 7;
  FAILS(tensor_device_count("gpu", &n), TENSOR_ERROR_RUNTIME, "cuda");
  CHECK(n == 7);
  return 0;
}
