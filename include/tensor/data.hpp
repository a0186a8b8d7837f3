// Tensors from memory and back, views by index, printing, settings. Part of tensor.hpp.
#ifndef LIBTENSOR_DATA_HPP
#define LIBTENSOR_DATA_HPP

#include <algorithm>
#include <ostream>

#include "gen_operators.hpp"

namespace tensor {

// ----------------------------------------------------------------------------------------------------------------
// making

namespace detail {
// Returns the number of bytes up to the end of the last element. The result for an invalid shape or
// an overflowing product is arbitrary; the library returns an error for these.
inline int64_t span(const Ints &size, const Ints &stride, size_t item) {
  uint64_t count = 1, reach = 1;
  for (int64_t i = 0; i < size.size(); i++) {
    const uint64_t n = uint64_t(size.data()[i]);
    count *= n;
    reach += i < stride.size() ? (n - 1) * uint64_t(stride.data()[i]) : 0;
  }
  const uint64_t elements = count == 0 || stride.size() == 0 ? count : reach;
  return std::max<int64_t>(int64_t(elements * item), 0);
}

// T is deduced from the data, not from a lambda or nullptr.
template <class T>
using Deleter = std::enable_if_t<true, std::function<void(T *)>>;
}  // namespace detail

// Creates a tensor of shape `size` over external memory. `deleter` is called with `data`, from any
// thread, when the last tensor over it is freed, and must not throw; it is not called if this
// function throws. Strides default to contiguous. Elements of const memory are read-only.
template <class T>
Tensor from_blob(T *data, const Ints &size, detail::Deleter<T> deleter = nullptr,
                 const Ints &stride = {}) {
  using Element = std::remove_const_t<T>;
  const int64_t *strides = stride.size() ? stride.data() : nullptr;
  struct Shared {
    T *data;
    detail::Deleter<T> deleter;
  };
  auto shared = deleter ? std::make_unique<Shared>(Shared{data, std::move(deleter)}) : nullptr;
  const tensor_deleter release = [](void *context) noexcept {
    const std::unique_ptr<Shared> last(static_cast<Shared *>(context));
    last->deleter(last->data);
  };
  detail::Result<Tensor> made;
  detail::check(tensor_from_blob(const_cast<Element *>(data), detail::span(size, stride, sizeof(T)),
                                 dtype_of<Element>(), size.data(), size.size(), strides,
                                 stride.size(), shared ? release : nullptr, shared.get(),
                                 std::is_const_v<T>, made.put()));
  shared.release();
  return made.take();
}

namespace detail {
// Returns the shape of values: the given one, or one dimension. The library returns an error for
// overflowing products.
inline std::vector<int64_t> filled(size_t count, const Ints &size) {
  if (!size.data()) return {int64_t(count)};
  uint64_t wanted = 1;
  std::string shape;
  for (const int64_t n : size) {
    wanted *= uint64_t(n);
    shape += (shape.empty() ? "" : ", ") + std::to_string(n);
  }
  if (wanted != count)
    throw Error(TENSOR_ERROR_RUNTIME,
                "from: " + std::to_string(count) + " values do not fill the shape [" + shape + "]");
  return {size.begin(), size.end()};
}
}  // namespace detail

// Creates a tensor from a copy of values, of shape `size` or of one dimension.
template <class T>
Tensor from(const std::vector<T> &values, const Ints &size = {}, const Options &options = {}) {
  const std::vector<int64_t> sizes = detail::filled(values.size(), size);
  detail::Result<Tensor> made;
  const auto copy = [&](const T *data) {
    detail::check(
        tensor_from_data(data, sizes.data(), int64_t(sizes.size()), dtype_of<T>(), made.put()));
  };
  if constexpr (std::is_same_v<T, bool>) {
    const std::unique_ptr<bool[]> bytes(new bool[values.size() + 1]);
    std::copy(values.begin(), values.end(), bytes.get());
    copy(bytes.get());
  } else {
    static const T none{};
    copy(values.empty() ? &none : values.data());
  }
  return detail::tracked(made.take().to(options), options);
}

// Creates a tensor that takes over a moved vector, without a copy.
template <class T, std::enable_if_t<!std::is_same_v<T, bool>, int> = 0>
Tensor from(std::vector<T> &&values, const Ints &size = {}) {
  const std::vector<int64_t> sizes = detail::filled(values.size(), size);
  auto kept = std::make_shared<std::vector<T>>(std::move(values));
  return from_blob<T>(kept->data(), sizes, [kept](T *) {});
}

// Creates a tensor from a copy of any other container with a size.
template <class Container, detail::Gives<Container, Scalar> = 0>
Tensor from(const Container &values, const Ints &size = {}, const Options &options = {}) {
  using T = std::decay_t<detail::Held<Container>>;
  const std::vector<T> copied(std::begin(values), std::end(values));
  return from(copied, size, options);
}

// Creates a tensor of one dimension: from({1.f, 2.f}).
template <class T>
Tensor from(std::initializer_list<T> values, const Options &options = {}) {
  return from(std::vector<T>(values), {}, options);
}

// Creates a tensor of two dimensions: from({{1, 2}, {3, 4}}).
template <class T>
Tensor from(std::initializer_list<std::initializer_list<T>> rows, const Options &options = {}) {
  std::vector<T> values;
  for (const auto &row : rows) {
    if (row.size() != rows.begin()->size())
      throw Error(TENSOR_ERROR_VALUE, "from: a row of " + std::to_string(row.size()) +
                                          " values among rows of " +
                                          std::to_string(rows.begin()->size()));
    values.insert(values.end(), row.begin(), row.end());
  }
  return from(values, {int64_t(rows.size()), rows.size() ? int64_t(rows.begin()->size()) : 0},
              options);
}

// -------------------------------------------------------------------------------------------------------------
// elements

template <class T>
T *Tensor::data() const {
  using Element = std::remove_const_t<T>;
  const Device where = device();
  if (dtype() != dtype_of<Element>())
    throw Error(TENSOR_ERROR_TYPE, std::string("data: the elements are ") +
                                       tensor_dtype_name(dtype()) + ", not " +
                                       tensor_dtype_name(dtype_of<Element>()));
  if (where.type != TENSOR_CPU)
    throw Error(TENSOR_ERROR_TYPE,
                "data: the elements are not in the CPU's memory: to(TENSOR_CPU) copies them there");
  if (!std::is_const_v<T> && tensor::is_read_only(*this))
    throw Error(TENSOR_ERROR_RUNTIME, "data: the memory is read-only: ask for const elements");
  return static_cast<T *>(tensor::data_ptr(*this));
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  const Tensor dense = detach()
                           .to(Options(dtype_of<T>()).with(Device(TENSOR_CPU)))
                           .to_dense()
                           .resolve_conj()
                           .resolve_neg()
                           .contiguous();
  const T *first = dense.data<const T>();
  return std::vector<T>(first, first + dense.numel());
}

template <class T>
T Tensor::item() const {
  return item().to<T>();
}

inline Tensor Tensor::to(const Options &options, Bool non_blocking, Bool copy) const {
  return tensor::to(*this, options, non_blocking, copy);
}

template <class T>
Tensor Tensor::to() const {
  return to(dtype_of<T>());
}

inline Storage Tensor::untyped_storage() const { return tensor::untyped_storage(*this); }
inline int64_t Storage::nbytes() const { return storage_nbytes(*this); }

inline std::string Tensor::str() const { return to_string(*this); }

inline std::ostream &operator<<(std::ostream &stream, const Tensor &tensor) {
  return stream << tensor.str();
}

// ----------------------------------------------------------------------------------------------------------------
// views

inline Tensor Tensor::operator[](const Index &index) const {
  return tensor::index_get(*this, {index});
}

template <class... At>
Tensor Tensor::operator()(const At &...index) const {
  return tensor::index_get(*this, {Index(index)...});
}

inline void Tensor::set(std::initializer_list<Index> index, const Operand &value) const {
  if (value.is_number())
    tensor::index_set_scalar_(*this, index, value.number());
  else
    tensor::index_set_(*this, index, value.tensor());
}

}  // namespace tensor

#endif
