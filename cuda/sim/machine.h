// The simulated machine: memory that only the simulation can access, and streams with deferred
// work.
// A device address is in a reservation without access: a program that dereferences it crashes at
// once. The bytes are stored elsewhere, at a constant distance for all addresses. No address is
// used twice, and new memory does not contain zeros.
// Enqueued work runs later: when a call has to wait for it, or at a time that a seeded generator
// chooses, and then in an order that it chooses among those that streams and events permit.
#ifndef LIBTENSOR_SIM_MACHINE_H
#define LIBTENSOR_SIM_MACHINE_H

#include <stdint.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace sim {

struct Allocation {
  uint64_t begin, size;
  int device;
};

// The bytes of devices.
class Memory {
 public:
  Memory();
  uint64_t allocate(int device, uint64_t size);  // 0 where the device has no more
  bool free(uint64_t address);
  // The allocation that holds all of n bytes, nullptr for none.
  const Allocation *find(uint64_t address, uint64_t n);
  char *bytes(uint64_t address) const { return (char *)(address + distance_); }
  bool is_device(uint64_t address) const { return address - base_ < kSpan; }
  uint64_t total() const { return total_; }
  uint64_t used(int device) const;
  size_t live() const { return live_.size(); }

 private:
  static constexpr uint64_t kSpan = 1ull << 40;
  uint64_t base_, distance_, next_, total_;
  std::map<uint64_t, Allocation> live_;
  // Adjacent elements are mostly in the most recently used allocations.
  const Allocation *recent_[4] = {};
  int oldest_ = 0;
};

struct Event {
  uint64_t recorded = 0, completed = 0;
  uint64_t when = 0;  // by the simulated clock
  int device = 0;
  bool timing = false;
};

struct Work {
  std::function<void()> run;
  std::function<bool()> ready;
};

struct Stream {
  int device = 0;
  std::deque<Work> queue;
};

class Machine {
 public:
  Machine();
  void enqueue(Stream *s, std::function<void()> run, std::function<bool()> ready = nullptr);
  // Runs work until a condition holds.
  bool run_until(const std::function<bool()> &done);
  // Runs as much as the generator likes.
  void run_some();

  Memory memory;
  std::vector<std::unique_ptr<Stream>> null_streams;  // one for each device
  std::vector<Stream *> streams;                      // in the order in which they were made
  int devices;
  int lost = 0;        // the error of a launch or device that failed, which all calls after it get
  uint64_t clock = 0;  // counts the events that streams came to
  std::mt19937_64 random;

 private:
  bool step();
};

Machine &machine();

// Returns whether all of n bytes are pinned memory of the host, which kernels can access.
bool is_pinned(const void *p, uint64_t n);

}  // namespace sim
#endif
