// The conversion of a row between any two dtypes, by their numbers.
#ifndef LIBTENSOR_KERNEL_CONVERSIONS_H
#define LIBTENSOR_KERNEL_CONVERSIONS_H

#include "cast.h"

namespace lt {
namespace {

using CastRow = void (*)(const char *, int64_t, char *, int64_t, int64_t);

template <class T>
struct SignedOf {
  using type = T;
};
template <>
struct SignedOf<uint8_t> {
  using type = int8_t;
};
template <>
struct SignedOf<uint16_t> {
  using type = int16_t;
};
template <>
struct SignedOf<uint32_t> {
  using type = int32_t;
};
template <>
struct SignedOf<uint64_t> {
  using type = int64_t;
};

// Signed and unsigned integers share a row if the result does not depend on the sign: reading, if
// at most as many bits are written as read, and writing, except from floats, for which only one of
// the two may hold the value.
template <class From, class To>
LT_INLINE CastRow cast_between() {
  constexpr bool whole = kind_of<From> == kInteger || kind_of<From> == kBool;
  constexpr bool kept =
      kind_of<To> == kBool || (kind_of<To> == kInteger && sizeof(To) <= sizeof(From));
  using Read = std::conditional_t<whole && kept, typename SignedOf<From>::type, From>;
  using Written = std::conditional_t<whole || sizeof(To) < 4, typename SignedOf<To>::type, To>;
  return cast_row<Read, Written>;
}

// Each(number, type) of the dtypes of tensors.
#define LT_EACH_DTYPE(EACH) \
  EACH(0, Bool)             \
  EACH(1, uint8_t)          \
  EACH(2, int8_t)           \
  EACH(3, int16_t)          \
  EACH(4, int32_t)          \
  EACH(5, int64_t)          \
  EACH(6, Float16)          \
  EACH(7, BFloat16)         \
  EACH(8, float)            \
  EACH(9, double)           \
  EACH(10, Complex64)       \
  EACH(11, Complex128)      \
  EACH(12, Complex32)       \
  EACH(13, BComplex32)      \
  EACH(19, uint16_t)        \
  EACH(20, uint32_t)        \
  EACH(21, uint64_t)

template <class From>
LT_INLINE CastRow cast_to(int to) {
  switch (to) {
#define LT_TO(NUMBER, T) \
  case NUMBER:           \
    return cast_between<From, T>();
    LT_EACH_DTYPE(LT_TO)
#undef LT_TO
  }
  return nullptr;
}

[[maybe_unused]] CastRow find_cast(int from, int to) {
  switch (from) {
#define LT_FROM(NUMBER, T) \
  case NUMBER:             \
    return cast_to<T>(to);
    LT_EACH_DTYPE(LT_FROM)
#undef LT_FROM
  }
  return nullptr;
}

// The bytes of an element.
constexpr int64_t dtype_size(int d) {
  switch (d) {
#define LT_SIZE(NUMBER, T) \
  case NUMBER:             \
    return sizeof(T);
    LT_EACH_DTYPE(LT_SIZE)
#undef LT_SIZE
  }
  return 0;
}

}  // namespace
}  // namespace lt
#endif
