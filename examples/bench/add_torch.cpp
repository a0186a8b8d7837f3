// What add.c measures, with PyTorch's C++ library.
#include <torch/torch.h>

#include <chrono>
#include <cstdio>

int main() {
  constexpr int kRepeats = 1000000;
  torch::NoGradGuard no_grad;
  const auto a = torch::ones({3});
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kRepeats; i++) auto c = a + a;
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  std::printf("%.1f\n", took.count() / kRepeats);
}
