// tensor.hpp: who frees what, errors in the middle of expressions, gradients, threads.
#include <thread>

#include "check.hpp"

using namespace tensor;

static void handles() {
  Tensor a = ones({2});
  Tensor b = a, &same = a;
  CHECK(b.is(a) && !b.is(ones({2})));
  a = same;
  CHECK(a.defined() && a.sum().item<float>() == 2);
  a = std::move(same);
  CHECK(a.defined());
  Tensor moved = std::move(a);
  CHECK(moved.is(b) && !a.defined());
  THROWS(a.sum(), TENSOR_ERROR_HANDLE, "sum");
  THROWS(a.dim(), TENSOR_ERROR_HANDLE, "");
  THROWS(b + a, TENSOR_ERROR_HANDLE, "other");
  a = b;
  a.add_(1);
  CHECK(moved.sum().item<float>() == 4);
  std::swap(a, b);
  CHECK(Tensor().get() == nullptr && !Storage().defined());
}

static void thrown() {
  const Tensor x = ones({2, 3});
  const int64_t before = tensor_live_handles();
  THROWS((x * 2 + x.t()).sum() + x, TENSOR_ERROR_RUNTIME, "add");
  THROWS(cat({x + 1, x.t().contiguous(), x - 1}), TENSOR_ERROR_RUNTIME, "cat");
  THROWS(x.matmul(x), TENSOR_ERROR_RUNTIME, "matmul");
  THROWS(zeros({-1}), TENSOR_ERROR_RUNTIME, "-1");
  // Every allocation on the way may be the one that fails.
  for (int64_t n = 1;; n++) {
    try {
      fail_allocation(n);
      const auto parts = ((x + 1).matmul(x.t()) / 3).unbind();
      fail_allocation(0);
      CHECK(n > 2 && parts.size() == 2);
      break;
    } catch (const Error &error) {
      CHECK(error.kind() == TENSOR_ERROR_MEMORY);
      CHECK(tensor_live_handles() == before);
    }
  }
  CHECK(tensor_live_handles() == before);
}

static int deleted = 0;

static void memory() {
  float values[6] = {1, 2, 3, 4, 5, 6};
  {
    const Tensor t =
        from_blob<float>(values, {2, 3}, [&](float *data) { deleted += data == values; });
    const Tensor view = t[1];
    CHECK(t.data<float>() == values && view.data<float>() == values + 3);
    values[4] = 50;
    CHECK(view.sum().item<float>() == 60);
    view.fill_(0);
    CHECK(values[5] == 0 && deleted == 0);
  }
  empty({0});  // large memory is given back at once, small memory with the next call
  CHECK(deleted == 1);
  const Tensor strided = from_blob<float>(values, {2, 2}, nullptr, {1, 2});
  CHECK(has<float>(strided, {2, 2}, {1, 3, 2, 0}));
  // The type of the data determines the dtype.
  CHECK(from_blob(values, 2, nullptr, 3).to_vector<float>() == (std::vector<float>{1, 0}) &&
        from_blob(values, 1, [](float *) {}).numel() == 1);
  const Tensor constant = from_blob<const float>(values, 3);
  CHECK(constant.data<const float>() == values);
  THROWS(constant.data<float>(), TENSOR_ERROR_RUNTIME, "read-only");
  THROWS(constant.fill_(1), TENSOR_ERROR_RUNTIME, "read-only");
  THROWS(strided.data<double>(), TENSOR_ERROR_TYPE, "the elements are float32, not float64");
  THROWS(empty({1}, Device(TENSOR_META)).data<float>(), TENSOR_ERROR_TYPE, "CPU");
  // A failed call does not run the deleter.
  THROWS(from_blob<float>(values, {-1}, [&](float *) { deleted++; }), TENSOR_ERROR_RUNTIME, "-1");
  THROWS(from_blob<float>(values, {INT64_MAX, 4}, [&](float *) { deleted++; }),
         TENSOR_ERROR_RUNTIME, "9223372036854775807");
  CHECK(deleted == 1);
  std::vector<double> much(1000, 2.0);
  const double *address = much.data();
  const Tensor kept = from(std::move(much), {10, 100});
  CHECK(kept.data<double>() == address && kept.sum().item<double>() == 2000);
}

static void gradients() {
  const Tensor x = from({1., 2., 3.}).requires_grad_();
  CHECK(x.is_leaf() && !x.grad());
  (x * x).sum().backward();
  CHECK(has<double>(*x.grad(), {3}, {2, 4, 6}));
  x.set_grad(std::nullopt);
  const Tensor y = x * x;
  (y * y).backward(ones({3}, float64));
  CHECK(has<double>(*x.grad(), {3}, {4, 32, 108}));
  const auto second = autograd_grad({(x * x * x).sum()}, {x}, {}, std::nullopt, true, false, false);
  CHECK(second[0]->requires_grad());
  {
    const NoGrad guard;
    CHECK(!(x * 2).requires_grad());
    const EnableGrad inner;
    CHECK((x * 2).requires_grad());
  }
  try {
    const NoGrad guard;
    throw std::runtime_error("left by an exception");
  } catch (const std::runtime_error &) {
    CHECK(is_grad_enabled() && (x * 2).requires_grad());
  }
  {
    const InferenceMode guard;
    CHECK(is_inference(x * 2));
  }
  CHECK(rand({2}, Options(float64).requires_grad()).requires_grad());
  THROWS(x.add_(1), TENSOR_ERROR_RUNTIME, "leaf");
  THROWS((x * 2).backward(), TENSOR_ERROR_RUNTIME, "scalar outputs");
}

static void hooks() {
  const Tensor x = from({1., 2.}).requires_grad_();
  int calls = 0;
  auto alive = std::make_shared<int>(0);
  const int64_t hook =
      x.register_hook([&calls, alive](const Tensor &gradient) -> std::optional<Tensor> {
        calls++;
        return gradient * 10;
      });
  (x * 3).sum().backward();
  CHECK(calls == 1 && has<double>(*x.grad(), {2}, {30, 30}) && alive.use_count() == 2);
  remove_hook(hook);
  CHECK(alive.use_count() == 1);
  x.register_hook([](const Tensor &) -> std::optional<Tensor> {
    throw std::runtime_error("no, said the hook");
  });
  THROWS((x * 3).sum().backward(), TENSOR_ERROR_CALLBACK, "no, said the hook");
  THROWS(x.register_hook(nullptr), TENSOR_ERROR_VALUE, "register_hook: the hook is empty");
  THROWS(from({1}).register_hook([alive](const Tensor &) { return std::nullopt; }),
         TENSOR_ERROR_RUNTIME, "hook");
  CHECK(alive.use_count() == 1);
}

static void threads() {
  const Tensor shared = arange(1000, float64);
  std::vector<std::thread> running;
  std::vector<double> sums(4);
  for (size_t i = 0; i < sums.size(); i++)
    running.emplace_back([copy = shared, i, &sums] {
      const NoGrad guard;  // of this thread alone
      for (int round = 0; round < 50; round++) {
        const Tensor part = copy(slice(int64_t(i), std::nullopt, 4)) + round;
        sums[i] = part.sum().item<double>() - 250. * round;
      }
      THROWS(copy.matmul(copy.reshape({10, 100})), TENSOR_ERROR_RUNTIME, "matmul");
    });
  for (auto &thread : running) thread.join();
  CHECK(sums[0] + sums[1] + sums[2] + sums[3] == 499500 && is_grad_enabled());
}

int main() {
  const int64_t before = tensor_live_handles();
  handles(), thrown(), memory(), gradients(), hooks(), threads();
  CHECK(tensor_live_handles() == before);
}
