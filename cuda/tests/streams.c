// Devices, streams, events and memory from C, on a device.
#include "../../capi/test/check.h"

static const tensor_device first = {TENSOR_CUDA, 0}, second = {TENSOR_CUDA, 1};

static int64_t in_use(tensor_device d) {
  int64_t n[7];
  OK(tensor_device_memory(d, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6]));
  CHECK(n[1] >= n[0] && n[2] >= n[0] && n[6] >= n[5]);
  return n[0];
}

static tensor_t *moved(const tensor_t *t, tensor_device d, bool asynchronous) {
  tensor_t *out = NULL;
  OK(tensor_to_options(t, TENSOR_DTYPE_NONE, TENSOR_LAYOUT_NONE, d, asynchronous, false,
                       TENSOR_FORMAT_NONE, &out));
  return out;
}

int main(void) {
  int64_t current = -1, major = 0, least = 1, greatest = 1;
  char *name = NULL;
  OK(tensor_device_name(first, &name));
  CHECK(strlen(name) > 0);
  tensor_string_free(name);
  OK(tensor_device_attribute(first, "major", &major));
  CHECK(major >= 5);
  OK(tensor_stream_priorities(first, &least, &greatest));
  CHECK(greatest <= least);
  OK(tensor_device_set_current(second));
  OK(tensor_device_current("cuda", &current));
  CHECK(current == 1);
  OK(tensor_device_set_current(first));

  int64_t stream, main_stream, event, end;
  OK(tensor_stream_new(first, greatest, &stream));
  OK(tensor_stream_current(first, &main_stream));
  CHECK(stream != main_stream);
  OK(tensor_event_new(first, true, false, &event));
  OK(tensor_event_new(first, true, true, &end));

  const int64_t before = in_use(first);
  tensor_t *host = floats((const float[]){1, 2, 3}, (const int64_t[]){3}, 1), *pinned = NULL;
  OK(tensor_pin_memory(host, &pinned));
  bool is_pinned = false, done = false;
  OK(tensor_is_pinned(pinned, &is_pinned));
  CHECK(is_pinned);
  OK(tensor_stream_set_current(stream));
  OK(tensor_event_record(event, stream));
  tensor_t *there = moved(pinned, first, true), *sum = NULL;
  OK(tensor_add(there, there, tensor_int(1), &sum));
  OK(tensor_event_record(end, stream));
  OK(tensor_stream_set_current(main_stream));
  OK(tensor_stream_wait_event(main_stream, end));
  tensor_t *back = moved(sum, (tensor_device){TENSOR_CPU, -1}, false);
  void *data = NULL;
  OK(tensor_data_ptr(back, &data));
  CHECK(((float *)data)[2] == 6);
  OK(tensor_event_synchronize(end));
  OK(tensor_event_query(event, &done));
  CHECK(done);
  double ms = -1;
  OK(tensor_event_elapsed_time(event, end, &ms));
  CHECK(ms >= 0);
  CHECK(in_use(first) > before);
  tensor_free(host), tensor_free(pinned), tensor_free(there), tensor_free(sum), tensor_free(back);
  OK(tensor_device_synchronize(first));
  CHECK(in_use(first) == before);
  OK(tensor_event_free(event));
  OK(tensor_event_free(end));
  FAILS(tensor_event_free(end), TENSOR_ERROR_VALUE, "there is no event");
  tensor_device of = {TENSOR_CPU, -1};
  OK(tensor_stream_device(stream, &of));
  CHECK(of.type == TENSOR_CUDA && of.index == 0);
  return 0;
}
