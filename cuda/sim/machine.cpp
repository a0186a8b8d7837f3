#include "machine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "thread.h"

namespace sim {
namespace {

constexpr uint64_t kPage = 4096;
constexpr int kGarbage = 0xcb;
// The size of an allocation's start that is filled with garbage; the rest takes no memory until it
// is used.
constexpr uint64_t kSpoiled = 64 << 20;

uint64_t number(const char *variable, uint64_t otherwise) {
  const char *text = getenv(variable);
  return text && *text ? strtoull(text, nullptr, 10) : otherwise;
}

uint64_t pages(uint64_t size) { return (size + kPage - 1) / kPage * kPage; }

}  // namespace

Memory::Memory() : total_(number("LIBTENSOR_SIM_MEMORY", 8ull << 30)) {
  const auto reserve = [] {
    return (uint64_t)mmap(nullptr, kSpan, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                          -1, 0);
  };
  base_ = next_ = reserve();
  distance_ = reserve() - base_;
}

uint64_t Memory::used(int device) const {
  uint64_t sum = 0;
  for (const auto &[at, a] : live_) sum += a.device == device ? a.size : 0;
  return sum;
}

uint64_t Memory::allocate(int device, uint64_t size) {
  const uint64_t room = pages(size);
  if (used(device) + size > total_ || next_ + room + kPage > base_ + kSpan) return 0;
  const uint64_t at = next_;
  next_ += room + kPage;  // and a page that stays free
  if (mprotect(bytes(at), room, PROT_READ | PROT_WRITE)) return 0;
  memset(bytes(at), kGarbage, std::min(room, kSpoiled));
  live_[at] = {at, size, device};
  return at;
}

bool Memory::free(uint64_t address) {
  const auto found = live_.find(address);
  if (found == live_.end()) return false;
  const uint64_t room = pages(found->second.size);
  madvise(bytes(address), room, MADV_DONTNEED);
  mprotect(bytes(address), room, PROT_NONE);
  for (const Allocation *&a : recent_) a = nullptr;
  live_.erase(found);
  return true;
}

const Allocation *Memory::find(uint64_t address, uint64_t n) {
  for (const Allocation *a : recent_)
    if (a && address >= a->begin && address + n <= a->begin + a->size) return a;
  auto found = live_.upper_bound(address);
  if (found == live_.begin()) return nullptr;
  const Allocation &a = (--found)->second;
  if (address + n > a.begin + a.size) return nullptr;
  return recent_[oldest_++ % 4] = &a;
}

Machine::Machine()
    : devices((int)number("LIBTENSOR_SIM_DEVICES", 2)), random(number("LIBTENSOR_SIM_SEED", 1)) {
  for (int d = 0; d < devices; d++) {
    null_streams.push_back(std::make_unique<Stream>());
    null_streams[d]->device = d;
    streams.push_back(null_streams[d].get());
  }
}

void Machine::enqueue(Stream *s, std::function<void()> run, std::function<bool()> ready) {
  s->queue.push_back({std::move(run), std::move(ready)});
}

// Runs the first work item of a stream that is chosen among those that may continue; returns false
// if there is none.
bool Machine::step() {
  std::vector<Stream *> able;
  for (Stream *s : streams)
    if (!s->queue.empty() && (!s->queue.front().ready || s->queue.front().ready()))
      able.push_back(s);
  if (able.empty()) return false;
  Stream *s = able[random() % able.size()];
  Work w = std::move(s->queue.front());
  s->queue.pop_front();
  if (!lost) w.run();
  return true;
}

bool Machine::run_until(const std::function<bool()> &done) {
  while (!done())
    if (!step()) return false;
  return true;
}

void Machine::run_some() {
  while (random() % 3 == 0 && step()) {
  }
}

Machine &machine() {
  static Machine *m = new Machine;
  return *m;
}

}  // namespace sim

lt_sim_place_in_grid lt_sim_thread;

char *lt_sim_place(uint64_t address, int64_t n, bool) {
  static char nowhere[64];
  sim::Machine &m = sim::machine();
  if (m.memory.find(address, n)) return m.memory.bytes(address);
  if (sim::is_pinned((const void *)address, (uint64_t)n)) return (char *)address;
  lt_sim_fault();
  return nowhere;
}

void lt_sim_block(int64_t threads) {
  if (lt_sim_thread.block != threads) lt_sim_fault();
}

bool lt_sim_backwards() { return sim::machine().random() & 1; }

void lt_sim_fault() { sim::machine().lost = 700; }
