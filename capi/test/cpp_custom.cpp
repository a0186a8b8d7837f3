// tensor.hpp: custom operators, their derivatives, batches, errors and lifetime.
#include "check.hpp"

using namespace tensor;

static Results cube(const Arguments &given) {
  const Tensor x = given.tensor(0);
  return x * x * x;
}

static void derivatives() {
  OperatorOptions options;
  options.backward = [](const Arguments &arguments, const Arguments &results,
                        const Arguments &gradients) -> Results {
    CHECK(results.size() == 1 && !results.has_value(0));
    const Tensor x = arguments.tensor(0);
    return gradients.tensor(0) * x * x * 3;
  };
  options.unsaved_results = 1;
  options.meta = [](const Arguments &given) { return empty_like(given.tensor(0)); };
  int batches = 0;
  options.vmap = [&](int64_t size, const Arguments &given, const std::vector<bool> &is_batched) {
    CHECK(size == 2 && is_batched == std::vector<bool>{true});
    batches++;
    return OperatorOptions::Batched{cube(given), {}};
  };
  const Operator defined("cpp::cube(Tensor x) -> Tensor", cube, options);
  CHECK(defined.name() == "cpp::cube");
  const Tensor x = from({1., 2.}).requires_grad_();
  const Tensor y = defined({x}).tensor();
  CHECK(has<double>(y, {2}, {1, 8}));
  // The derivative is made of operators, and has derivatives.
  const auto first = autograd_grad({y.sum()}, {x}, {}, std::nullopt, true, false, false);
  CHECK(has<double>(*first[0], {2}, {3, 12}));
  first[0]->sum().backward();
  CHECK(has<double>(*x.grad(), {2}, {6, 12}));
  CHECK(call("cpp::cube", {empty({3}, Device(TENSOR_META))}).tensor().sizes()[0] == 3);

  const int64_t level = vmap_begin(2, "error");
  const Tensor batched = vmap_wrap(from({{1., 2.}, {3., 4.}}), 0, level);
  const Tensor result = vmap_unwrap(defined({batched}).tensor(), 0, level);
  vmap_end(level);
  CHECK(batches == 1 && has<double>(result, {2, 2}, {1, 8, 27, 64}));
}

static void values() {
  const Operator every(
      "cpp::every(Tensor?[] list, Tensor? none, int[] ints, float[] floats, str s, Scalar k, bool "
      "flag=True) -> (Tensor[], float, int, bool, Scalar)",
      [](const Arguments &given) -> Results {
        const auto list = given.tensors(0);
        CHECK(list.size() == 2 && list[0].defined() && !list[1].defined());
        CHECK(!given.has_value(1) && given.ints(2) == (std::vector<int64_t>{4, 5}));
        CHECK(given.floats(3) == std::vector<double>{0.5} && given.string(4) == "text");
        CHECK(given.item<int>(5) == 7 && given.scalar(5).get().kind == TENSOR_SCALAR_INT);
        CHECK(given[6].kind == TENSOR_VALUE_BOOL && given.item<bool>(6));
        THROWS(given.tensor(1), TENSOR_ERROR_TYPE,
               "cpp::every: argument 1 is none; a tensor is required");
        THROWS(given.scalar(4), TENSOR_ERROR_TYPE,
               "cpp::every: argument 4 is a string; a number is required");
        THROWS(given[7], TENSOR_ERROR_INDEX, "cpp::every: there is no argument 7; there are 7");
        return {std::vector<Tensor>{list[0] * 2, list[0] + 1}, 2.5, 3, true, 4.5};
      });
  Values made = every({std::vector<Tensor>{ones({2}), Tensor()}, std::nullopt,
                       std::vector<int64_t>{4, 5}, std::vector<double>{0.5}, "text", 7});
  CHECK(made.size() == 5 && made[0].kind == TENSOR_VALUE_TENSORS && made[0].length == 2);
  CHECK(made[1].as.f == 2.5 && made[2].as.i == 3 && made[3].as.b && made[4].as.f == 4.5);

  const Operator nothing("cpp::nothing(Tensor(a!) x) -> ()", [](const Arguments &given) {
    given.tensor(0).add_(1);
    return Results();
  });
  const Tensor x = zeros({2});
  CHECK(nothing({x}).size() == 0 && x.sum().item<float>() == 2);

  // Batched and missing items of a list.
  OperatorOptions options;
  options.vmap = [](int64_t, const Arguments &, const std::vector<bool> &is_batched) {
    CHECK(is_batched == (std::vector<bool>{true, false}));
    return OperatorOptions::Batched{ones({}), {false}};
  };
  const Operator listed(
      "cpp::listed(Tensor?[] list) -> Tensor", [](const Arguments &) { return ones({}); }, options);
  const int64_t level = vmap_begin(2, "error");
  const std::vector<Tensor> list = {vmap_wrap(x, 0, level), Tensor(), x};
  CHECK(listed({list}).tensor().dim() == 0);
  vmap_end(level);
}

// An error in a function is the error of the call, and the call leaves no tensor.
static void thrown() {
  const Tensor x = ones({1}).requires_grad_();
  const int64_t before = tensor_live_handles();
  const struct {
    std::function<Results()> function;
    tensor_status kind;
    const char *text;
  } cases[] = {
      {[]() -> Results { throw std::runtime_error("no, said the operator"); },
       TENSOR_ERROR_CALLBACK, "no, said the operator"},
      {[]() -> Results { throw 1; }, TENSOR_ERROR_CALLBACK,
       "cpp::wrong: the callback threw an object"},
      {[]() -> Results { throw std::runtime_error(""); }, TENSOR_ERROR_CALLBACK,
       "cpp::wrong: the function returned an error without a message"},
      {[]() -> Results { return {}; }, TENSOR_ERROR_VALUE,
       "cpp::wrong: the function returned 0 results; the schema requires 1"},
      {[&]() -> Results { return x.matmul(ones({2, 2})); }, TENSOR_ERROR_RUNTIME, "matmul"},
      {[]() -> Results { return {ones({1}), ones({1})}; }, TENSOR_ERROR_VALUE,
       "cpp::wrong: the function returned 2 results; the schema requires 1"},
      {[]() -> Results { return "text"; }, TENSOR_ERROR_TYPE,
       "cpp::wrong: result 0 of the function is a string"},
      {[]() -> Results { return Tensor(); }, TENSOR_ERROR_HANDLE,
       "cpp::wrong: result 0 of the function is an empty tensor"},
      {[]() -> Results { return std::vector<Tensor>{ones({1}), ones({1})}; }, TENSOR_ERROR_CALLBACK,
       "cpp::wrong: result 0 is"},
      {[]() -> Results { return 1; }, TENSOR_ERROR_CALLBACK, "cpp::wrong: result 0 is the int 1"},
  };
  for (const auto &each : cases) {
    OperatorOptions options;
    options.backward = [&](const Arguments &, const Arguments &, const Arguments &) {
      return each.function();
    };
    const Operator wrong("cpp::wrong(Tensor x) -> Tensor",
                         [&](const Arguments &) { return each.function(); });
    THROWS(wrong({ones({1})}), each.kind, each.text);
    const Operator steep(
        "cpp::steep(Tensor x) -> Tensor", [](const Arguments &) { return ones({1}); }, options);
    const Tensor y = steep({x}).tensor();
    try {
      y.backward();
      CHECK(false);
    } catch (const Error &error) {
      CHECK(error.kind() == each.kind);
    }
  }
  // Each allocation can fail: of definitions, of handles, of results.
  for (int64_t n = 1;; n++) {
    try {
      fail_allocation(n);
      const Operator defined("cpp::list(Tensor x) -> Tensor[]", [](const Arguments &given) {
        return std::vector<Tensor>{given.tensor(0) + 1, given.tensor(0) + 2};
      });
      defined({x});
      fail_allocation(0);
      CHECK(n > 2);
      break;
    } catch (const Error &error) {
      CHECK(error.kind() == TENSOR_ERROR_MEMORY);
      CHECK(tensor_live_handles() == before);
    }
  }
  THROWS(Operator("cpp::bad(Tensor x) -> Matrix", cube), TENSOR_ERROR_VALUE, "Matrix");
  THROWS(Operator("cpp::empty(Tensor x) -> Tensor", nullptr), TENSOR_ERROR_VALUE,
         "'cpp::empty' is empty");
  CHECK(tensor_live_handles() == before);
}

// The name is that of the schema, without whitespace and for this overload.
static void names() {
  for (const char *schema :
       {" cpp::named(Tensor x) -> Tensor", "\n\tcpp::named (Tensor x) -> Tensor"}) {
    const Operator named(schema, cube);
    CHECK(named.name() == "cpp::named" && named({ones({1})}).size() == 1);
    THROWS(named({ones({1})}).tensor(1), TENSOR_ERROR_INDEX,
           "cpp::named: there is no result 1; there are 1");
    THROWS(named({ones({1})})[-1], TENSOR_ERROR_INDEX, "cpp::named: there is no result -1");
    THROWS(named({1, 2}), TENSOR_ERROR_TYPE, "cpp::named: takes 1 positional argument");
  }
  const Operator first("cpp::over.first(Tensor x) -> Tensor", cube);
  const Operator second("cpp::over(Tensor x) -> Tensor",
                        [](const Arguments &given) { return given.tensor(0) + 1; });
  CHECK(first({full({1}, 2)}).tensor().item<float>() == 8);
  CHECK(second({full({1}, 2)}).tensor().item<float>() == 3);
  THROWS(Operator("", cube), TENSOR_ERROR_VALUE, "the name of the operator");
  THROWS(Operator("   ", cube), TENSOR_ERROR_VALUE, "the name of the operator");
}

// Each function of an operator is named in the errors of its results.
static void functions() {
  const Tensor x = ones({2}).requires_grad_();
  OperatorOptions options;
  options.meta = [](const Arguments &) -> Results { return {}; };
  options.backward = [](const Arguments &, const Arguments &, const Arguments &) -> Results {
    return {ones({2}), ones({2})};
  };
  options.vmap = [](int64_t, const Arguments &given, const std::vector<bool> &) {
    return OperatorOptions::Batched{given.tensor(0) * 1, {true, false}};
  };
  const Operator wrong("cpp::three(Tensor x) -> Tensor", cube, options);
  THROWS(wrong({empty({2}, Device(TENSOR_META))}), TENSOR_ERROR_VALUE,
         "cpp::three: the meta function returned 0 results; the schema requires 1");
  THROWS(wrong({x}).tensor().sum().backward(), TENSOR_ERROR_VALUE,
         "cpp::three: the backward function returned 2 gradients; the schema requires 1");
  const int64_t level = vmap_begin(2, "error");
  THROWS(wrong({vmap_wrap(x.detach(), 0, level)}), TENSOR_ERROR_VALUE,
         "cpp::three: the vmap function returned 2 items of is_batched");
  vmap_end(level);
}

// An argument of an operator that writes must not require grad, whether it is written to or not.
static void written() {
  const Operator add("cpp::add(Tensor(a!) to, Tensor x) -> ()", [](const Arguments &given) {
    given.tensor(0).add_(given.tensor(1));
    return Results();
  });
  const Tensor to = zeros({2}), leaf = ones({2}).requires_grad_();
  THROWS(add({to, leaf}), TENSOR_ERROR_NOT_IMPLEMENTED, "cpp::add: an argument requires grad");
  THROWS(add({leaf, to}), TENSOR_ERROR_NOT_IMPLEMENTED, "cpp::add");
  CHECK(to.sum().item<float>() == 0);
  {
    const NoGrad guard;
    add({to, leaf});
  }
  add({to, leaf.detach()});
  CHECK(to.sum().item<float>() == 4 && !to.requires_grad());
}

// Values of every type of C++ arrive with their kind.
static void arguments() {
  const Operator kinds(
      "cpp::kinds(Scalar a, Scalar b, Scalar c, Scalar d, Tensor? e, int? f=None) -> Scalar",
      [](const Arguments &given) {
        CHECK(given[0].kind == TENSOR_VALUE_INT && given[0].as.i == INT64_MAX);
        CHECK(given[1].kind == TENSOR_VALUE_UINT && given[1].as.u == UINT64_MAX);
        CHECK(given[2].kind == TENSOR_VALUE_COMPLEX && given[2].as.c[1] == 2);
        CHECK(given[3].kind == TENSOR_VALUE_BOOL && !given.has_value(4));
        CHECK(!given.has_value(5) || given.item<int>(5) == 3);
        return given.scalar(2);
      });
  const std::optional<Tensor> none;
  const Values made = kinds({uint64_t(INT64_MAX), UINT64_MAX, Scalar(std::complex<double>(1, 2)),
                             Scalar(true), none, std::optional<int>(3)});
  CHECK(made[0].kind == TENSOR_VALUE_COMPLEX && made[0].as.c[0] == 1);
  kinds({INT64_MAX, UINT64_MAX, std::complex<double>(1, 2), true, ones({1}).grad(), std::nullopt});
}

static void lifetime() {
  auto alive = std::make_shared<int>(0);
  const auto function = [alive](const Arguments &given) { return given.tensor(0) * 2; };
  const Tensor x = ones({1}).requires_grad_();
  const char *schema = "cpp::twice(Tensor x) -> Tensor";
  {
    OperatorOptions options;
    options.backward = [alive](const Arguments &, const Arguments &, const Arguments &gradients) {
      return gradients.tensor(0) * 2;
    };
    std::optional<Operator> defined(std::in_place, schema, function, options);
    THROWS(Operator(schema, function), TENSOR_ERROR_VALUE, "cpp::twice");
    Operator moved = std::move(*defined);
    defined.reset();
    options = {};
    const Tensor y = moved({x}).tensor();
    Operator other("cpp::other(Tensor x) -> Tensor", cube);
    moved = std::move(other);
    CHECK(moved.name() == "cpp::other" && other.name() == "cpp::twice");
    {
      const Operator removed = std::move(other);
    }
    THROWS(call("cpp::twice", {x}), TENSOR_ERROR_NOT_IMPLEMENTED, "cpp::twice");
    y.backward();  // the autograd graph keeps the functions
    CHECK(x.grad()->item<float>() == 2 && alive.use_count() == 4);
  }
  CHECK(alive.use_count() == 2);
  const int64_t definition = Operator(schema, function).release();
  CHECK(alive.use_count() == 3 && call("cpp::twice", {ones({1})}).tensor().item<float>() == 2);
  detail::check(tensor_remove_operator(definition));
  CHECK(alive.use_count() == 2);
}

int main() {
  const int64_t before = tensor_live_handles();
  derivatives(), values(), thrown(), names(), functions(), written(), arguments(), lifetime();
  CHECK(tensor_live_handles() == before);
}
