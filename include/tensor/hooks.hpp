// Interruption, tracing, allocation and parallel loops. Part of tensor.hpp.
#ifndef LIBTENSOR_HOOKS_HPP
#define LIBTENSOR_HOOKS_HPP

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "gradients.hpp"

namespace tensor {

// Calls function(begin, end) for consecutive ranges of 0 to n - 1, on the threads of the library
// and on the calling thread, and returns when all calls have returned. Each range has at least
// `grain` items, except the last. After an exception, ranges that have not begun are skipped, and
// the function throws a tensor::Error with the message of the failed range with the smallest
// `begin`. Throws an error of kind TENSOR_ERROR_VALUE for n < 0 and grain < 1.
template <class Function>
void parallel_for(Int n, Int grain, const Function &function) {
  const tensor_range_function call = [](void *context, int64_t begin, int64_t end) {
    return detail::called([&] { (*static_cast<const Function *>(context))(begin, end); });
  };
  detail::check(tensor_parallel_for(
      n, grain, call, const_cast<void *>(static_cast<const void *>(std::addressof(function)))));
}

// Sets the interrupt function of the calling thread until the end of the block, and then the one of
// the enclosing Interrupt, if any. Long calls of the thread call it between chunks of work, at most
// once in an interval; 0 ms means between all chunks. If it returns true, the running call throws a
// tensor::Error of kind TENSOR_ERROR_CANCELLED; if it throws, the running call throws this
// exception, and so do the calls that it is part of, such as a backward pass with a hook, or a call
// of a custom operator. The function must not call the library. See tensor_set_interrupt.
class Interrupt {
 public:
  explicit Interrupt(std::function<bool()> function,
                     std::chrono::milliseconds interval = std::chrono::milliseconds(100))
      : function_(std::move(function)), interval_(interval), previous_(current()) {
    if (!function_)
      throw Error(TENSOR_ERROR_VALUE,
                  "tensor::Interrupt: the function is empty; it must return whether to cancel");
    detail::check(set());
    current() = this;
  }
  Interrupt(const Interrupt &) = delete;
  Interrupt &operator=(const Interrupt &) = delete;
  ~Interrupt() {
    // Discards an exception that no C++ call rethrew.
    if (!detail::interruption().callbacks) detail::interruption().thrown = nullptr;
    current() = previous_;
    if (previous_)
      previous_->set();
    else
      tensor_set_interrupt(nullptr, nullptr, 0);
  }

 private:
  static Interrupt *&current() {
    static thread_local Interrupt *innermost = nullptr;
    return innermost;
  }
  tensor_status set() { return tensor_set_interrupt(call, this, interval_.count()); }
  static bool call(void *context) noexcept {
    std::exception_ptr &thrown = detail::interruption().thrown;
    thrown = nullptr;
    try {
      return static_cast<Interrupt *>(context)->function_();
    } catch (...) {
      thrown = std::current_exception();
      return true;
    }
  }

  std::function<bool()> function_;
  std::chrono::milliseconds interval_;
  Interrupt *previous_;
};

// Sets the observer of the process, in place of any other, until the end of the block, which sets
// the previous one again. Nested observers must end in the reverse order. The function is called at
// the beginning and at the end of each operator call, also by several threads at once. An exception
// does not end the observed call; stop() throws the first one, and exceptions are lost unless it is
// called. See tensor_replace_observer.
class Observer {
 public:
  using Function = std::function<void(const tensor_event &)>;

  explicit Observer(Function function) : state_(std::make_shared<State>()) {
    if (!function)
      throw Error(TENSOR_ERROR_VALUE,
                  "tensor::Observer: the function is empty; it must accept a tensor_event");
    state_->function = std::move(function);
    auto kept = std::make_unique<Kept>(state_);
    detail::check(tensor_replace_observer(
        call, kept.get(), [](void *context) { delete static_cast<Kept *>(context); }, &previous_));
    kept.release();
  }
  Observer(const Observer &) = delete;
  Observer &operator=(const Observer &) = delete;
  ~Observer() {
    if (!stopped_) tensor_restore_observer(previous_);
  }

  // Ends the observer, as the destructor does, and throws the first exception of its function, if
  // any. Running calls of other threads may still call it.
  void stop() {
    if (!stopped_) detail::check(tensor_restore_observer(previous_));
    stopped_ = true;
    std::unique_lock<std::mutex> lock(state_->mutex);
    const std::exception_ptr first = std::exchange(state_->first, nullptr);
    lock.unlock();
    if (first) std::rethrow_exception(first);
  }

 private:
  struct State {
    Function function;
    std::mutex mutex;
    std::exception_ptr first;
  };
  using Kept = std::shared_ptr<State>;
  static void call(void *context, const tensor_event *event) noexcept {
    State &state = **static_cast<Kept *>(context);
    const detail::Callback callback;
    try {
      state.function(*event);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(state.mutex);
      if (!state.first) state.first = std::current_exception();
    }
  }

  std::shared_ptr<State> state_;
  int64_t previous_ = 0;
  bool stopped_ = false;
};

// Sets the functions that allocate and free the memory of CPU tensors, in place of any others,
// until the end of the block. The destructor sets none; previous functions are not restored.
// allocate(size, alignment) returns memory or nullptr; if it returns
// nullptr or throws, the operator throws a tensor::Error of kind TENSOR_ERROR_MEMORY.
// deallocate(data, size) must not throw: its exceptions are ignored. Both must not call the
// library, and can be called by several threads at once. They are destroyed after the block, when
// their last memory is freed. See tensor_set_allocator.
class Allocator {
 public:
  using Allocate = std::function<void *(int64_t size, int64_t alignment)>;
  using Deallocate = std::function<void(void *data, int64_t size)>;

  Allocator(Allocate allocate, Deallocate deallocate) {
    if (!allocate || !deallocate)
      throw Error(TENSOR_ERROR_VALUE,
                  "tensor::Allocator: a function is empty; both allocate and deallocate are "
                  "required");
    auto kept = std::make_unique<Kept>(std::move(allocate), std::move(deallocate));
    detail::check(tensor_set_allocator(call_allocate, call_deallocate, kept.get(),
                                       [](void *context) { delete static_cast<Kept *>(context); }));
    kept.release();
  }
  Allocator(const Allocator &) = delete;
  Allocator &operator=(const Allocator &) = delete;
  ~Allocator() { tensor_set_allocator(nullptr, nullptr, nullptr, nullptr); }

 private:
  using Kept = std::pair<Allocate, Deallocate>;
  static void *call_allocate(void *context, int64_t size, int64_t alignment) noexcept {
    try {
      return static_cast<Kept *>(context)->first(size, alignment);
    } catch (...) {  // the operator reports that there is not enough memory
      return nullptr;
    }
  }
  static void call_deallocate(void *context, void *data, int64_t size) noexcept {
    try {
      static_cast<Kept *>(context)->second(data, size);
    } catch (...) {  // memory can be freed where no call could report it
    }
  }
};

}  // namespace tensor

#endif
