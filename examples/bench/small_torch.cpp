// What small.c measures, with PyTorch's C++ library.
#include <torch/torch.h>

#include <chrono>
#include <cstdio>

constexpr int kRepeats = 300000;

template <typename Call>
void Time(Call call) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kRepeats; i++) call();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  std::printf("%.1f\n", took.count() / kRepeats);
}

int main() {
  torch::NoGradGuard no_grad;
  const auto a = torch::ones({1, 3}), x = torch::ones({1, 64}), weights = torch::ones({64, 64});
  const auto bias = weights[0];
  Time([&] { return a + a; });
  Time([&] { return torch::relu(torch::linear(x, weights, bias)); });
}
