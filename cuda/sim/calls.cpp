#include "calls.h"

#include <stdlib.h>

#include <string>

namespace sim {
namespace {

// The calls from `first` to `last` fail.
struct Plan {
  int calls = 0, first = 0, last = 0, code = 0;
};

std::map<std::string, Plan> plans;
Plan any;             // for a call of whatever function
std::string culprit;  // the function that was made to fail last

void plan_from_environment() {
  const char *text = getenv("LIBTENSOR_SIM_FAIL");
  if (!text) return;
  std::string all = text;
  for (size_t at = 0; at < all.size();) {
    const size_t end = std::min(all.find(',', at), all.size());
    const std::string one = all.substr(at, end - at);
    const size_t first = one.find(':'), second = one.find(':', first + 1);
    if (second != std::string::npos) {
      const size_t range = one.find('-', first);
      const int begin = atoi(&one[first + 1]);
      const int last = range < second ? atoi(&one[range + 1]) : begin;
      plans[one.substr(0, first)] = {0, begin, last, atoi(&one[second + 1])};
    }
    at = end + 1;
  }
}

}  // namespace

int repairs = 0;  // work of a device that was lost since it was enqueued does nothing

std::mutex lock;
thread_local int current = -1;

int entered(const char *name, bool frees) {
  static std::once_flag once;
  std::call_once(once, plan_from_environment);
  Plan &own = plans[name];
  own.calls++, any.calls++;
  for (const Plan *p : {&own, &any}) {
    if (p->calls < p->first || p->calls > p->last) continue;
    culprit = name;
    if (p->code >= 700 && p->code < 720) machine().lost = p->code;
    return p->code;
  }
  return frees ? 0 : machine().lost;
}

Stream *stream_of(CUstream s) {
  if ((uintptr_t)s <= 2) return machine().null_streams[current].get();  // and the thread's own
  for (Stream *known : machine().streams)
    if (known == (Stream *)s) return known;
  return nullptr;
}

CUresult enqueue(CUstream handle, std::function<void()> run, std::function<bool()> ready) {
  Stream *s = stream_of(handle);
  if (!s) return CUDA_ERROR_INVALID_HANDLE;
  const auto unless_lost = [run = std::move(run), repaired = repairs] {
    if (repaired == repairs) run();
  };
  machine().enqueue(s, unless_lost, std::move(ready));
  machine().run_some();
  return CUDA_SUCCESS;
}

extern "C" {

// For tests: the n-th call of a function from now on returns an error; 0 for none.
void lt_sim_fail(const char *name, int n, int code) {
  std::lock_guard<std::mutex> held(lock);
  plans[name] = {0, n, n, code};
}
int lt_sim_calls(const char *name) {
  std::lock_guard<std::mutex> held(lock);
  return plans[name].calls;
}
// The n-th call of any function from now on returns an error; 0 for none.
void lt_sim_fail_any(int n, int code) {
  std::lock_guard<std::mutex> held(lock);
  any = {0, n, n, code};
  culprit.clear();
}
// The calls since then, and the function that failed; empty for none.
int lt_sim_all_calls(void) {
  std::lock_guard<std::mutex> held(lock);
  return any.calls;
}
const char *lt_sim_culprit(void) { return culprit.c_str(); }
// Repairs a lost device.
void lt_sim_repair(void) {
  std::lock_guard<std::mutex> held(lock);
  if (machine().lost) repairs++;
  machine().lost = 0;
}

}  // extern "C"

}  // namespace sim
