// The measurements of small.c, with PyTorch's C++ library.
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>

constexpr int kRuns = 30, kRepeats = 10000;

template <typename Call>
void Time(Call call) {
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; run++) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kRepeats; i++) call();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    least = std::min(least, took.count() / kRepeats);
  }
  std::printf("%.1f\n", least);
}

int main() {
  torch::NoGradGuard no_grad;
  const auto a = torch::ones({1, 3}), x = torch::ones({1, 64}), weights = torch::ones({64, 64});
  const auto bias = weights[0];
  Time([&] { return a + a; });
  Time([&] { return torch::relu(torch::linear(x, weights, bias)); });
}
