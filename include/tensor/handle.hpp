// Reference-counted handles, and results of C functions. Part of tensor.hpp.
#ifndef LIBTENSOR_HANDLE_HPP
#define LIBTENSOR_HANDLE_HPP

#include <memory>
#include <utility>

#include "types.hpp"

namespace tensor {

template <class T, tensor_status (*release)(T *)>
class Handle {
 public:
  using Raw = T;
  Handle() = default;

  // Takes over a new reference, and frees it if the allocation of the count fails.
  // Accepts only a pointer, so that the 0 in x.max({0}) is a number.
  template <class Pointer, std::enable_if_t<std::is_same_v<Pointer, T *>, int> = 0>
  explicit Handle(Pointer raw) : held_(raw, release) {}

  // Returns the C handle, borrowed; NULL for an empty handle.
  T *get() const noexcept { return held_.get(); }
  bool defined() const noexcept { return held_ != nullptr; }
  // Returns whether both are copies of the same handle.
  bool is(const Handle &other) const noexcept { return held_ == other.held_; }

 protected:
  std::shared_ptr<T> held_;
};

class Storage : public Handle<tensor_storage_t, tensor_storage_free> {
 public:
  using Handle::Handle;
  int64_t nbytes() const;
};

class Generator : public Handle<tensor_generator_t, tensor_generator_free> {
 public:
  using Handle::Handle;
};

// A node of the autograd graph.
class Node : public Handle<tensor_node_t, tensor_node_free> {
 public:
  using Handle::Handle;
};

namespace detail {

// The destination of a result of a C function, which it owns, also after an exception.
template <class T, class = void>
class Result {  // a number, an enumeration, an address
 public:
  T *put() { return &value_; }
  T take() { return value_; }

 private:
  T value_ = T();
};

template <>
class Result<Scalar> {
 public:
  tensor_scalar *put() { return &value_; }
  Scalar take() { return value_; }

 private:
  tensor_scalar value_ = tensor_none();
};

template <>
class Result<std::string> {
 public:
  char **put() { return &text_; }
  std::string take() { return text_; }
  Result() = default;
  Result(const Result &) = delete;
  ~Result() { tensor_string_free(text_); }

 private:
  char *text_ = nullptr;
};

template <class T>
class Result<T, std::void_t<typename T::Raw>> {  // a handle
 public:
  typename T::Raw **put() { return &raw_; }
  T take() { return T(std::exchange(raw_, nullptr)); }
  Result() = default;
  Result(const Result &) = delete;
  ~Result() {
    if (raw_) T(std::exchange(raw_, nullptr));
  }

 private:
  typename T::Raw *raw_ = nullptr;
};

template <class T>
class Result<std::optional<T>> : public Result<T> {  // a handle, or NULL
 public:
  std::optional<T> take() {
    return *this->put() ? std::optional<T>(Result<T>::take()) : std::nullopt;
  }
};

template <>
class Result<std::vector<std::string>> {
 public:
  char ***put() { return &texts_; }
  int64_t *length() { return &length_; }
  std::vector<std::string> take() { return {texts_, texts_ + length_}; }
  Result() = default;
  Result(const Result &) = delete;
  ~Result() { tensor_string_list_free(texts_, length_); }

 private:
  char **texts_ = nullptr;
  int64_t length_ = 0;
};

template <class T>
class Result<std::vector<T>> {  // tensors, some of which may be NULL
 public:
  tensor_t ***put() { return &list_; }
  int64_t *length() { return &length_; }
  std::vector<T> take() {
    std::vector<T> made(static_cast<size_t>(length_));
    for (size_t i = 0; i < made.size(); i++) {
      Result<T> one;
      *one.put() = std::exchange(list_[i], nullptr);
      made[i] = one.take();
    }
    return made;
  }
  Result() = default;
  Result(const Result &) = delete;
  ~Result() { tensor_list_free(list_, length_); }

 private:
  tensor_t **list_ = nullptr;
  int64_t length_ = 0;
};

// Calls a C function that writes one result after its arguments, and returns the result.
template <class R, class... Params, class... Args>
R make(tensor_status (*function)(Params...), const Args &...args) {
  Result<R> out;
  check(function(args..., out.put()));
  return out.take();
}

// Calls a C function that writes a list and its length.
template <class R, class... Params, class... Args>
R make_list(tensor_status (*function)(Params...), const Args &...args) {
  Result<R> out;
  check(function(args..., out.put(), out.length()));
  return out.take();
}

// Returns a value after a call that succeeded.
template <class T>
const T &checked(const T &value, tensor_status status) {
  check(status);
  return value;
}

}  // namespace detail

}  // namespace tensor

#endif
