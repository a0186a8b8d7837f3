// The smallest program: c++ -std=c++17 hello.cpp -ltensor
#include <iostream>

#include <tensor.hpp>

int main() {
  try {
    const auto x = tensor::from({{1.f, 2.f}, {3.f, 4.f}}).requires_grad_();
    const auto loss = (x * x).sum();
    loss.backward();
    std::cout << loss.item<float>() << "\n" << *x.grad() << "\n";
  } catch (const tensor::Error &error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}

// Prints:
// 30
// tensor([[2., 4.],
//         [6., 8.]])
