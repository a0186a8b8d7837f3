// tensor.hpp: parallel loops, interruption, the observer and the allocator, and their exceptions.
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "check.hpp"

using namespace tensor;
using std::chrono::milliseconds;

static void loops() {
  std::vector<int> seen(10000);
  parallel_for(seen.size(), 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) seen[size_t(i)]++;
  });
  CHECK(seen == std::vector<int>(10000, 1));
  const Tensor matrix = ones({2, 3});
  for (const int threads : {1, 4}) {
    set_num_threads(threads);
    // The error of the first range, of whichever type.
    THROWS(parallel_for(100, 1,
                        [](int64_t begin, int64_t) {
                          throw std::runtime_error("range from " + std::to_string(begin));
                        }),
           TENSOR_ERROR_CALLBACK, "range from 0");
    THROWS(parallel_for(100, 1, [&](int64_t, int64_t) { matrix.matmul(matrix); }),
           TENSOR_ERROR_RUNTIME, "matmul");
    THROWS(parallel_for(100, 1, [](int64_t, int64_t) { throw 1; }), TENSOR_ERROR_CALLBACK,
           "std::exception");
  }
  parallel_for(0, 1, [](int64_t, int64_t) { CHECK(false); });
  THROWS(parallel_for(1, 0, [](int64_t, int64_t) {}), TENSOR_ERROR_VALUE, "grain");
  THROWS(parallel_for(-1, 1, [](int64_t, int64_t) {}), TENSOR_ERROR_VALUE, "'n' is -1");
}

static Tensor long_call(const Tensor &x) { return x.exp(); }

static void interruption() {
  const Tensor x = zeros({1 << 23});
  const int64_t before = tensor_live_handles();
  int calls = 0;
  {
    const Interrupt inner([&] { return ++calls > 1; }, milliseconds(0));
    THROWS(long_call(x), TENSOR_ERROR_CANCELLED, "exp: the call was cancelled");
    CHECK(calls == 2);
  }
  CHECK(has<float>(long_call(x)(slice(0, 2)), {2}, {1, 1}) && calls == 2);
  {
    const Interrupt outer([&] { return calls++, false; }, milliseconds(0));
    {
      const Interrupt inner([]() -> bool { throw std::range_error("no, said the function"); },
                            milliseconds(0));
      for (int round = 0; round < 2; round++) try {
          long_call(x);
          CHECK(false);
        } catch (const std::range_error &error) {
          CHECK(error.what() == std::string("no, said the function"));
        }
      // The exception of a call of C is not that of a later call.
      tensor_t *made;
      CHECK(tensor_exp(x.get(), &made) == TENSOR_ERROR_CANCELLED);
      bool cancels = true;
      const Interrupt innermost([&] { return cancels; }, milliseconds(0));
      THROWS(long_call(x), TENSOR_ERROR_CANCELLED, "cancelled");
      cancels = false;
      long_call(x);
    }
    CHECK(calls == 2);
    long_call(x);
    CHECK(calls > 2);
    // The function is that of its thread.
    const int known = calls;
    std::thread([&] { long_call(x); }).join();
    CHECK(calls == known);
  }
  const int known = calls;
  long_call(x);
  CHECK(calls == known);
  THROWS(Interrupt(nullptr), TENSOR_ERROR_VALUE, "tensor::Interrupt: the function is empty");
  THROWS(Interrupt([] { return false; }, milliseconds(-1)), TENSOR_ERROR_VALUE, "interval");
  long_call(x);
  CHECK(tensor_live_handles() == before);
}

// The exception of the interrupt function is that of the outermost call, whatever functions of the
// program that are called on the way do with it.
static void nested_interruption() {
  const Tensor x = zeros({1 << 23}), leaf = ones({1}).requires_grad_();
  const int64_t before = tensor_live_handles();
  const auto throws = []() -> bool { throw std::range_error("stop"); };
  const auto nothing = [] {};
  const auto again = [] { throw; };
  const auto other = [] { throw std::logic_error("cannot use that"); };
  const auto cancelled = [] { throw Error(TENSOR_ERROR_CANCELLED, "cancelled"); };
  int round = 0;
  for (const std::function<void()> &handle :
       std::initializer_list<std::function<void()>>{nothing, again, other, cancelled}) {
    const auto inner = [&] {
      try {
        long_call(x);
      } catch (const std::range_error &) {
        handle();
      }
    };
    const Operator slow("cpp::slow(Tensor x) -> Tensor", [&](const Arguments &given) {
      inner();
      return given.tensor(0) * 2;
    });
    OperatorOptions options;
    options.backward = [&](const Arguments &, const Arguments &, const Arguments &gradients) {
      inner();
      return gradients.tensor(0) * 1;
    };
    const Operator steep(
        "cpp::steep(Tensor x) -> Tensor",
        [](const Arguments &given) { return given.tensor(0) * 2; }, options);
    const Tensor y = leaf * 2, z = leaf * 3;
    y.register_hook([&](const Tensor &) -> std::optional<Tensor> { return inner(), std::nullopt; });
    const Tensor deep = steep({leaf}).tensor();
    set_num_threads(1);
    const std::function<void()> calls[] = {
        [&] { slow({leaf.detach()}); },
        [&] { slow({slow({leaf.detach()}).tensor()}); },
        [&] { y.backward(); },
        [&] { deep.backward(); },
        [&] { parallel_for(1, 1, [&](int64_t, int64_t) { inner(); }); },
    };
    for (const auto &each : calls) {
      {
        const Interrupt interrupt(throws, milliseconds(0));
        try {
          each();
          CHECK(false);
        } catch (const std::range_error &error) {
          CHECK(error.what() == std::string("stop"));
        }
      }
      // A later error is not the exception of the interrupt function.
      const Operator failing("cpp::failing(Tensor x) -> Tensor", [](const Arguments &) -> Results {
        throw Error(TENSOR_ERROR_CANCELLED, "own error");
      });
      THROWS(failing({x}), TENSOR_ERROR_CANCELLED, "own error");
      round++;
    }
    set_num_threads(4);
  }
  CHECK(round == 20 && tensor_live_handles() == before);
  CHECK(has<float>(long_call(x)(slice(0, 2)), {2}, {1, 1}));
}

static void observation() {
  const Tensor x = ones({2, 3});
  auto alive = std::make_shared<int>(0);
  std::mutex lock;
  std::vector<std::string> seen;
  const auto observe = [&, alive](const tensor_event &event) {
    const std::lock_guard<std::mutex> guard(lock);
    CHECK(!event.tensor_count || event.tensors[0].sizes[0] == 2);
    seen.push_back(event.name + std::string(event.is_end ? ")" : "("));
  };
  {
    Observer observer(observe);
    x + 1, std::thread([&] { x * 2; }).join();
    CHECK((seen == std::vector<std::string>{"add(", "add)", "mul(", "mul)"}));
    observer.stop(), observer.stop();
    x + 1;
    CHECK(seen.size() == 4);
  }
  {
    const Observer observer(observe);
    THROWS(x.matmul(x), TENSOR_ERROR_RUNTIME, "matmul");
  }
  x + 1;
  CHECK(seen.size() == 6 && alive.use_count() == 2);
  int outer = 0, inner = 0;
  {
    Observer first([&](const tensor_event &) { outer++; });
    {
      const Observer second([&](const tensor_event &) { inner++; });
      x + 1;
    }
    x + 1, first.stop(), x + 1;
  }
  x + 1;
  CHECK(outer == 2 && inner == 2);
  int calls = 0;
  {
    Observer observer([&](const tensor_event &) { throw calls++; });
    CHECK((x + 1).sum().item<float>() == 12);
    try {
      observer.stop();
      CHECK(false);
    } catch (int first) {
      CHECK(first == 0 && calls >= 4);
    }
    observer.stop();
  }
  THROWS(Observer(nullptr), TENSOR_ERROR_VALUE, "tensor::Observer: the function is empty");
}

static void allocation() {
  std::atomic<int64_t> live{0}, most{0};
  auto alive = std::make_shared<int>(0);
  const auto allocate = [&](int64_t size, int64_t alignment) {
    most = std::max(most.load(), live += size);
    return std::aligned_alloc(size_t(alignment), size_t(size));
  };
  const auto deallocate = [&, alive](void *data, int64_t size) {
    live -= size;
    std::free(data);
    throw std::runtime_error("ignored");
  };
  Tensor kept;
  {
    const Allocator allocator(allocate, deallocate);
    kept = ones({1000}) + 1;
    CHECK(live >= 4000 && most >= 8000);
  }
  const int64_t known = live;
  const Tensor other = ones({1000});
  CHECK(live == known && alive.use_count() == 3 && kept.sum().item<float>() == 2000);
  kept = Tensor();
  empty_cache();
  CHECK(live == 0 && alive.use_count() == 2);
  {
    const Allocator allocator([](int64_t, int64_t) -> void * { throw 1; }, deallocate);
    THROWS(other + 1, TENSOR_ERROR_MEMORY, "add");
  }
  {
    const Allocator allocator([](int64_t, int64_t) { return nullptr; }, deallocate);
    THROWS(other + 1, TENSOR_ERROR_MEMORY, "add");
  }
  CHECK((other + 1).sum().item<float>() == 2000 && alive.use_count() == 2);
  THROWS(Allocator(allocate, nullptr), TENSOR_ERROR_VALUE,
         "tensor::Allocator: a function is empty");
  THROWS(Allocator(nullptr, deallocate), TENSOR_ERROR_VALUE, "a function is empty");
}

int main() {
  const int64_t before = tensor_live_handles();
  loops(), interruption(), nested_interruption(), observation(), allocation();
  CHECK(tensor_live_handles() == before);
}
