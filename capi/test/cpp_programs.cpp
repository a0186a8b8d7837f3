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
  THROWS(tensor::Program("/no/such/file.pt2"), TENSOR_ERROR_IO, "/no/such/file.pt2");
  THROWS(tensor::Program("", 0), TENSOR_ERROR_RUNTIME, "zip archive");
}
