// Exported programs (tensor_program_load).
#ifndef LIBTENSOR_TENSOR_PROGRAM_HPP
#define LIBTENSOR_TENSOR_PROGRAM_HPP

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "call.hpp"

namespace tensor {

// The outputs of a program, which own their tensors.
class Outputs {
 public:
  explicit Outputs(std::vector<tensor_value> values) : values_(std::move(values)) {}
  Outputs(Outputs &&other) noexcept : values_(std::exchange(other.values_, {})) {}
  Outputs(const Outputs &) = delete;
  Outputs &operator=(const Outputs &) = delete;
  Outputs &operator=(Outputs &&) = delete;
  ~Outputs() {
    for (tensor_value &each : values_) tensor_value_free(&each);
  }

  size_t size() const { return values_.size(); }
  const tensor_value &operator[](size_t i) const {
    check_index(i);
    return values_[i];
  }
  // Returns output i, which must be a tensor, and leaves none in its place.
  Tensor tensor(size_t i = 0) {
    check_index(i);
    tensor_value &value = values_[i];
    if (value.kind != TENSOR_VALUE_TENSOR)
      detail::reject_kind("tensor::Outputs", "output", static_cast<int64_t>(i), value, "a tensor");
    value.kind = TENSOR_VALUE_NONE;
    return Tensor(value.as.tensor);
  }

 private:
  void check_index(size_t i) const {
    detail::check_index("tensor::Outputs", "output", static_cast<int64_t>(i),
                        static_cast<int64_t>(values_.size()));
  }
  std::vector<tensor_value> values_;
};

// A program that torch.export.save wrote. Copies share it, and threads can run it concurrently.
class Program {
 public:
  // Loads a file.
  explicit Program(const std::string &path) {
    tensor_program_t *made = nullptr;
    detail::check(tensor_program_load(path.c_str(), &made));
    program_.reset(made, tensor_program_free);
  }
  // Loads the bytes of a file, which are copied.
  Program(const void *data, size_t length) {
    tensor_program_t *made = nullptr;
    detail::check(tensor_program_load_memory(data, static_cast<int64_t>(length), &made));
    program_.reset(made, tensor_program_free);
  }

  // Returns the inputs, whose strings are valid as long as the program.
  std::vector<tensor_program_value> inputs() const { return list(tensor_program_inputs); }
  // Returns the outputs. See inputs.
  std::vector<tensor_program_value> outputs() const { return list(tensor_program_outputs); }
  // Returns the parameters, buffers and constants. See inputs.
  std::vector<tensor_program_value> state() const { return list(tensor_program_state); }
  // Returns a tensor that shares memory with item `index` of state().
  Tensor tensor(int32_t index) const {
    tensor_t *made = nullptr;
    detail::check(tensor_program_tensor(program_.get(), index, &made));
    return Tensor(made);
  }

  // Returns a tensor that shares memory with the item of state() of a name.
  Tensor tensor(const std::string &name) const { return tensor(find(state(), name)); }

  // Runs the program without autograd: program.run({x, 0.5}).tensor().
  Outputs run(const std::vector<Value> &inputs) const {
    tensor_program_options options = {};
    options.size = sizeof options;
    return run_with(options, inputs);
  }
  // Runs the program with the tensors of `replaced` in place of those of state(), by name, and with
  // `gradients` records the run on the autograd graph, if autograd is enabled on the thread.
  // Tensors of tensor(name) that require grad have gradients after a backward pass:
  //   Tensor bias = program.tensor("bias").requires_grad_();
  //   program.run({x}, {{"bias", bias}}).tensor().sum().backward();
  // See tensor_program_run_with.
  Outputs run(const std::vector<Value> &inputs,
              const std::vector<std::pair<std::string, Tensor>> &replaced,
              bool gradients = true) const {
    const std::vector<tensor_program_value> items = state();
    std::vector<const tensor_t *> tensors(items.size());
    for (const auto &[name, each] : replaced)
      tensors[static_cast<size_t>(find(items, name))] = each.get();
    tensor_program_options options = {};
    options.size = sizeof options;
    options.state = tensors.data();
    options.state_count = static_cast<int32_t>(tensors.size());
    options.gradients = gradients;
    return run_with(options, inputs);
  }

 private:
  // Returns the index of an item of state().
  static int32_t find(const std::vector<tensor_program_value> &items, const std::string &name) {
    for (size_t i = 0; i < items.size(); i++)
      if (items[i].name == name) return static_cast<int32_t>(i);
    throw Error(TENSOR_ERROR_VALUE, "tensor::Program: there is no parameter, buffer or constant '" +
                                        name + "'; " + suggest(items, name));
  }
  // Returns the end of an error for an unknown name: up to 5 names that have its last part.
  static std::string suggest(const std::vector<tensor_program_value> &items,
                             const std::string &name) {
    const std::string last = name.substr(name.rfind('.') + 1);
    std::string found;
    int count = 0;
    for (const tensor_program_value &item : items)
      if (std::string(item.name).find(last) != std::string::npos && count++ < 5)
        found += (found.empty() ? "'" : ", '") + std::string(item.name) + "'";
    return found.empty() ? "state() returns the names" : "similar names: " + found;
  }
  Outputs run_with(const tensor_program_options &options, const std::vector<Value> &inputs) const {
    std::vector<std::vector<tensor_t *>> handles(inputs.size());
    std::vector<tensor_value> given, made(outputs().size());
    for (const Value &each : inputs) given.push_back(each.get(handles[given.size()]));
    detail::check(tensor_program_run_with(program_.get(), &options, given.data(),
                                          static_cast<int32_t>(given.size()), made.data(),
                                          static_cast<int32_t>(made.size())));
    return Outputs(std::move(made));
  }
  template <class F>
  std::vector<tensor_program_value> list(F function) const {
    const tensor_program_value *values = nullptr;
    int32_t count = 0;
    detail::check(function(program_.get(), &values, &count));
    return std::vector<tensor_program_value>(values, values + count);
  }
  std::shared_ptr<tensor_program_t> program_;
};

}  // namespace tensor

#endif
