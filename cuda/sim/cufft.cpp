// A cuFFT for tests: transforms on the simulated device, by their definition. It is stricter than
// NVIDIA's: it transforms only with a work area that was given to it since the stream was, spoils
// the work area, overwrites the Hermitian numbers that it transforms to real ones, and rejects real
// input that complex numbers could not be read from.
#include <string.h>

#include <complex>
#include <map>
#include <vector>

#include "library.h"

namespace {

enum Status {
  SUCCESS = 0,
  INVALID_PLAN = 1,
  INVALID_VALUE = 4,
  EXEC_FAILED = 6,
  UNALIGNED_DATA = 9
};
enum Type { C2C = 0x29, R2C = 0x2a, C2R = 0x2c, Z2Z = 0x69, D2Z = 0x6a, Z2D = 0x6c };

constexpr size_t kRoom = 4096;

struct Plan {
  int device;
  bool automatic = true;
  std::vector<int64_t> sizes;
  int type = 0;
  int64_t batch = 0;
  CUstream stream = nullptr;
  uint64_t room = 0;
};

std::map<int, Plan> plans;
int next = 1;

using Number = std::complex<double>;

// Transforms a dimension of an array, with `inner` adjacent lines for each element.
void transform(std::vector<Number> &x, int64_t n, int64_t inner, int direction) {
  const std::vector<Number> from = x;
  const int64_t total = (int64_t)x.size();
  for (int64_t i = 0; i < total; i++) {
    const int64_t k = i / inner % n, first = i - k * inner;
    Number sum = 0;
    for (int64_t j = 0; j < n; j++)
      sum += from[first + j * inner] *
             std::polar(1.0, direction * 2 * M_PI * (double)(j * k % n) / (double)n);
    x[i] = sum;
  }
}

int64_t product(const std::vector<int64_t> &sizes) {
  int64_t n = 1;
  for (int64_t size : sizes) n *= size;
  return n;
}

template <class T>
void run(const Plan &p, uint64_t from, uint64_t to, int direction) {
  const bool real = p.type == R2C || p.type == D2Z, back = p.type == C2R || p.type == Z2D;
  const int64_t n = p.sizes.back(), total = product(p.sizes), half = total / n * (n / 2 + 1);
  const int64_t in = real ? total : 2 * (back ? half : total);
  const int64_t out = back ? total : 2 * (real ? half : total);
  T *source = sim::elements<T>(from, p.batch * in, true);
  T *target = sim::elements<T>(to, p.batch * out, true);
  memset(sim::elements<char>(p.room, kRoom, true), 0xcb, kRoom);
  if (sim::machine().lost) return;
  for (int64_t b = 0; b < p.batch; b++, source += in, target += out) {
    const auto at = [&](int64_t i) { return Number(source[2 * i], source[2 * i + 1]); };
    std::vector<Number> x(total);
    for (int64_t i = 0; i < total; i++)
      x[i] = real ? Number(source[i]) : !back || 2 * i <= n ? at(i) : std::conj(at(n - i));
    if (back) x[0] = x[0].real();
    if (back && n % 2 == 0) x[n / 2] = x[n / 2].real();
    int64_t inner = 1;
    for (size_t d = p.sizes.size(); d-- > 0; inner *= p.sizes[d])
      transform(x, p.sizes[d], inner, direction);
    for (int64_t i = 0, k = 0; i < total; i++) {
      if (real && i % n > n / 2) continue;
      if (back) {
        target[i] = (T)x[i].real();
      } else {
        target[2 * k] = (T)x[i].real(), target[2 * k + 1] = (T)x[i].imag();
        k++;
      }
    }
    if (back) memset((void *)source, 0xcb, in * sizeof(T));
  }
}

#define ENTER(FREES)                           \
  std::lock_guard<std::mutex> held(sim::lock); \
  if (int failed = sim::status_of(__func__, FREES, EXEC_FAILED)) return failed;
#define FIND                                                                             \
  ENTER(false)                                                                           \
  const auto found = plans.find(handle);                                                 \
  if (found == plans.end() || found->second.device != sim::current) return INVALID_PLAN; \
  Plan &p = found->second;

int execute(Plan &p, int type, const void *from, void *to, int direction, bool wide) {
  if (p.type != type || !from || !to || from == to || !p.room) return INVALID_VALUE;
  if ((uint64_t)from % (wide ? 16 : 8)) return UNALIGNED_DATA;
  const CUresult failed = sim::enqueue(p.stream, [=] {
    wide ? run<double>(p, (uint64_t)from, (uint64_t)to, direction)
         : run<float>(p, (uint64_t)from, (uint64_t)to, direction);
  });
  return failed ? EXEC_FAILED : SUCCESS;
}

}  // namespace

extern "C" {

int cufftCreate(int *handle) {
  ENTER(false)
  plans[next].device = sim::current;
  *handle = next++;
  return SUCCESS;
}
int cufftDestroy(int handle) {
  ENTER(true)
  return plans.erase(handle) ? SUCCESS : INVALID_PLAN;
}
int cufftSetAutoAllocation(int handle, int automatic) {
  FIND p.automatic = automatic;
  return SUCCESS;
}
int cufftMakePlanMany64(int handle, int rank, long long *n, long long *in_sizes, long long,
                        long long, long long *out_sizes, long long, long long, int type,
                        long long batch, size_t *bytes) {
  FIND if (rank < 1 || rank > 3 || in_sizes || out_sizes || batch < 1 ||
           p.automatic) return INVALID_VALUE;
  for (int d = 0; d < rank; d++)
    if (n[d] < 1) return INVALID_VALUE;
  if ((type == C2R || type == Z2D) && rank > 1) return INVALID_VALUE;
  p.sizes.assign(n, n + rank), p.type = type, p.batch = batch;
  *bytes = kRoom;
  return SUCCESS;
}
int cufftSetStream(int handle, CUstream stream) {
  FIND const sim::Stream *s = sim::stream_of(stream);
  if (!s || s->device != p.device) return INVALID_VALUE;
  p.stream = stream, p.room = 0;
  return SUCCESS;
}
int cufftSetWorkArea(int handle, void *room) {
  FIND if (!sim::machine().memory.find((uint64_t)room, kRoom)) return INVALID_VALUE;
  p.room = (uint64_t)room;
  return SUCCESS;
}
int cufftExecC2C(int handle, void *from, void *to, int direction) {
  FIND return execute(p, C2C, from, to, direction, false);
}
int cufftExecZ2Z(int handle, void *from, void *to, int direction) {
  FIND return execute(p, Z2Z, from, to, direction, true);
}
int cufftExecR2C(int handle, void *from, void *to) {
  FIND return execute(p, R2C, from, to, -1, false);
}
int cufftExecD2Z(int handle, void *from, void *to) {
  FIND return execute(p, D2Z, from, to, -1, true);
}
int cufftExecC2R(int handle, void *from, void *to) {
  FIND return execute(p, C2R, from, to, 1, false);
}
int cufftExecZ2D(int handle, void *from, void *to) {
  FIND return execute(p, Z2D, from, to, 1, true);
}

}  // extern "C"
