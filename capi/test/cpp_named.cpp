// tensor.hpp: calls of operators by name.
#include "check.hpp"

using namespace tensor;

int main() {
  const int64_t before = tensor_live_handles();
  {
    const Tensor x = from({1.f, 2.f, 3.f});
    CHECK(has<float>(call("aten::add.Tensor", {x, x}, {{"alpha", 2}}).tensor(), {3}, {3, 6, 9}));
    CHECK(has<float>(call("add", {x, 0.5}).tensor(), {3}, {1.5, 2.5, 3.5}));
    CHECK(has<float>(call("aten::cat", {std::vector<Tensor>{x, x}}).tensor(), {6},
                     {1, 2, 3, 1, 2, 3}));
    CHECK(has<bool>(call("aten::zeros", {{2}}, {{"dtype", bool_}}).tensor(), {2}, {false, false}));
    CHECK(has<int64_t>(call("aten::_to_copy", {x}, {{"dtype", "int64"}}).tensor(), {3}, {1, 2, 3}));
    Values both = call("aten::max.dim", {x, 0});
    CHECK(both.size() == 2 && both[1].kind == TENSOR_VALUE_TENSOR);
    CHECK(has<int64_t>(both.tensor(1), {}, {2}));
    CHECK(call("aten::sym_size.int", {x, 0})[0].as.i == 3);
    const Tensor y = x.clone();
    CHECK(call("aten::add_.Scalar", {y, 1}).size() == 0 && has<float>(y, {3}, {2, 3, 4}));
    CHECK(schemas("aten::relu")[0] == "aten::relu(Tensor self) -> Tensor");
    THROWS(call("aten::add.Tensor", {x, "a"}), TENSOR_ERROR_TYPE, "argument 'other' is the str");
    THROWS(call("aten::ad", {x}), TENSOR_ERROR_NOT_IMPLEMENTED, "did you mean");
    THROWS(schemas("aten::ad"), TENSOR_ERROR_NOT_IMPLEMENTED, "did you mean");
    THROWS(call("aten::sym_numel", {x}).tensor(), TENSOR_ERROR_TYPE,
           "aten::sym_numel: result 0 is an int; a tensor is required");
  }
  CHECK(tensor_live_handles() == before);
  return 0;
}
