// The functions of the simulated driver, for tests without a GPU. Calls can be made to fail:
// LIBTENSOR_SIM_FAIL="cuMemAlloc_v2:3:2" has the third call of a function return error 2, and
// "cuMemAlloc_v2:3-4:2" the third and the fourth one; lt_sim_fail does so from a test.
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mutex>
#include <set>

#include "calls.h"
#include "thread.h"

using sim::current, sim::enqueue, sim::entered, sim::is_pinned, sim::lock, sim::machine,
    sim::stream_of;

namespace {

struct Module {
  std::map<std::string, size_t> entries;  // with the sizes of their arguments
};

struct Function {
  void (*run)(const void *);
  size_t size;
};

std::map<void *, size_t> pinned;
std::set<std::pair<int, int>> peers;
std::map<CUevent, std::shared_ptr<sim::Event>> events;  // work keeps those that are destroyed
std::map<Module *, std::unique_ptr<Module>> modules;

#define ENTER                             \
  std::lock_guard<std::mutex> held(lock); \
  if (int failed = entered(__func__, false)) return (CUresult)failed;
// Calls that release resources work on a lost device, too.
#define ENTER_FREE                        \
  std::lock_guard<std::mutex> held(lock); \
  if (int failed = entered(__func__, true)) return (CUresult)failed;
#define NEEDS_CONTEXT \
  if (current < 0) return CUDA_ERROR_INVALID_CONTEXT;
#define REQUIRE(condition) \
  if (!(condition)) return CUDA_ERROR_INVALID_VALUE;

std::shared_ptr<sim::Event> event_of(CUevent e) {
  const auto found = events.find(e);
  return found == events.end() ? nullptr : found->second;
}

}  // namespace

// Host memory that must be valid until deferred copies have run.
bool sim::is_pinned(const void *p, uint64_t n) {
  auto found = pinned.upper_bound((void *)p);
  if (found == pinned.begin()) return false;
  --found;
  return (const char *)p + n <= (char *)found->first + found->second;
}

namespace {

CUresult finish(const std::function<bool()> &done) {
  if (!machine().run_until(done)) return CUDA_ERROR_LAUNCH_TIMEOUT;  // streams wait for each other
  return (CUresult)machine().lost;
}

int driver_version() {
  const char *text = getenv("LIBTENSOR_SIM_VERSION");
  return text ? atoi(text) : 12080;
}

// The number behind a directive of PTX; 0 for none.
double directive(const std::string &text, const char *name) {
  const size_t at = text.find(name);
  return at == std::string::npos ? 0 : atof(text.c_str() + at + strlen(name));
}

// Both ends of a copy, or of a fill, must be live when it runs, too.
char *checked(CUdeviceptr at, size_t n) { return lt_sim_place(at, (int64_t)n, true); }

}  // namespace

extern "C" {

CUresult cuInit(unsigned) { ENTER return CUDA_SUCCESS; }

CUresult cuDriverGetVersion(int *version) {
  ENTER
  *version = driver_version();
  return CUDA_SUCCESS;
}

static const struct {
  int code;
  const char *name, *text;
} errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
};

CUresult cuGetErrorName(CUresult code, const char **name) {
  for (const auto &e : errors)
    if (e.code == code) return *name = e.name, CUDA_SUCCESS;
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGetErrorString(CUresult code, const char **text) {
  for (const auto &e : errors)
    if (e.code == code) return *text = e.text, CUDA_SUCCESS;
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *n) {
  ENTER
  *n = machine().devices;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *d, int ordinal) {
  ENTER
  if (ordinal < 0 || ordinal >= machine().devices) return CUDA_ERROR_INVALID_DEVICE;
  *d = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *name, int n, CUdevice d) {
  ENTER
  if (d < 0 || d >= machine().devices) return CUDA_ERROR_INVALID_DEVICE;
  strncpy(name, "Simulated device", n);
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice) {
  ENTER
  *bytes = machine().memory.total();
  return CUDA_SUCCESS;
}
static int capability() {
  const char *text = getenv("LIBTENSOR_SIM_CAPABILITY");
  return text ? atoi(text) : 80;
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice) {
  ENTER
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = capability() / 10;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = capability() % 10;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 2;
      break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      *value = 32;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = 1024;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      *value = 2048;
      break;
    default:
      *value = 0;
  }
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice d) {
  ENTER
  memset(uuid, 0, sizeof *uuid);
  uuid->bytes[15] = (char)(d + 1);
  return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int *can, CUdevice d, CUdevice peer) {
  ENTER
  *can = d != peer;
  return CUDA_SUCCESS;
}
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned) {
  ENTER NEEDS_CONTEXT const int other = (int)(uintptr_t)peer - 1;
  if (other == current) return CUDA_ERROR_INVALID_DEVICE;
  return peers.insert({current, other}).second ? CUDA_SUCCESS
                                               : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) {
  ENTER
  *c = (CUcontext)(uintptr_t)(d + 1);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) { ENTER_FREE return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext c) {
  ENTER_FREE
  current = (int)(uintptr_t)c - 1;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext *c) {
  ENTER_FREE
  *c = (CUcontext)(uintptr_t)(current + 1);
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize(void) {
  ENTER NEEDS_CONTEXT return finish([] {
    for (sim::Stream *s : machine().streams)
      if (s->device == current && !s->queue.empty()) return false;
    return true;
  });
}

CUresult cuPointerGetAttribute(void *out, CUpointer_attribute which, CUdeviceptr at) {
  ENTER
  const sim::Allocation *a = machine().memory.find(at, 1);
  if (!a || which != CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) return CUDA_ERROR_INVALID_VALUE;
  *(int *)out = a->device;
  return CUDA_SUCCESS;
}
CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  ENTER NEEDS_CONTEXT *total = machine().memory.total();
  *free = *total - machine().memory.used(current);
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t n) {
  ENTER NEEDS_CONTEXT REQUIRE(n > 0) const uint64_t found = machine().memory.allocate(current, n);
  if (!found) return CUDA_ERROR_OUT_OF_MEMORY;
  *at = found;
  return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr at) {
  ENTER_FREE NEEDS_CONTEXT machine().run_until([] {  // it waits for running work
    for (sim::Stream *s : machine().streams)
      if (!s->queue.empty()) return false;
    return true;
  });
  return machine().memory.free(at) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemHostAlloc(void **at, size_t n, unsigned) {
  ENTER NEEDS_CONTEXT *at = aligned_alloc(4096, (n + 4095) / 4096 * 4096);
  pinned[*at] = n;
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void *at) {
  ENTER_FREE
  REQUIRE(pinned.erase(at))
  free(at);
  return CUDA_SUCCESS;
}

// Pageable memory is read when the stream runs, too, as a driver may do.
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, CUstream s) {
  ENTER NEEDS_CONTEXT REQUIRE(machine().memory.find(to, n) &&
                              !machine().memory.is_device((uint64_t)from)) return enqueue(s, [=] {
    memcpy(checked(to, n), from, n);
  });
}
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, CUstream s) {
  ENTER NEEDS_CONTEXT REQUIRE(machine().memory.find(from, n) &&
                              !machine().memory.is_device((uint64_t)to)) const CUresult failed =
      enqueue(s, [=] { memcpy(to, checked(from, n), n); });
  if (failed || is_pinned(to, n)) return failed;
  sim::Stream *stream = stream_of(s);
  return finish([=] { return stream->queue.empty(); });
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
  ENTER NEEDS_CONTEXT REQUIRE(machine().memory.find(to, n) &&
                              machine().memory.find(from, n)) return enqueue(s, [=] {
    memmove(checked(to, n), checked(from, n), n);
  });
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t n,
                           CUstream s) {
  ENTER NEEDS_CONTEXT REQUIRE(machine().memory.find(to, n) &&
                              machine().memory.find(from, n)) return enqueue(s, [=] {
    memmove(checked(to, n), checked(from, n), n);
  });
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream s) {
  ENTER NEEDS_CONTEXT REQUIRE(machine().memory.find(to, n)) return enqueue(
      s, [=] { memset(checked(to, n), value, n); });
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  ENTER NEEDS_CONTEXT *least = 0;
  *greatest = -5;
  return CUDA_SUCCESS;
}
CUresult cuStreamCreateWithPriority(CUstream *out, unsigned, int priority) {
  ENTER NEEDS_CONTEXT REQUIRE(priority <= 0 && priority >= -5) auto *s = new sim::Stream;
  s->device = current;
  machine().streams.push_back(s);
  *out = (CUstream)s;
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy_v2(CUstream handle) {
  ENTER_FREE NEEDS_CONTEXT sim::Stream *s = stream_of(handle);
  if (!s || !handle) return CUDA_ERROR_INVALID_HANDLE;
  finish([=] { return s->queue.empty(); });
  std::erase(machine().streams, s);
  delete s;
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream handle) {
  ENTER NEEDS_CONTEXT sim::Stream *s = stream_of(handle);
  if (!s) return CUDA_ERROR_INVALID_HANDLE;
  return finish([=] { return s->queue.empty(); });
}
CUresult cuStreamQuery(CUstream handle) {
  ENTER NEEDS_CONTEXT sim::Stream *s = stream_of(handle);
  if (!s) return CUDA_ERROR_INVALID_HANDLE;
  machine().run_some();
  return s->queue.empty() ? (CUresult)machine().lost : CUDA_ERROR_NOT_READY;
}
CUresult cuStreamWaitEvent(CUstream s, CUevent handle, unsigned) {
  ENTER NEEDS_CONTEXT const std::shared_ptr<sim::Event> e = event_of(handle);
  if (!e) return CUDA_ERROR_INVALID_HANDLE;
  const uint64_t until = e->recorded;
  return enqueue(s, [] {}, [=] { return e->completed >= until; });
}

CUresult cuEventCreate(CUevent *out, unsigned flags) {
  ENTER NEEDS_CONTEXT auto made = std::make_shared<sim::Event>();
  made->device = current;
  made->timing = !(flags & CU_EVENT_DISABLE_TIMING);
  *out = (CUevent)made.get();
  events[*out] = made;
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(CUevent handle) {
  ENTER_FREE
  return events.erase(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuEventRecord(CUevent handle, CUstream s) {
  ENTER NEEDS_CONTEXT const std::shared_ptr<sim::Event> e = event_of(handle);
  if (!e) return CUDA_ERROR_INVALID_HANDLE;
  if (const sim::Stream *on = stream_of(s); on && on->device != e->device)
    return CUDA_ERROR_INVALID_HANDLE;
  sim::Stream *stream = stream_of(s);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  const uint64_t ticket = ++e->recorded;
  machine().enqueue(stream, [=] {  // also on a device that was lost, whose events are waited for
    e->completed = std::max(e->completed, ticket);
    e->when = ++machine().clock;
  });
  machine().run_some();
  return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent handle) {
  ENTER
  const std::shared_ptr<sim::Event> e = event_of(handle);
  if (!e) return CUDA_ERROR_INVALID_HANDLE;
  machine().run_some();
  return e->completed >= e->recorded ? (CUresult)machine().lost : CUDA_ERROR_NOT_READY;
}
CUresult cuEventSynchronize(CUevent handle) {
  ENTER
  const std::shared_ptr<sim::Event> e = event_of(handle);
  if (!e) return CUDA_ERROR_INVALID_HANDLE;
  return finish([=] { return e->completed >= e->recorded; });
}
// Events are some thousandths of a second apart, in the order in which their streams executed them.
CUresult cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
  ENTER
  const std::shared_ptr<sim::Event> a = event_of(from), b = event_of(to);
  if (!a || !b || !a->timing || !b->timing || !a->recorded || !b->recorded ||
      a->device != b->device)
    return CUDA_ERROR_INVALID_HANDLE;
  if (a->completed < a->recorded || b->completed < b->recorded) return CUDA_ERROR_NOT_READY;
  *milliseconds = (float)((int64_t)b->when - (int64_t)a->when);
  return CUDA_SUCCESS;
}

// Finds the entries of PTX, and how many bytes of arguments each takes. A driver for CUDA 12.4
// reads PTX up to 8.4.
CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned n, CUjit_option *options,
                            void **values) {
  ENTER NEEDS_CONTEXT REQUIRE(n == 2 && options[0] == CU_JIT_ERROR_LOG_BUFFER &&
                              options[1] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      const std::string text = (const char *)image;
  const double version = directive(text, ".version "), target = directive(text, ".target sm_");
  if (version > 8 + driver_version() % 1000 / 10 / 10.) return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  if (!version || !target || target > capability()) {
    snprintf((char *)values[0], (size_t)values[1], "ptxas fatal   : SM version %d is not supported",
             (int)target);
    return CUDA_ERROR_INVALID_PTX;
  }
  auto made = std::make_unique<Module>();
  for (size_t at = 0; (at = text.find(".entry ", at)) != std::string::npos;) {
    at += 7;
    const size_t end = text.find('(', at), size = text.find('[', end);
    made->entries[text.substr(at, end - at)] = strtoull(&text[size + 1], nullptr, 10);
  }
  *out = (CUmodule)made.get();
  modules[made.get()] = std::move(made);
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule m) {
  ENTER_FREE
  return modules.erase((Module *)m) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name) {
  ENTER NEEDS_CONTEXT const auto found = ((Module *)m)->entries.find(name);
  if (found == ((Module *)m)->entries.end()) return CUDA_ERROR_NOT_FOUND;
  static std::map<std::string, Function> functions;
  Function &f = functions[name];
  Dl_info here;
  if (!f.run && dladdr((void *)cuModuleGetFunction, &here)) {
    void *self = dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    f.run = (void (*)(const void *))dlsym(self, name);
  }
  if (!f.run) return CUDA_ERROR_NOT_FOUND;
  f.size = found->second;
  *out = (CUfunction)&f;
  return CUDA_SUCCESS;
}

// Arguments are one buffer with the size from the PTX.
CUresult cuLaunchKernel(CUfunction handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned, CUstream s, void **params,
                        void **extra) {
  ENTER NEEDS_CONTEXT const auto *f = (const Function *)handle;
  REQUIRE(!params && extra && gx > 0 && gx < 1u << 31 && gy == 1 && gz == 1 && bx > 0 &&
          bx <= 1024 && by == 1 && bz == 1)
  REQUIRE(extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER && extra[2] == CU_LAUNCH_PARAM_BUFFER_SIZE &&
          extra[4] == CU_LAUNCH_PARAM_END)
  const auto *begin = (const char *)extra[1];
  const size_t n = *(const size_t *)extra[3];
  REQUIRE(n == f->size && n <= 4096)
  struct alignas(16) Arguments {
    char bytes[4096];
  };
  const auto arguments = std::make_shared<Arguments>();
  memcpy(arguments->bytes, begin, n);
  const int64_t threads = (int64_t)gx * bx;
  return enqueue(s, [=] {
    const bool backwards = machine().random() & 1;
    for (int64_t i = 0; i < threads && !machine().lost; i++) {
      lt_sim_thread = {backwards ? threads - 1 - i : i, threads, bx};
      f->run(arguments->bytes);
    }
  });
}

void lt_sim_seed(uint64_t seed) {
  std::lock_guard<std::mutex> held(lock);
  machine().random.seed(seed);
}
// Live allocations of devices and pinned ones, work that waits, streams and events.
void lt_sim_live(int64_t out[5]) {
  std::lock_guard<std::mutex> held(lock);
  out[0] = (int64_t)machine().memory.live();
  out[1] = (int64_t)pinned.size();
  out[2] = 0;
  for (sim::Stream *s : machine().streams) out[2] += (int64_t)s->queue.size();
  out[3] = (int64_t)machine().streams.size();
  out[4] = (int64_t)events.size();
}

}  // extern "C"
