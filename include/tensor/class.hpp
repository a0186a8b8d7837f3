// Tensor, and types of arguments that contain tensors. Part of tensor.hpp.
#ifndef LIBTENSOR_CLASS_HPP
#define LIBTENSOR_CLASS_HPP

#include <functional>

#include "gen_methods.hpp"
#include "handle.hpp"

namespace tensor {

class Index;
class Operand;

class Tensor : public Handle<tensor_t, tensor_free>, public Methods<Tensor> {
 public:
  using Handle::Handle;
  Tensor() = default;
  Tensor(const Tensor &) = default;
  Tensor(Tensor &&) noexcept = default;
  // Only for lvalues: x[0] = y would assign to a temporary view. Use x[0].copy_(y) or x.set({0},
  // y).
  Tensor &operator=(const Tensor &) & = default;
  Tensor &operator=(Tensor &&) & noexcept = default;

  int64_t dim() const { return known(tensor_dim(get())); }
  int64_t numel() const { return known(tensor_numel(get())); }
  int64_t storage_offset() const { return known(tensor_storage_offset(get())); }
  std::vector<int64_t> sizes() const { return per_dimension(tensor_sizes); }
  std::vector<int64_t> strides() const { return per_dimension(tensor_strides); }
  int64_t size(Int dim) const { return of_dimension(tensor_sizes, dim); }
  int64_t stride(Int dim) const { return of_dimension(tensor_strides, dim); }
  Dtype dtype() const { return dim(), tensor_get_dtype(get()); }
  Device device() const { return dim(), tensor_get_device(get()); }
  Layout layout() const { return dim(), tensor_get_layout(get()); }

  // Returns the address of the first element, valid until the storage is freed or resized. T must
  // be the type of the elements, const for read-only memory, and the tensor on the CPU. The other
  // elements are at multiples of the strides.
  template <class T>
  T *data() const;
  // Returns the elements in row-major order, converted to T.
  template <class T>
  std::vector<T> to_vector() const;
  // Returns the value of the single element. Throws if T cannot represent it, except for rounding
  // to a floating-point type.
  using Methods<Tensor>::item;
  template <class T>
  T item() const;

  // Converts the dtype or the device; returns the tensor if nothing changes.
  Tensor to(const Options &options, Bool non_blocking = false, Bool copy = false) const;
  template <class T>
  Tensor to() const;
  Storage untyped_storage() const;
  std::string str() const;

  Tensor operator[](const Index &index) const;
  template <class... At>
  Tensor operator()(const At &...index) const;
  // Assigns to x[index, ...] for any indices: x.set({0, slice(1, 3)}, y), x.set({x < 0}, 0).
  void set(std::initializer_list<Index> index, const Operand &value) const;

  // See gradients.hpp.
  bool requires_grad() const;
  Tensor requires_grad_(Bool wanted = true) const;
  bool is_leaf() const;
  std::optional<Tensor> grad() const;
  void set_grad(const std::optional<Tensor> &gradient) const;
  void backward(const std::optional<Tensor> &gradient = std::nullopt,
                const std::optional<Bool> &retain_graph = std::nullopt,
                Bool create_graph = false) const;
  int64_t register_hook(std::function<std::optional<Tensor>(const Tensor &)> hook) const;

  Tensor &operator+=(const Operand &other) &;
  Tensor &operator-=(const Operand &other) &;
  Tensor &operator*=(const Operand &other) &;
  Tensor &operator/=(const Operand &other) &;
  Tensor &operator%=(const Operand &other) &;
  Tensor &operator&=(const Operand &other) &;
  Tensor &operator|=(const Operand &other) &;
  Tensor &operator^=(const Operand &other) &;

 private:
  static int64_t known(int64_t value) {
    if (value < 0) detail::check(TENSOR_ERROR_HANDLE);
    return value;
  }
  std::vector<int64_t> per_dimension(const int64_t *(*field)(const tensor_t *)) const {
    const int64_t dims = dim(), *values = field(get());
    return {values, values + dims};
  }
  int64_t of_dimension(const int64_t *(*field)(const tensor_t *), int64_t at) const {
    const int64_t dims = dim(), i = at < 0 ? at + dims : at;
    if (i < 0 || i >= dims)
      throw Error(TENSOR_ERROR_INDEX, "dimension " + std::to_string(at) + " of a tensor of " +
                                          std::to_string(dims) + " dimensions");
    return field(get())[i];
  }
};

// An argument that is a tensor or a scalar.
class Operand {
 public:
  Operand(const Tensor &tensor) : tensor_(tensor) {}
  Operand(const Scalar &number) : number_(number.get()) {}
  template <class T, std::enable_if_t<detail::is_number<T>, int> = 0>
  Operand(T number) : Operand(Scalar(number)) {}
  template <class T>
  Operand(std::complex<T> number) : Operand(Scalar(number)) {}

  bool is_number() const { return number_.kind != TENSOR_SCALAR_NONE; }
  const tensor_scalar &number() const { return number_; }
  // Returns the tensor; for a scalar, one that takes part in promotion as the scalar does.
  const Tensor &tensor() const {
    if (is_number() && !tensor_.defined()) {
      detail::Result<Tensor> made;
      detail::check(tensor_scalar_operand(number_, made.put()));
      tensor_ = made.take();
    }
    return tensor_;
  }
  tensor_t *get() const { return tensor().get(); }

 private:
  mutable Tensor tensor_;
  tensor_scalar number_ = tensor_none();
};

// A list of tensors. Empty tensors are missing items, where these are allowed.
class Tensors : public Converted<const tensor_t *> {
 public:
  Tensors(std::nullopt_t = std::nullopt) {}
  Tensors(std::initializer_list<Tensor> tensors) { fill(tensors, handle); }
  template <class Container, detail::Holds<Container, Tensor> = 0>
  Tensors(const Container &tensors) {
    fill(tensors, handle);
  }
  template <class Container, detail::Holds<Container, std::optional<Tensor>> = 0, class = void>
  Tensors(const Container &tensors) {
    fill(tensors, [](const auto &t) { return t ? t->get() : nullptr; });
  }

 private:
  static const tensor_t *handle(const Tensor &tensor) { return tensor.get(); }
};

struct Ellipsis {};
inline constexpr Ellipsis ellipsis{};
struct NewAxis {};
inline constexpr NewAxis newaxis{};

// An item of an index: an integer, slice(...), ellipsis, newaxis, a bool, an index tensor or a
// mask.
class Index {
 public:
  template <class T, std::enable_if_t<detail::is_integer<T>, int> = 0>
  Index(T at) : Index(TENSOR_INDEX_INT, Int(at)) {}
  template <class T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0>
  Index(T flag) : Index(TENSOR_INDEX_BOOL, int64_t(flag)) {}
  Index(Ellipsis) : Index(TENSOR_INDEX_ELLIPSIS) {}
  Index(NewAxis) : Index(TENSOR_INDEX_NEW_AXIS) {}
  Index(const Tensor &tensor) : Index(TENSOR_INDEX_TENSOR) { tensor_ = tensor; }

  friend Index slice(std::optional<Int> start, std::optional<Int> stop, std::optional<Int> step);
  tensor_index get() const {
    tensor_index made = item_;
    made.tensor = tensor_.get();
    return made;
  }

 private:
  explicit Index(tensor_index_kind kind, int64_t start = 0, int64_t stop = 0, int64_t step = 0)
      : item_{kind, nullptr, start, stop, step} {}
  tensor_index item_;
  Tensor tensor_;
};

// Returns the slice start:stop:step of an index.
inline Index slice(std::optional<Int> start = std::nullopt, std::optional<Int> stop = std::nullopt,
                   std::optional<Int> step = std::nullopt) {
  return Index(TENSOR_INDEX_SLICE, detail::get(start), detail::get(stop), detail::get(step));
}

class Indices : public Converted<tensor_index> {
 public:
  Indices(std::initializer_list<Index> items) { fill(items, item); }
  template <class Container, detail::Holds<Container, Index> = 0>
  Indices(const Container &items) {
    fill(items, item);
  }

 private:
  static tensor_index item(const Index &from) { return from.get(); }
};

namespace detail {
inline Tensor tracked(Tensor made, const Options &options) {
  if (options.gradient) check(tensor_set_requires_grad(made.get(), true));
  return made;
}
inline tensor_t *get(const std::optional<Tensor> &value) { return value ? value->get() : nullptr; }
inline tensor_generator_t *get(const std::optional<Generator> &value) {
  return value ? value->get() : nullptr;
}
}  // namespace detail

}  // namespace tensor

#endif
