// A custom operator with a gradient, which all languages call by name, and a deadline for its
// calls. c++ -std=c++17 custom_operator.cpp -ltensor
#include <chrono>
#include <cmath>
#include <iostream>

#include <tensor.hpp>

using tensor::Arguments;
using tensor::Tensor;

// Computes log(1 + exp(x)) without overflow, on the threads of the library.
static tensor::Results softplus(const Arguments &given) {
  const Tensor x = given.tensor(0).contiguous();
  if (x.dtype() != tensor::float64)
    throw std::invalid_argument("example::softplus: x must be a float64 tensor");
  const Tensor made = tensor::empty_like(x);
  const double *from = x.data<double>();
  double *to = made.data<double>();
  tensor::parallel_for(x.numel(), 4096, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++)
      to[i] = std::log1p(std::exp(-std::fabs(from[i]))) + std::fmax(from[i], 0);
  });
  return made;
}

static tensor::Results softplus_backward(const Arguments &arguments, const Arguments &,
                                         const Arguments &gradients) {
  return gradients.tensor(0) * arguments.tensor(0).sigmoid();
}

int main() {
  try {
    tensor::OperatorOptions options;
    options.backward = softplus_backward;
    options.unsaved_results = 1;
    const tensor::Operator defined("example::softplus(Tensor x) -> Tensor", softplus, options);

    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    const tensor::Interrupt interrupt([end] { return std::chrono::steady_clock::now() > end; });
    const Tensor x = tensor::from({-1000., 0., 1000.}).requires_grad_();
    const Tensor loss = tensor::call("example::softplus", {x}).tensor().sum();
    loss.backward();
    std::cout << *x.grad() << "\n";
    defined({x.to<float>()});
  } catch (const tensor::Error &error) {
    std::cout << error.what() << "\n";
  }
}

// Prints:
// tensor([0.0000, 0.5000, 1.0000], dtype=torch.float64)
// example::softplus: x must be a float64 tensor
