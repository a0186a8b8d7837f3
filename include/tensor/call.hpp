// Calls of operators by name (tensor_call). Part of tensor.hpp.
#ifndef LIBTENSOR_CALL_HPP
#define LIBTENSOR_CALL_HPP

#include <array>
#include <complex>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "class.hpp"

namespace tensor {

// An argument of a call by name: none, a tensor, a number, a string, a dtype, a device, or a list.
class Value {
 public:
  Value() {}
  Value(std::nullopt_t) {}
  Value(const Tensor &tensor) : held_(tensor) {
    value_.kind = TENSOR_VALUE_TENSOR, value_.as.tensor = tensor.get();
  }
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Value(T number) {
    if constexpr (std::is_same_v<T, bool>)
      value_.kind = TENSOR_VALUE_BOOL, value_.as.b = number;
    else if constexpr (std::is_floating_point_v<T>)
      value_.kind = TENSOR_VALUE_FLOAT, value_.as.f = static_cast<double>(number);
    else if (std::is_unsigned_v<T> && static_cast<uint64_t>(number) > INT64_MAX)
      value_.kind = TENSOR_VALUE_UINT, value_.as.u = static_cast<uint64_t>(number);
    else
      value_.kind = TENSOR_VALUE_INT, value_.as.i = static_cast<int64_t>(number);
  }
  // A scalar of tensor_none() is none.
  Value(const Scalar &scalar) {
    const tensor_scalar &given = scalar.get();
    switch (given.kind) {
      case TENSOR_SCALAR_BOOL:
        value_.kind = TENSOR_VALUE_BOOL, value_.as.b = given.value.i != 0;
        break;
      case TENSOR_SCALAR_INT:
        value_.kind = TENSOR_VALUE_INT, value_.as.i = given.value.i;
        break;
      case TENSOR_SCALAR_UINT:
        value_.kind = TENSOR_VALUE_UINT, value_.as.u = given.value.u;
        break;
      case TENSOR_SCALAR_FLOAT:
        value_.kind = TENSOR_VALUE_FLOAT, value_.as.f = given.value.f.re;
        break;
      case TENSOR_SCALAR_COMPLEX:
        value_.kind = TENSOR_VALUE_COMPLEX;
        value_.as.c[0] = given.value.f.re, value_.as.c[1] = given.value.f.im;
    }
  }
  // None, or the value that an optional holds, such as the result of grad().
  template <class T, std::enable_if_t<std::is_constructible_v<Value, const T &>, int> = 0>
  Value(const std::optional<T> &value) : Value(value ? Value(*value) : Value()) {}
  Value(std::complex<double> number) {
    value_.kind = TENSOR_VALUE_COMPLEX;
    value_.as.c[0] = number.real(), value_.as.c[1] = number.imag();
  }
  Value(const char *text) : Value(std::string(text)) {}
  Value(std::string text) : held_(std::move(text)) { value_.kind = TENSOR_VALUE_STRING; }
  Value(Dtype dtype) { value_.kind = TENSOR_VALUE_DTYPE, value_.as.dtype = dtype; }
  Value(tensor_layout layout) { value_.kind = TENSOR_VALUE_LAYOUT, value_.as.layout = layout; }
  Value(tensor_memory_format format) {
    value_.kind = TENSOR_VALUE_MEMORY_FORMAT, value_.as.memory_format = format;
  }
  Value(const Device &device) { value_.kind = TENSOR_VALUE_DEVICE, value_.as.device = device; }
  Value(std::vector<Tensor> tensors) : held_(std::move(tensors)) {
    value_.kind = TENSOR_VALUE_TENSORS;
  }
  Value(std::vector<int64_t> ints) : held_(std::move(ints)) { value_.kind = TENSOR_VALUE_INTS; }
  Value(std::vector<double> floats) : held_(std::move(floats)) {
    value_.kind = TENSOR_VALUE_FLOATS;
  }
  Value(std::initializer_list<int> ints) : Value(std::vector<int64_t>(ints.begin(), ints.end())) {}

  // Returns the value of C, which is valid while this object and `handles` live.
  tensor_value get(std::vector<tensor_t *> &handles) const {
    tensor_value made = value_;
    if (auto *text = std::get_if<std::string>(&held_)) made.as.string = text->c_str();
    if (auto *ints = std::get_if<std::vector<int64_t>>(&held_))
      made.as.ints = ints->data(), made.length = static_cast<int64_t>(ints->size());
    if (auto *floats = std::get_if<std::vector<double>>(&held_))
      made.as.floats = floats->data(), made.length = static_cast<int64_t>(floats->size());
    if (auto *tensors = std::get_if<std::vector<Tensor>>(&held_)) {
      for (const Tensor &each : *tensors) handles.push_back(each.get());
      made.as.tensors = handles.data(), made.length = static_cast<int64_t>(handles.size());
    }
    return made;
  }

 private:
  tensor_value value_ = {};
  std::variant<std::monostate, Tensor, std::string, std::vector<Tensor>, std::vector<int64_t>,
               std::vector<double>>
      held_;
};

namespace detail {
// Returns the kind of a value for errors: "an int".
inline const char *describe_kind(const tensor_value &value) {
  static constexpr const char *names[] = {"none",
                                          "a tensor",
                                          "an int",
                                          "a float",
                                          "a bool",
                                          "a complex number",
                                          "a string",
                                          "a dtype",
                                          "a layout",
                                          "a memory format",
                                          "a device",
                                          "a generator",
                                          "a list of tensors",
                                          "a list of ints",
                                          "a list of floats",
                                          "a list of bools",
                                          "a list of scalars",
                                          "an int",
                                          "a list of strings",
                                          "a storage",
                                          "a list of indices"};
  const size_t kind = static_cast<size_t>(value.kind);
  return kind < std::size(names) ? names[kind] : "of an unknown kind";
}
// Throws an error if there is no value i.
inline void check_index(const std::string &op, const char *item, int64_t i, int64_t count) {
  if (i < 0 || i >= count)
    throw Error(TENSOR_ERROR_INDEX, op + ": there is no " + item + " " + std::to_string(i) +
                                        "; there are " + std::to_string(count));
}
// Throws the error of a value that is not of the required kind.
[[noreturn]] inline void reject_kind(const std::string &op, const char *item, int64_t i,
                                     const tensor_value &value, const char *required) {
  throw Error(TENSOR_ERROR_TYPE, op + ": " + item + " " + std::to_string(i) + " is " +
                                     describe_kind(value) + "; " + required + " is required");
}
}  // namespace detail

// The results of a call by name, which own their tensors.
class Values {
 public:
  Values() = default;
  Values(Values &&other) noexcept
      : op_(std::move(other.op_)), values_(other.values_), count_(std::exchange(other.count_, 0)) {}
  Values(const Values &) = delete;
  Values &operator=(const Values &) = delete;
  Values &operator=(Values &&) = delete;
  ~Values() {
    for (int32_t i = 0; i < count_; i++) tensor_value_free(&values_[static_cast<size_t>(i)]);
  }

  int32_t size() const { return count_; }
  const tensor_value &operator[](int32_t i) const {
    detail::check_index(op_, "result", i, count_);
    return values_[static_cast<size_t>(i)];
  }
  // Returns result i, which must be a tensor, and leaves none in its place.
  Tensor tensor(int32_t i = 0) {
    detail::check_index(op_, "result", i, count_);
    tensor_value &value = values_[static_cast<size_t>(i)];
    if (value.kind != TENSOR_VALUE_TENSOR) detail::reject_kind(op_, "result", i, value, "a tensor");
    value.kind = TENSOR_VALUE_NONE;
    return Tensor(value.as.tensor);
  }

 private:
  friend class Operator;
  friend Values call(const std::string &, const std::vector<Value> &,
                     const std::vector<std::pair<std::string, Value>> &);
  std::string op_ = "tensor::Values";
  std::array<tensor_value, 9> values_ = {};
  int32_t count_ = 0;
};

// Calls an operator by name: call("aten::add.Tensor", {x, 0.5}, {{"alpha", 2}}).tensor().
inline Values call(const std::string &name, const std::vector<Value> &arguments,
                   const std::vector<std::pair<std::string, Value>> &keywords = {}) {
  const size_t count = arguments.size() + keywords.size();
  std::vector<std::vector<tensor_t *>> handles(count);
  std::vector<tensor_value> values;
  std::vector<const char *> names(arguments.size(), nullptr);
  for (const Value &each : arguments) values.push_back(each.get(handles[values.size()]));
  for (const auto &[keyword, each] : keywords) {
    values.push_back(each.get(handles[values.size()]));
    names.push_back(keyword.c_str());
  }
  Values results;
  int32_t room = static_cast<int32_t>(results.values_.size());
  detail::check(tensor_call(name.c_str(), values.data(), names.data(), static_cast<int32_t>(count),
                            results.values_.data(), &room, nullptr));
  results.op_ = name, results.count_ = room;
  return results;
}

// Returns the schemas of the overloads that a name denotes.
inline std::vector<std::string> schemas(const std::string &name) {
  std::vector<const tensor_operator_info *> infos(64);
  const int32_t count = tensor_describe_operator(name.c_str(), infos.data(), 64);
  if (!count) throw Error(TENSOR_ERROR_NOT_IMPLEMENTED, tensor_last_error());
  std::vector<std::string> made;
  for (int32_t i = 0; i < count && i < 64; i++)
    made.emplace_back(infos[static_cast<size_t>(i)]->schema);
  return made;
}

}  // namespace tensor

#endif
