// Bits of bool and integers, shifts, greatest common divisors.
#include "../rows.h"

namespace lt {
namespace {

template <class T>
LT_INLINE T invert(T a) {
  if constexpr (kind_of<T> == kBool)
    return !a;
  else
    return T(~a);
}

// A shift by a negative amount or by all bits and more pushes every bit out.
template <class T>
LT_INLINE T shift_left(T a, T by) {
  return by < 0 || by >= T(8 * sizeof(T)) ? T(0) : T((uint64_t)a << by);
}
template <class T>
LT_INLINE T shift_right(T a, T by) {
  constexpr T most = 8 * sizeof(T) - 1;
  return T(a >> (by < 0 || by > most ? most : by)) &
         (T(-1) > 0 && (by < 0 || by > most) ? T(0) : T(-1));
}

template <class T>
LT_INLINE T gcd(T a, T b) {
  a = a < 0 ? T(-a) : a;
  b = b < 0 ? T(-b) : b;
  while (b != 0) {
    // -1 divides everything; dividing the most negative integer by it would trap.
    const T r = T(-1) < 0 && b == T(-1) ? T(0) : T(a % b);
    a = b;
    b = r;
  }
  return a;
}
template <class T>
LT_INLINE T lcm(T a, T b) {
  const T g = gcd(a, b);
  if (g == 0) return 0;
  if constexpr (T(-1) > 0 && sizeof(T) > 1) return T(uint64_t(a / g) * b);
  // Small integers multiply in int, so that only the result wraps.
  const auto m = (T(-1) < 0 && g == T(-1) ? T(-a) : T(a / g)) * b;
  return T(m < 0 ? -m : m);
}

LT_BINARY(And, T(a &b))
LT_BINARY(Or, T(a | b))
LT_BINARY(Xor, T(a ^ b))
LT_UNARY(Not, invert(a))
LT_BINARY(ShiftLeft, shift_left(a, b))
LT_BINARY(ShiftRight, shift_right(a, b))
LT_BINARY(Gcd, gcd(a, b))
LT_BINARY(Lcm, lcm(a, b))

}  // namespace
}  // namespace lt

LT_UNIT(bitwise){
    {"bitwise_and", "T>TT", LT_BITS(And)},
    {"bitwise_or", "T>TT", LT_BITS(Or)},
    {"bitwise_xor", "T>TT", LT_BITS(Xor)},
    {"bitwise_not", "T>T", LT_BITS(Not)},
    {"bitwise_left_shift", "T>TT", LT_MODULAR_INTEGRAL(ShiftLeft)},
    {"bitwise_right_shift", "T>TT", LT_INTEGRAL(ShiftRight)},
    {"gcd", "T>TT", LT_INTEGRAL(Gcd)},
    {"lcm", "T>TT", LT_INTEGRAL(Lcm)},
    LT_END,
};
