// Autograd: modes, gradients, backward passes and hooks. Part of tensor.hpp.
#ifndef LIBTENSOR_GRADIENTS_HPP
#define LIBTENSOR_GRADIENTS_HPP

#include <cstdio>

#include "data.hpp"

namespace tensor {

namespace detail {

// Changes a setting of the thread until the end of a block.
template <bool (*read)(), void (*write)(Bool), bool value>
class Guard {
 public:
  Guard() : before_(read()) { write(value); }
  Guard(const Guard &) = delete;
  Guard &operator=(const Guard &) = delete;
  ~Guard() {
    try {
      write(before_);
    } catch (const Error &) {  // in a forked child, where autograd is not available
    }
  }

 private:
  bool before_;
};

// Calls a function of the program, and converts its exceptions to errors. `op` prefixes the message
// of an exception that is not a std::exception.
template <class Function>
tensor_status called(const Function &function, const char *op = nullptr) noexcept {
  const Callback callback;
  try {
    function();
    return TENSOR_OK;
  } catch (const Error &error) {
    tensor_set_last_error(error.what());
    return error.kind();
  } catch (const std::exception &error) {
    tensor_set_last_error(error.what());
  } catch (...) {
    char text[256];
    std::snprintf(text, sizeof text,
                  "%s%sthe callback threw an object that is not a std::exception", op ? op : "",
                  op ? ": " : "");
    tensor_set_last_error(text);
  }
  return TENSOR_ERROR_CALLBACK;
}

}  // namespace detail

// Guards that disable autograd, enable it, or enable inference mode, for the thread, until the end
// of the block.
using NoGrad = detail::Guard<is_grad_enabled, set_grad_enabled, false>;
using EnableGrad = detail::Guard<is_grad_enabled, set_grad_enabled, true>;
using InferenceMode = detail::Guard<is_inference_mode_enabled, set_inference_mode, true>;

inline bool Tensor::requires_grad() const { return tensor::requires_grad(*this); }
inline bool Tensor::is_leaf() const { return tensor::is_leaf(*this); }

inline Tensor Tensor::requires_grad_(Bool wanted) const {
  set_requires_grad(*this, wanted);
  return *this;
}

// Returns the gradient that backward has accumulated, if any.
inline std::optional<Tensor> Tensor::grad() const { return tensor::grad(*this); }

inline void Tensor::set_grad(const std::optional<Tensor> &gradient) const {
  tensor::set_grad(*this, gradient);
}

// Computes the gradients of this tensor with respect to the leaves, and accumulates them in their
// grad(). `gradient` defaults to 1 for a tensor of one element.
inline void Tensor::backward(const std::optional<Tensor> &gradient,
                             const std::optional<Bool> &retain_graph, Bool create_graph) const {
  tensor::backward({*this}, {gradient.value_or(Tensor())}, retain_graph, create_graph, {});
}

// Registers a hook that is called with the gradient of this tensor in each backward pass; its
// result replaces the gradient. An exception ends the backward pass. Returns the id for
// remove_hook; until then, a hook that captures the tensor keeps it alive.
inline int64_t Tensor::register_hook(
    std::function<std::optional<Tensor>(const Tensor &)> hook) const {
  if (!hook)
    throw Error(TENSOR_ERROR_VALUE,
                "register_hook: the hook is empty; it must be a function of the gradient");
  using Hook = decltype(hook);
  auto kept = std::make_unique<Hook>(std::move(hook));
  const tensor_callback call = [](void *context, tensor_t **given, int64_t, tensor_t **made,
                                  int64_t) {
    return detail::called([&] {
      const std::optional<Tensor> other =
          (*static_cast<Hook *>(context))(Tensor(std::exchange(given[0], nullptr)));
      if (other) detail::check(tensor_new_handle(other->get(), &made[0]));
    });
  };
  const int64_t number = tensor::register_hook(
      *this, call, kept.get(), [](void *context) { delete static_cast<Hook *>(context); });
  kept.release();
  return number;
}

}  // namespace tensor

#endif
