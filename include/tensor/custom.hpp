// Custom operators (tensor_define_operator). Part of tensor.hpp.
#ifndef LIBTENSOR_CUSTOM_HPP
#define LIBTENSOR_CUSTOM_HPP

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "call.hpp"
#include "gradients.hpp"

namespace tensor {

// The arguments, results or gradients of a call of a custom operator, which are valid until the
// function returns. Tensors, strings and vectors that its methods return can be kept. A value of
// another kind than that of the method throws an error of kind TENSOR_ERROR_TYPE, and an `i` that
// is out of range one of kind TENSOR_ERROR_INDEX.
class Arguments {
 public:
  // Borrows `count` values. Errors name the operator `op` and the value: "ns::name: argument 1
  // ...".
  Arguments(const tensor_value *values, int32_t count, const char *op = "tensor::Arguments",
            const char *item = "argument")
      : values_(values), count_(count), op_(op), item_(item) {}

  int32_t size() const { return count_; }
  // Returns value i in the types of C, without a copy.
  const tensor_value &operator[](int32_t i) const {
    detail::check_index(op_, item_, i, count_);
    return values_[i];
  }
  // Returns whether value i is present: an optional argument, or a result that is saved.
  bool has_value(int32_t i) const { return (*this)[i].kind != TENSOR_VALUE_NONE; }
  // Returns a new handle of a tensor.
  Tensor tensor(int32_t i) const { return copy(get(i, TENSOR_VALUE_TENSOR, "a tensor").as.tensor); }
  // Returns new handles of a list of tensors, in which missing ones are empty.
  std::vector<Tensor> tensors(int32_t i) const {
    const tensor_value &value = get(i, TENSOR_VALUE_TENSORS, "a list of tensors");
    std::vector<Tensor> made;
    for (int64_t k = 0; k < value.length; k++)
      made.push_back(value.as.tensors[k] ? copy(value.as.tensors[k]) : Tensor());
    return made;
  }
  // Returns a number or a bool with its type.
  Scalar scalar(int32_t i) const {
    const tensor_value &value = (*this)[i];
    switch (value.kind) {
      case TENSOR_VALUE_BOOL:
        return tensor_bool(value.as.b);
      case TENSOR_VALUE_INT:
        return tensor_int(value.as.i);
      case TENSOR_VALUE_UINT:
        return tensor_uint(value.as.u);
      case TENSOR_VALUE_COMPLEX:
        return tensor_complex(value.as.c[0], value.as.c[1]);
      default:
        return tensor_float(get(i, TENSOR_VALUE_FLOAT, "a number").as.f);
    }
  }
  // Returns a number as a T. Throws if T cannot represent it, except for rounding to a
  // floating-point type.
  template <class T>
  T item(int32_t i) const {
    return scalar(i).to<T>();
  }
  // Returns a copy of a string.
  std::string string(int32_t i) const { return get(i, TENSOR_VALUE_STRING, "a string").as.string; }
  // Returns a copy of a list of integers.
  std::vector<int64_t> ints(int32_t i) const {
    const tensor_value &value = get(i, TENSOR_VALUE_INTS, "a list of ints");
    return {value.as.ints, value.as.ints + value.length};
  }
  // Returns a copy of a list of floats.
  std::vector<double> floats(int32_t i) const {
    const tensor_value &value = get(i, TENSOR_VALUE_FLOATS, "a list of floats");
    return {value.as.floats, value.as.floats + value.length};
  }

 private:
  static Tensor copy(const tensor_t *tensor) {
    return detail::make<Tensor>(::tensor_new_handle, tensor);
  }
  const tensor_value &get(int32_t i, int32_t kind, const char *required) const {
    const tensor_value &value = (*this)[i];
    if (value.kind != kind) detail::reject_kind(op_, item_, i, value, required);
    return value;
  }

  const tensor_value *values_;
  int32_t count_;
  const char *op_, *item_;
};

// The results of a custom operator, or the gradients of its arguments: a tensor or another value,
// or a braced list or vector of values.
class Results {
 public:
  Results() = default;
  template <class T, std::enable_if_t<std::is_convertible_v<T, Value>, int> = 0>
  Results(T &&value) : values_{Value(std::forward<T>(value))} {}
  Results(std::initializer_list<Value> values) : values_(values) {}
  Results(std::vector<Value> values) : values_(std::move(values)) {}

  // Writes new references to the results of a function of the operator `op`. Errors name both, and
  // the value: "ns::name: result 1 of the function ...".
  void write(tensor_value *to, int32_t count, const std::string &op,
             const char *function = "function", const char *item = "result") const {
    if (values_.size() != static_cast<size_t>(count))
      throw Error(TENSOR_ERROR_VALUE, op + ": the " + function + " returned " +
                                          count_items(values_.size(), item) +
                                          "; the schema requires " + std::to_string(count));
    for (int32_t i = 0; i < count; i++)
      write_one(values_[static_cast<size_t>(i)], to[i],
                op + ": " + item + " " + std::to_string(i) + " of the " + function);
  }

 private:
  static std::string count_items(size_t count, const char *item) {
    return std::to_string(count) + " " + item + (count == 1 ? "" : "s");
  }
  // Returns a new reference. `place` names the value in errors.
  static tensor_t *refer_to(const tensor_t *tensor, const std::string &place) {
    if (!tensor)
      throw Error(TENSOR_ERROR_HANDLE,
                  place + " is an empty tensor; a tensor with a value is required");
    tensor_t *made = nullptr;
    if (const tensor_status status = tensor_new_handle(tensor, &made))
      throw Error(status, place + ": " + tensor_last_error());
    return made;
  }
  static void write_one(const Value &value, tensor_value &to, const std::string &place) {
    std::vector<tensor_t *> handles;
    const tensor_value given = value.get(handles);
    switch (given.kind) {
      case TENSOR_VALUE_TENSOR:
        to.as.tensor = refer_to(given.as.tensor, place);
        to.kind = TENSOR_VALUE_TENSOR;
        break;
      case TENSOR_VALUE_TENSORS: {
        auto list = static_cast<tensor_t **>(std::calloc(handles.size() + 1, sizeof(tensor_t *)));
        if (!list) throw Error(TENSOR_ERROR_MEMORY, place + ": there is no memory for the list");
        to.kind = TENSOR_VALUE_TENSORS, to.as.tensors = list;
        for (const tensor_t *each : handles) {
          if (each) *list = refer_to(each, place);
          list++, to.length++;
        }
        break;
      }
      case TENSOR_VALUE_STRING:
      case TENSOR_VALUE_INTS:
      case TENSOR_VALUE_FLOATS:
        throw Error(TENSOR_ERROR_TYPE, place + " is " + detail::describe_kind(given) +
                                           "; results are tensors, lists of tensors and numbers");
      default:
        to = given;
    }
  }

  std::vector<Value> values_;
};

// Functions and properties of a custom operator, as in tensor_operator_options. An exception of a
// function is the tensor::Error of the call, or of the backward pass.
struct OperatorOptions {
  // The results of a call for a batch. An empty is_batched means that all results have the batch as
  // their first dimension.
  struct Batched {
    Results results;
    std::vector<bool> is_batched;
  };
  // Creates the results for meta tensors, without computing them.
  std::function<Results(const Arguments &arguments)> meta;
  // Returns a gradient for each parameter, std::nullopt for none.
  std::function<Results(const Arguments &arguments, const Arguments &results,
                        const Arguments &gradients)>
      backward;
  // Computes the results for a batch (vmap). is_batched has an item for each tensor argument, and
  // for each item of a list of tensors that is not missing.
  std::function<Batched(int64_t batch_size, const Arguments &arguments,
                        const std::vector<bool> &is_batched)>
      vmap;
  // Bit i excludes argument i, or result i, from the tensors that are saved for `backward`, where
  // has_value(i) is false for it; a list of tensors has empty items.
  uint64_t unsaved_arguments = 0, unsaved_results = 0;
  // The function calls only operators that support autograd and transforms: it is called with the
  // tensors of the caller, and the other options are ignored.
  bool composite = false;
};

// A custom operator, which the destructor removes:
//   const tensor::Operator cube("ns::cube(Tensor x) -> Tensor", [](const tensor::Arguments &given)
//   {
//     const tensor::Tensor x = given.tensor(0);
//     return x * x * x;
//   });
//   cube({x}).tensor();  // or tensor::call("ns::cube", {x})
// Its functions are destroyed when the operator was removed and no call and no autograd graph uses
// them. Moving never fails. See tensor_define_operator.
class Operator {
 public:
  using Function = std::function<Results(const Arguments &arguments)>;

  // Defines the operator of a schema. Throws an error of kind TENSOR_ERROR_VALUE if the schema is
  // invalid, its name is already defined, or `function` is empty.
  Operator(const std::string &schema, Function function, OperatorOptions options = {})
      : name_(name_of(schema)) {
    if (!function)
      throw Error(TENSOR_ERROR_VALUE,
                  "tensor::Operator: the function of '" + name_ +
                      "' is empty; it must compute the results from the arguments");
    auto kept = std::make_unique<Kept>(Kept{name_, std::move(function), std::move(options)});
    const OperatorOptions &given = kept->options;
    tensor_operator_options made = {};
    made.size = sizeof made;
    if (given.meta) made.meta = call_meta;
    if (given.backward) made.backward = call_backward;
    if (given.vmap) made.vmap = call_vmap;
    made.unsaved_arguments = given.unsaved_arguments;
    made.unsaved_results = given.unsaved_results;
    made.composite = given.composite;
    detail::check(tensor_define_operator(
        schema.c_str(), call_function, &made, kept.get(),
        [](void *context) { delete static_cast<Kept *>(context); }, &definition_));
    kept.release();
  }
  Operator(Operator &&other) noexcept
      : name_(std::move(other.name_)), definition_(std::exchange(other.definition_, 0)) {}
  Operator &operator=(Operator &&other) noexcept {
    std::swap(name_, other.name_), std::swap(definition_, other.definition_);
    return *this;
  }
  Operator(const Operator &) = delete;
  Operator &operator=(const Operator &) = delete;
  ~Operator() {
    if (definition_) tensor_remove_operator(definition_);
  }

  const std::string &name() const noexcept { return name_; }
  // Calls the operator by its name and overload. See call().
  Values operator()(const std::vector<Value> &arguments,
                    const std::vector<std::pair<std::string, Value>> &keywords = {}) const {
    const bool has_overload = name_.find('.') != std::string::npos;
    Values made = call(has_overload ? name_ : name_ + ".default", arguments, keywords);
    made.op_ = name_;
    return made;
  }
  // Keeps the operator until the process ends, or tensor_remove_operator removes it. Returns the id
  // of its definition.
  int64_t release() noexcept { return std::exchange(definition_, 0); }

 private:
  struct Kept {
    std::string name;
    Function function;
    OperatorOptions options;
  };
  static const Kept &kept(void *context) { return *static_cast<Kept *>(context); }
  // Returns the name in a schema, without the whitespace that schemas may have around it.
  static std::string name_of(const std::string &schema) {
    const char *const space = " \t\n\v\f\r";
    const std::string before = schema.substr(0, schema.find('('));
    const size_t begin = before.find_first_not_of(space);
    if (begin == std::string::npos) return "";
    return before.substr(begin, before.find_last_not_of(space) - begin + 1);
  }
  static tensor_status call_function(void *context, const tensor_value *arguments,
                                     int32_t argument_count, tensor_value *results,
                                     int32_t result_count) {
    const Kept &k = kept(context);
    const char *op = k.name.c_str();
    return detail::called(
        [&] { k.function({arguments, argument_count, op}).write(results, result_count, op); }, op);
  }
  static tensor_status call_meta(void *context, const tensor_value *arguments,
                                 int32_t argument_count, tensor_value *results,
                                 int32_t result_count) {
    const Kept &k = kept(context);
    const char *op = k.name.c_str();
    return detail::called(
        [&] {
          k.options.meta({arguments, argument_count, op})
              .write(results, result_count, op, "meta function");
        },
        op);
  }
  static tensor_status call_backward(void *context, const tensor_value *arguments,
                                     int32_t argument_count, const tensor_value *results,
                                     const tensor_value *gradients, int32_t result_count,
                                     tensor_value *argument_gradients) {
    const Kept &k = kept(context);
    const char *op = k.name.c_str();
    return detail::called(
        [&] {
          k.options
              .backward({arguments, argument_count, op}, {results, result_count, op, "result"},
                        {gradients, result_count, op, "gradient"})
              .write(argument_gradients, argument_count, op, "backward function", "gradient");
        },
        op);
  }
  static tensor_status call_vmap(void *context, int64_t batch_size, const tensor_value *arguments,
                                 int32_t argument_count, const bool *is_batched,
                                 tensor_value *results, int32_t result_count,
                                 bool *is_result_batched) {
    const Kept &k = kept(context);
    const char *op = k.name.c_str();
    return detail::called(
        [&] {
          const std::vector<bool> given(is_batched,
                                        is_batched + count_tensors(arguments, argument_count));
          const OperatorOptions::Batched made =
              k.options.vmap(batch_size, {arguments, argument_count, op}, given);
          made.results.write(results, result_count, op, "vmap function");
          if (made.is_batched.empty()) return;
          if (made.is_batched.size() != static_cast<size_t>(result_count))
            throw Error(TENSOR_ERROR_VALUE, k.name + ": the vmap function returned " +
                                                std::to_string(made.is_batched.size()) +
                                                " items of is_batched; the operator has " +
                                                std::to_string(result_count) + " results");
          for (bool each : made.is_batched) *is_result_batched++ = each;
        },
        op);
  }
  // Counts the tensors among arguments, without missing items of lists.
  static int64_t count_tensors(const tensor_value *values, int32_t count) {
    int64_t n = 0;
    for (int32_t i = 0; i < count; i++) {
      n += values[i].kind == TENSOR_VALUE_TENSOR;
      if (values[i].kind == TENSOR_VALUE_TENSORS)
        for (int64_t k = 0; k < values[i].length; k++) n += values[i].as.tensors[k] != nullptr;
    }
    return n;
  }

  std::string name_;
  int64_t definition_ = 0;
};

}  // namespace tensor

#endif
