// Programs that make and drop tensors keep little more memory than their live tensors take.
#include <unistd.h>

#include "check.h"

static uint64_t seed = 88172645463325252u;
static uint64_t next(void) {  // xorshift64: Marsaglia, "Xorshift RNGs", 2003
  seed ^= seed << 13;
  seed ^= seed >> 7;
  return seed ^= seed << 17;
}

static int64_t resident(void) {
  long pages = 0, unused;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f) exit(0);  // the system does not report it
  CHECK(fscanf(f, "%ld %ld", &unused, &pages) == 2);
  fclose(f);
  return pages * sysconf(_SC_PAGESIZE);
}

static tensor_t *filled(int64_t elements) {
  tensor_t *t = NULL;
  OK(tensor_full(&elements, 1, tensor_float(1), TENSOR_FLOAT32, TENSOR_STRIDED,
                 tensor_device_default(), &t));
  return t;
}

static int64_t start;
enum { SLACK = 48 << 20 };  // the engine's own

// A ring of live tensors of sizes from `least` to `most` elements, each the sum of itself and a
// number, over and over.
static void ring(int64_t count, int64_t least, int64_t most, int64_t rounds) {
  tensor_t **live = calloc((size_t)count, sizeof *live);
  CHECK(live);
  int64_t unused[5], in_use, highest = 0, grown = 0;
  OK(tensor_reset_peak_memory_stats());
  for (int64_t i = 0; i < rounds; i++) {
    tensor_t **place = live + next() % (uint64_t)count, *sum = NULL;
    OK(tensor_free(*place));
    *place = filled(least + (int64_t)(next() % (uint64_t)(most - least + 1)));
    OK(tensor_add_scalar(*place, tensor_float(1), tensor_int(1), &sum));
    OK(tensor_free(*place));
    *place = sum;
    if (i % 256) continue;
    OK(tensor_memory_stats(&in_use, &highest, unused, unused + 1, unused + 2, unused + 3));
    if (resident() - start > grown) grown = resident() - start;
  }
  OK(tensor_memory_stats(&in_use, &highest, unused, unused + 1, unused + 2, unused + 3));
  printf("%lld live tensors of %lld to %lld floats: peak in use %.0f MB, resident %.0f MB\n",
         (long long)count, (long long)least, (long long)most, (double)highest / 1e6,
         (double)grown / 1e6);
  CHECK(grown <= highest + highest / 2 + SLACK);
  for (int64_t i = 0; i < count; i++) OK(tensor_free(live[i]));
  free(live);
}

int main(void) {
  tensor_free(filled(10));
  start = resident();
  ring(1, 10000, 10000, 100000);
  ring(1000, 10000, 10000, 100000);
  ring(1000, 1, 60000, 60000);
  ring(20000, 1, 2000, 100000);
  ring(30, 200000, 2000000, 4000);
  return 0;
}
