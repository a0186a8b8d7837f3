// Errors, dtypes, scalars, options and lists: the types of arguments. Part of tensor.hpp.
#ifndef LIBTENSOR_TYPES_HPP
#define LIBTENSOR_TYPES_HPP

#include <cmath>
#include <complex>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gen_dtypes.hpp"

namespace tensor {

// The exception of a call that failed.
class Error : public std::runtime_error {
 public:
  Error(tensor_status kind, const std::string &message, int32_t code = 0)
      : std::runtime_error(message), kind_(kind), code_(code) {}
  tensor_status kind() const noexcept { return kind_; }
  // Returns the errno of the operating system, such as ENOENT, or 0.
  int32_t code() const noexcept { return code_; }

 private:
  tensor_status kind_;
  int32_t code_;
};

namespace detail {
// The exception of the thread's interrupt function that cancels its running call (see Interrupt),
// and the number of functions of the program in which the thread is, called by the library.
struct Interruption {
  std::exception_ptr thrown;
  int callbacks = 0;
};
inline Interruption &interruption() {
  static thread_local Interruption state;
  return state;
}

// Marks that the thread runs a callback.
class Callback {
 public:
  Callback() { interruption().callbacks++; }
  Callback(const Callback &) = delete;
  Callback &operator=(const Callback &) = delete;
  ~Callback() { interruption().callbacks--; }
};

inline void check(tensor_status status) {
  if (status == TENSOR_OK) return;
  Interruption &state = interruption();
  if (status == TENSOR_ERROR_CANCELLED && state.thrown) {
    const std::exception_ptr thrown = state.thrown;
    // The call that has called the function is cancelled, too, and throws the exception again.
    if (!state.callbacks) state.thrown = nullptr;
    std::rethrow_exception(thrown);
  }
  throw Error(status, tensor_last_error(), tensor_last_errno());
}
}  // namespace detail

using Layout = tensor_layout;
using MemoryFormat = tensor_memory_format;

// The dtype of a C++ type. float16 and bfloat16 have no C++ type: convert with to<float>().
template <class T>
constexpr Dtype dtype_of() {
  static_assert(!std::is_integral_v<T> || sizeof(T) <= 8, "no dtype has elements of this type");
  if constexpr (std::is_same_v<T, bool>) {
    return bool_;
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    return sizeof(T) == 1 ? int8 : sizeof(T) == 2 ? int16 : sizeof(T) == 4 ? int32 : int64;
  } else if constexpr (std::is_integral_v<T>) {
    return sizeof(T) == 1 ? uint8 : sizeof(T) == 2 ? uint16 : sizeof(T) == 4 ? uint32 : uint64;
  } else if constexpr (std::is_same_v<T, float>) {
    return float32;
  } else if constexpr (std::is_same_v<T, double>) {
    return float64;
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return complex64;
  } else {
    static_assert(std::is_same_v<T, std::complex<double>>, "no dtype has elements of this type");
    return complex128;
  }
}

// A bool argument. Does not convert from numbers and pointers, so that x.std(0) is not
// x.std(false).
class Bool {
 public:
  template <class T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0>
  Bool(T value) : value_(value) {}
  operator bool() const { return value_; }

 private:
  bool value_;
};

namespace detail {
// Whether T is an integer type of at most 64 bits, and no character type.
template <class T>
inline constexpr bool is_integer =
    std::is_integral_v<T> && sizeof(T) <= 8 && !std::is_same_v<T, bool> &&
    !std::is_same_v<T, char> && !std::is_same_v<T, wchar_t> && !std::is_same_v<T, char16_t> &&
    !std::is_same_v<T, char32_t>;
template <class T>
inline constexpr bool is_number =
    is_integer<T> || std::is_floating_point_v<T> || std::is_same_v<T, bool>;
}  // namespace detail

// An integer argument. Does not convert from enumerators, so that eye(3, float64) is not eye(3, 9),
// nor from floating-point numbers.
class Int {
 public:
  template <class T, std::enable_if_t<detail::is_integer<T>, int> = 0>
  Int(T value) : value_(static_cast<int64_t>(value)) {
    if (value_ < 0 && std::is_unsigned_v<T>)
      throw Error(TENSOR_ERROR_VALUE, std::to_string(value) + " does not fit in int64");
  }
  operator int64_t() const { return value_; }

 private:
  int64_t value_;
};

// A floating-point argument. Does not convert from enumerators.
class Real {
 public:
  template <class T,
            std::enable_if_t<detail::is_integer<T> || std::is_floating_point_v<T>, int> = 0>
  Real(T value) : value_(static_cast<double>(value)) {}
  operator double() const { return value_; }
  const double *get() const { return &value_; }

 private:
  double value_;
};

// An argument of an enumeration type. Does not convert from braces: x.view({}) is a view of a
// shape, not of a dtype.
template <class Enumeration>
class Constant {
 public:
  template <class T, std::enable_if_t<std::is_same_v<T, Enumeration>, int> = 0>
  Constant(T value) : value_(value) {}
  operator Enumeration() const { return value_; }

 private:
  Enumeration value_;
};

// A string argument. Does not convert from numbers, null pointers and braces, unlike std::string.
class Text {
 public:
  template <class From, std::enable_if_t<(std::is_convertible_v<const From &, std::string> ||
                                          std::is_convertible_v<const From &, std::string_view>) &&
                                             !std::is_null_pointer_v<From>,
                                         int> = 0>
  Text(const From &text) : text_(text) {}
  const std::string &get() const { return text_; }

 private:
  std::string text_;
};

struct Device : tensor_device {
  Device() : tensor_device(tensor_device_default()) {}
  Device(tensor_device device) : tensor_device(device) {}
  Device(tensor_device_type kind, Int number = -1)
      : tensor_device{kind, static_cast<int32_t>(number)} {
    if (index != number)
      throw Error(TENSOR_ERROR_VALUE, std::to_string(number) + " is no number of a device");
  }
  friend bool operator==(const Device &a, const Device &b) {
    return a.type == b.type && a.index == b.index;
  }
  friend bool operator!=(const Device &a, const Device &b) { return !(a == b); }
};

// A scalar with its type.
class Scalar {
 public:
  Scalar(tensor_scalar value) : value_(value) {}
  template <class T, std::enable_if_t<detail::is_number<T>, int> = 0>
  Scalar(T value) : value_(of(value)) {}
  template <class T>
  Scalar(std::complex<T> value) : value_(tensor_complex(value.real(), value.imag())) {}

  const tensor_scalar &get() const { return value_; }
  bool is_complex() const { return value_.kind == TENSOR_SCALAR_COMPLEX; }
  bool is_floating_point() const { return value_.kind == TENSOR_SCALAR_FLOAT; }

  // Converts to T. Throws if T cannot represent the value, except for rounding to a floating-point
  // type.
  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>) {
      using Part = typename T::value_type;
      if (is_complex()) return T(real<Part>(value_.value.f.re), real<Part>(value_.value.f.im));
      return T(to<Part>());
    } else {
      static_assert(std::is_arithmetic_v<T>, "numbers are bool, integers, floats or complex");
      switch (value_.kind) {
        case TENSOR_SCALAR_BOOL:
        case TENSOR_SCALAR_INT:
          return whole<T>(value_.value.i);
        case TENSOR_SCALAR_UINT:
          return whole<T>(value_.value.u);
        case TENSOR_SCALAR_COMPLEX:
          if (value_.value.f.im != 0) reject_conversion(dtype_of<T>());
          return real<T>(value_.value.f.re);
        case TENSOR_SCALAR_FLOAT:
          return real<T>(value_.value.f.re);
        default:
          reject_conversion(dtype_of<T>());
      }
    }
  }

 private:
  template <class T>
  static tensor_scalar of(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return tensor_bool(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      return tensor_float(double(value));
    } else if constexpr (std::is_signed_v<T>) {
      return tensor_int(value);
    } else {
      return uint64_t(value) <= uint64_t(std::numeric_limits<int64_t>::max())
                 ? tensor_int(int64_t(value))
                 : tensor_uint(value);
    }
  }

  template <class T, class V>
  static T whole(V value) {
    if constexpr (std::is_floating_point_v<T>) {
      return T(value);
    } else {
      const T made = T(value);
      if (V(made) != value || (made < T(0)) != (value < V(0))) reject_conversion(dtype_of<T>());
      return made;
    }
  }

  template <class T>
  static T real(double value) {
    if constexpr (std::is_floating_point_v<T>) {
      const T made = T(value);
      if (std::isinf(made) && !std::isinf(value)) reject_conversion(dtype_of<T>());
      return made;
    } else if constexpr (std::is_same_v<T, bool>) {
      if (value != 0 && value != 1) reject_conversion(dtype_of<T>());
      return value != 0;
    } else {
      // The bounds are powers of two, which are exact as double; NaN is out of bounds.
      const double high = 2.0 * double(T(1) << (std::numeric_limits<T>::digits - 1));
      const double low = std::is_signed_v<T> ? -high : 0;
      if (!(value >= low && value < high) || double(T(value)) != value)
        reject_conversion(dtype_of<T>());
      return T(value);
    }
  }

  [[noreturn]] static void reject_conversion(Dtype wanted) {
    throw Error(TENSOR_ERROR_VALUE, std::string("a number cannot be converted to ") +
                                        tensor_dtype_name(wanted) + " without losing its value");
  }

  tensor_scalar value_;
};

// The dtype, layout, device and requires_grad of a new tensor: zeros({2}, float64), zeros({2},
// Options(float64).requires_grad()).
struct Options {
  Options() = default;
  Options(Dtype d) : dtype(d) {}
  Options(Layout l) : layout(l) {}
  Options(Device d) : device(d) {}
  Options(tensor_device_type d) : device(d) {}

  Options with(Dtype d) const { return set(&Options::dtype, d); }
  Options with(Layout l) const { return set(&Options::layout, l); }
  Options with(Device d) const { return set(&Options::device, d); }
  Options requires_grad(Bool wanted = true) const { return set(&Options::gradient, bool(wanted)); }

  Dtype dtype = TENSOR_DTYPE_NONE;
  Layout layout = TENSOR_LAYOUT_NONE;
  Device device;
  bool gradient = false;

 private:
  template <class T>
  Options set(T Options::*field, T value) const {
    Options made = *this;
    made.*field = value;
    return made;
  }
};

namespace detail {
// A container with a size, of Items or of values that convert to Item.
template <class Container>
using Held = decltype((void)std::size(std::declval<const Container &>()),
                      *std::begin(std::declval<const Container &>()));
template <class Container, class Item>
using Holds = std::enable_if_t<std::is_lvalue_reference_v<Held<Container>> &&
                                   std::is_same_v<std::decay_t<Held<Container>>, Item>,
                               int>;
template <class Container, class Item>
using Gives = std::enable_if_t<std::is_convertible_v<Held<Container>, Item>, int>;
}  // namespace detail

// A list of C items. It keeps the strings and tensors that they refer to until the end of the call.
template <class T>
class Converted {
 public:
  const T *data() const { return items_.empty() ? nullptr : items_.data(); }
  int64_t size() const { return items_.empty() ? 0 : int64_t(items_.size()) - 1; }

 protected:
  template <class From, class Convert>
  void fill(const From &from, Convert convert) {
    items_.reserve(std::size(from) + 1);
    for (const auto &item : from) items_.push_back(convert(item));
    items_.emplace_back();  // so that an empty list has an address
  }

 private:
  std::vector<T> items_;
};

// A list of numbers: from braces, a container with a size, an address and a length, or one number.
// Default-constructed, or from nullopt, it is an omitted list, unlike an empty one.
template <class Number, class T>
class List : public Converted<T> {
  template <class From>
  using Only = std::enable_if_t<std::is_convertible_v<From, Number>, int>;

 public:
  List(std::nullopt_t = std::nullopt) {}
  List(std::initializer_list<Number> numbers) { this->fill(numbers, number); }
  List(std::initializer_list<std::initializer_list<Number>>) = delete;
  template <class From, Only<From> = 0>
  List(From one) : List({Number(one)}) {}
  template <class Container, detail::Gives<Container, Number> = 0>
  List(const Container &numbers) {
    this->fill(numbers, number);
  }
  template <class From, Only<From> = 0>
  List(const From *first, size_t size) : List(std::vector<From>(first, first + size)) {}

  const T *begin() const { return this->data(); }
  const T *end() const { return this->data() + this->size(); }

 private:
  static T number(const Number &from) { return from; }
};
using Ints = List<Int, int64_t>;
using Doubles = List<Real, double>;

namespace detail {
// A C string. A NUL character inside is an error, because it would end the string.
inline const char *text(const char *argument, const std::string &value) {
  if (const size_t at = value.find('\0'); at != std::string::npos)
    throw Error(TENSOR_ERROR_VALUE, std::string(argument) + " must not have NUL characters: '" +
                                        value.c_str() + "' has one at " + std::to_string(at));
  return value.c_str();
}
inline const char *text(const char *argument, const Text &value) {
  return text(argument, value.get());
}
inline const char *text(const char *argument, const std::optional<Text> &value) {
  return value ? text(argument, *value) : nullptr;
}
}  // namespace detail

class Strings : public Converted<const char *> {
 public:
  Strings(std::nullopt_t = std::nullopt) {}
  Strings(std::initializer_list<std::string> texts) { fill(texts); }
  template <class Container, detail::Holds<Container, std::string> = 0>
  Strings(const Container &texts) {
    fill(texts);
  }

  const char *const *data(const char *argument) const {
    if (cut_) detail::text(argument, *cut_);
    return Converted::data();
  }

 private:
  template <class From>
  void fill(const From &texts) {
    Converted::fill(texts, [this](const std::string &text) {
      if (text.find('\0') != std::string::npos) cut_ = &text;
      return text.c_str();
    });
  }
  const std::string *cut_ = nullptr;
};

class Scalars : public Converted<tensor_scalar> {
 public:
  Scalars(std::nullopt_t = std::nullopt) {}
  Scalars(std::initializer_list<Scalar> numbers) { fill(numbers, number); }
  template <class Container, detail::Gives<Container, Scalar> = 0>
  Scalars(const Container &numbers) {
    fill(numbers, number);
  }

 private:
  static tensor_scalar number(const Scalar &from) { return from.get(); }
};

namespace detail {
// The value of an omitted argument in C.
inline int64_t get(const std::optional<Int> &value) {
  return value ? int64_t(*value) : TENSOR_NONE;
}
inline int32_t get(const std::optional<Bool> &value) { return value ? bool(*value) : -1; }
inline const double *get(const std::optional<Real> &value) {
  return value ? value->get() : nullptr;
}
inline tensor_scalar get(const std::optional<Scalar> &value) {
  return value ? value->get() : tensor_none();
}
inline Dtype get(const std::optional<Dtype> &value) { return value.value_or(TENSOR_DTYPE_NONE); }
inline Layout get(const std::optional<Layout> &value) { return value.value_or(TENSOR_LAYOUT_NONE); }
inline MemoryFormat get(const std::optional<MemoryFormat> &value) {
  return value.value_or(TENSOR_FORMAT_NONE);
}
inline tensor_device get(const std::optional<Device> &value) { return value.value_or(Device()); }
}  // namespace detail

}  // namespace tensor

#endif
