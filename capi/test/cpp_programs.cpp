// Exported programs from C++.
#include "check.hpp"

#include <string>

int main() {
  const tensor::Program program("../../engine/program/testdata/classifier.pt2");
  CHECK(program.inputs().size() == 3 && std::string(program.inputs()[0].shape) == "[s77, 3]");
  CHECK(program.state().size() == 6 && program.tensor(0).size(0) == 4);
  const tensor::Program copy = program;
  tensor::Outputs outputs = copy.run({tensor::ones({2, 3}), tensor::ones({}), tensor::zeros({2})});
  CHECK(outputs.size() == 3 && outputs.tensor(0).size(0) == 2);
  THROWS(program.run({tensor::ones({2, 4}), tensor::ones({}), tensor::zeros({2})}),
         TENSOR_ERROR_RUNTIME, "float32[s77, 3]");
  THROWS(program.run({}), TENSOR_ERROR_VALUE, "3 inputs");
  // Runs with gradients have the same outputs, and the gradients of tensors that replace those of
  // the program.
  const std::vector<tensor::Value> inputs = {tensor::ones({2, 3}), tensor::ones({}),
                                             tensor::zeros({2})};
  const auto expected = program.run(inputs).tensor();
  CHECK(!expected.requires_grad());
  const auto bias = program.tensor("layers.3.bias").requires_grad_();
  for (int i = 1; i < 3; i++) {
    const auto found = program.run(inputs, {{"layers.3.bias", bias}}).tensor();
    CHECK(found.requires_grad() && tensor::equal(found, expected));
    (found * found).sum().backward();
    CHECK(bias.grad()->dim() == 1 && bias.grad()->size(0) == 2);
    const double total = bias.grad()->sum().item<double>();
    CHECK(total < 1e-4 && total > -1e-4 && bias.grad()->abs().sum().item<double>() > 0.01 * i);
  }
  CHECK(!program.run(inputs, {{"layers.3.bias", bias}}, false).tensor().requires_grad());
  const auto zero = tensor::zeros_like(bias.detach());
  CHECK(!tensor::equal(program.run(inputs, {{"layers.3.bias", zero}}).tensor(), expected));
  CHECK(tensor::equal(program.run(inputs).tensor(), expected));
  THROWS(program.run(inputs, {{"layers.9.bias", bias}}), TENSOR_ERROR_VALUE, "'layers.9.bias'");
  THROWS(program.run(inputs, {{"layers.3.bias", tensor::ones({5})}}), TENSOR_ERROR_VALUE,
         "layers.3.bias");
  THROWS(program.tensor("bias"), TENSOR_ERROR_VALUE, "parameter, buffer or constant 'bias'");
  THROWS(program.tensor("layer.bias"), TENSOR_ERROR_VALUE, "similar names: '");
  THROWS(program.tensor("other"), TENSOR_ERROR_VALUE, "state() returns the names");

  THROWS(tensor::Program("/no/such/file.pt2"), TENSOR_ERROR_IO, "/no/such/file.pt2");
  THROWS(tensor::Program("", 0), TENSOR_ERROR_RUNTIME, "zip archive");
}
