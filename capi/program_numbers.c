// Arithmetic on the symbolic numbers of exported programs: ints, floats and bools, by the rules of
// Python.
#include "program_numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../engine/program/plan.h"

tensor_value lt_make_int(int64_t i) { return (tensor_value){.kind = TENSOR_VALUE_INT, .as.i = i}; }

bool lt_is_number(const tensor_value *v) {
  return v->kind == TENSOR_VALUE_INT || v->kind == TENSOR_VALUE_FLOAT ||
         v->kind == TENSOR_VALUE_BOOL;
}

int64_t lt_number_to_int(const tensor_value *v) {
  return v->kind == TENSOR_VALUE_BOOL ? v->as.b : v->as.i;
}

double lt_number_to_float(const tensor_value *v) {
  return v->kind == TENSOR_VALUE_FLOAT ? v->as.f : (double)lt_number_to_int(v);
}

bool lt_number_to_bool(const tensor_value *v) { return lt_number_to_float(v) != 0; }

tensor_value lt_make_float(double f) {
  return (tensor_value){.kind = TENSOR_VALUE_FLOAT, .as.f = f};
}

tensor_value lt_make_bool(bool b) { return (tensor_value){.kind = TENSOR_VALUE_BOOL, .as.b = b}; }

// Stores a float as an integer. Returns false if it does not fit.
static bool round_to(double f, tensor_value *to) {
  if (!(f >= -9223372036854775808.0 && f < 9223372036854775808.0)) return false;
  return *to = lt_make_int((int64_t)f), true;
}

bool lt_equal_numbers(const tensor_value *a, const tensor_value *b) {
  const bool is_float = a->kind == TENSOR_VALUE_FLOAT;
  if (is_float == (b->kind == TENSOR_VALUE_FLOAT))
    return is_float ? a->as.f == b->as.f : lt_number_to_int(a) == lt_number_to_int(b);
  if (!is_float) return lt_equal_numbers(b, a);
  // Compared as integers: the conversion of an int to a float can round.
  tensor_value whole;
  return round_to(a->as.f, &whole) && (double)whole.as.i == a->as.f &&
         whole.as.i == lt_number_to_int(b);
}

// The quotient of two integers, rounded down; the divisor is not 0.
static int64_t divide_down(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

static bool power(int64_t a, int64_t b, int64_t *to) {
  *to = 1;
  for (; b > 0; b >>= 1) {
    if (b & 1 && __builtin_mul_overflow(*to, a, to)) return false;
    if (b > 1 && __builtin_mul_overflow(a, a, &a)) return false;
  }
  return true;
}

static int count_bits(uint64_t a) { return a ? 64 - __builtin_clzll(a) : 0; }

static uint64_t magnitude(int64_t a) { return a < 0 ? -(uint64_t)a : (uint64_t)a; }

// Returns the quotient of two integers, rounded once. The divisor is not 0.
static double divide(int64_t a, int64_t b) {
  const uint64_t n = magnitude(a), d = magnitude(b);
  // A quotient of at least 55 bits, whose last bit is also set if there is a remainder: its
  // conversion to a double of 53 bits is the only rounding.
  const int bits = 56 + count_bits(d) - count_bits(n), shift = bits > 0 ? bits : 0;
  const unsigned __int128 shifted = (unsigned __int128)n << shift;
  const uint64_t quotient = (uint64_t)(shifted / d) | (shifted % d != 0);
  const double q = ldexp((double)quotient, -shift);
  return (a < 0) != (b < 0) ? -q : q;
}

// Computes with two integers. Returns false if the result has more than 64 bits, or a divisor is 0.
bool lt_compute_ints(int64_t code, int64_t a, int64_t b, tensor_value *to) {
  int64_t i = 0;
  switch (code) {
    case LT_SYM_ADD:
      if (__builtin_add_overflow(a, b, &i)) return false;
      break;
    case LT_SYM_SUB:
      if (__builtin_sub_overflow(a, b, &i)) return false;
      break;
    case LT_SYM_MUL:
      if (__builtin_mul_overflow(a, b, &i)) return false;
      break;
    case LT_SYM_FLOORDIV:
    case LT_SYM_MOD:
      if (b == 0 || (a == INT64_MIN && b == -1)) return false;
      i = divide_down(a, b);
      if (code == LT_SYM_MOD) i = a - i * b;
      break;
    case LT_SYM_POW:
      if (b < 0) return a != 0 && (*to = lt_make_float(pow((double)a, (double)b)), true);
      if (!power(a, b, &i)) return false;
      break;
    case LT_SYM_AND:
      i = a & b;
      break;
    case LT_SYM_OR:
      i = a | b;
      break;
    case LT_SYM_XOR:
      i = a ^ b;
      break;
    case LT_SYM_LSHIFT:
      if (b < 0 || b > 62 || __builtin_mul_overflow(a, INT64_C(1) << b, &i)) return false;
      break;
    case LT_SYM_RSHIFT:
      if (b < 0) return false;
      i = a >> (b > 63 ? 63 : b);
      break;
    case LT_SYM_MAX:
      i = a > b ? a : b;
      break;
    case LT_SYM_MIN:
      i = a < b ? a : b;
  }
  return *to = lt_make_int(i), true;
}

// Returns the remainder of two floats, which has the sign of the divisor.
static double remainder_of(double a, double b) {
  const double rest = fmod(a, b);
  return rest != 0 ? ((rest < 0) != (b < 0) ? rest + b : rest) : copysign(0, b);
}

static double floor_quotient(double a, double b) {
  const double rest = fmod(a, b), exact = (a - rest) / b;
  const double q = rest != 0 && (rest < 0) != (b < 0) ? exact - 1 : exact, down = floor(q);
  return q == 0 ? copysign(0, a / b) : q - down > 0.5 ? down + 1 : down;
}

// Returns whether a power is a float in Python, which raises an exception or returns a complex
// number otherwise.
static bool has_power(double a, double b) {
  if (a == 0 && b < 0) return false;
  if (isfinite(a) && isfinite(b)) return (a >= 0 || b == floor(b)) && isfinite(pow(a, b));
  return true;
}

static bool compute_floats(int64_t code, double a, double b, tensor_value *to) {
  double f = 0;
  switch (code) {
    case LT_SYM_ADD:
      f = a + b;
      break;
    case LT_SYM_SUB:
      f = a - b;
      break;
    case LT_SYM_MUL:
      f = a * b;
      break;
    case LT_SYM_TRUEDIV:
      if (b == 0) return false;
      f = a / b;
      break;
    case LT_SYM_FLOORDIV:
      if (b == 0) return false;
      f = floor_quotient(a, b);
      break;
    case LT_SYM_MOD:
      if (b == 0) return false;
      f = remainder_of(a, b);
      break;
    case LT_SYM_POW:
      if (!has_power(a, b)) return false;
      f = pow(a, b);
      break;
    case LT_SYM_MAX:
      f = a > b ? a : b;
      break;
    case LT_SYM_MIN:
      f = a < b ? a : b;
      break;
    default:
      return false;
  }
  return *to = lt_make_float(f), true;
}

// Returns a number as a long double, which has the precision of integers of 64 bits and of doubles:
// comparisons are exact.
static long double widen(const tensor_value *v) {
  return v->kind == TENSOR_VALUE_FLOAT ? v->as.f : (long double)lt_number_to_int(v);
}

// Returns a number rounded to decimal digits, as Python's round() does: exactly, and ties to even
// digits.
static bool round_digits(const tensor_value *a, int64_t digits, tensor_value *to) {
  char text[512];
  if (a->kind != TENSOR_VALUE_FLOAT) return *to = lt_make_int(lt_number_to_int(a)), true;
  if (!isfinite(a->as.f)) return *to = *a, true;
  const int n = snprintf(text, sizeof text, "%.*f", (int)digits, a->as.f);
  return n > 0 && n < (int)sizeof text && (*to = lt_make_float(strtod(text, NULL)), true);
}

bool lt_compute_pair(int64_t code, const tensor_value *a, const tensor_value *b, tensor_value *to) {
  if (!lt_is_number(a) || !lt_is_number(b)) return false;
  if (code == LT_SYM_ROUND_TO) return round_digits(a, lt_number_to_int(b), to);
  const long double x = widen(a), y = widen(b);
  switch (code) {
    case LT_SYM_EQ:
      return *to = lt_make_bool(lt_equal_numbers(a, b)), true;
    case LT_SYM_NE:
      return *to = lt_make_bool(!lt_equal_numbers(a, b)), true;
    case LT_SYM_LT:
      return *to = lt_make_bool(x < y), true;
    case LT_SYM_LE:
      return *to = lt_make_bool(x <= y), true;
    case LT_SYM_GT:
      return *to = lt_make_bool(x > y), true;
    case LT_SYM_GE:
      return *to = lt_make_bool(x >= y), true;
  }
  if (a->kind == TENSOR_VALUE_FLOAT || b->kind == TENSOR_VALUE_FLOAT)
    return compute_floats(code, lt_number_to_float(a), lt_number_to_float(b), to);
  const int64_t i = lt_number_to_int(a), j = lt_number_to_int(b);
  if (code == LT_SYM_TRUEDIV) return j != 0 && (*to = lt_make_float(divide(i, j)), true);
  if (!lt_compute_ints(code, i, j, to)) return false;
  if (a->kind == TENSOR_VALUE_BOOL && b->kind == TENSOR_VALUE_BOOL && code >= LT_SYM_AND &&
      code <= LT_SYM_XOR)
    *to = lt_make_bool(to->as.i != 0);
  return true;
}

bool lt_compute_one(int64_t code, const tensor_value *a, tensor_value *to) {
  if (!lt_is_number(a)) return false;
  const bool floats = a->kind == TENSOR_VALUE_FLOAT;
  switch (code) {
    case LT_SYM_NEG:
      if (floats) return *to = lt_make_float(-a->as.f), true;
      return lt_number_to_int(a) != INT64_MIN && (*to = lt_make_int(-lt_number_to_int(a)), true);
    case LT_SYM_POS:
      return *to = *a, true;
    case LT_SYM_NOT:
      return *to = lt_make_bool(!lt_number_to_bool(a)), true;
    case LT_SYM_FLOAT:
      return *to = lt_make_float(lt_number_to_float(a)), true;
    case LT_SYM_LOG2:
      return lt_number_to_float(a) > 0 && (*to = lt_make_float(log2(lt_number_to_float(a))), true);
    case LT_SYM_SQRT:
      return lt_number_to_float(a) >= 0 && (*to = lt_make_float(sqrt(lt_number_to_float(a))), true);
  }
  if (!floats) return *to = lt_make_int(lt_number_to_int(a)), true;
  switch (code) {
    case LT_SYM_FLOOR:
      return round_to(floor(a->as.f), to);
    case LT_SYM_CEIL:
      return round_to(ceil(a->as.f), to);
    case LT_SYM_ROUND:
      return round_to(nearbyint(a->as.f), to);
    default:
      return round_to(trunc(a->as.f), to);
  }
}
