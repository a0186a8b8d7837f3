// Arithmetic of 16-bit floats in memory, without blocks of float32 in between: each element is
// widened, computed and rounded as those blocks are. Devices convert elements anyway.
#include "../cast.h"
#include "../rows.h"
#include "../vec.h"

namespace lt {
namespace {

#ifdef __F16C__
// As many float16 as a register has lanes of float32.
LT_INLINE Vec<float> load_halves(const Float16 *p) {
#if LT_VECTOR_BYTES == 64
  return (Raw<float>)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
#else
  return (Raw<float>)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
#endif
}
LT_INLINE void store_halves(Float16 *p, Vec<float> a) {
#if LT_VECTOR_BYTES == 64
  _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph((__m512)a.v, _MM_FROUND_TO_NEAREST_INT));
#else
  _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph((__m256)a.v, _MM_FROUND_TO_NEAREST_INT));
#endif
}

// The elements of a row that fill registers, if it is contiguous: f(i) are those from number i on.
// Returns their number.
template <class F>
LT_INLINE int64_t run_halves(Float16 *out, int64_t n, F f) {
  int64_t i = 0;
  for (; i + Vec<float>::N <= n; i += Vec<float>::N) store_halves(out + i, f(i));
  return i;
}
#endif

template <class T>
LT_INLINE T rounded(float a) {
  T y;
  narrow(a, &y);
  return y;
}

// f of two operands in memory.
template <class T, class F>
LT_INLINE void stored_row(char *const *data, const int64_t *s, int64_t n, F f) {
  int64_t i = 0;
#ifdef __F16C__
  if constexpr (__is_same(T, Float16)) {
    constexpr int64_t size = sizeof(T);
    T *out = (T *)data[0];
    const T *a = (const T *)data[1], *b = (const T *)data[2];
    const Vec<float> first = widen(*a), second = widen(*b);
    if (s[0] == size && s[1] == size && s[2] == size)
      i = run_halves(out, n, [=](int64_t k) { return f(load_halves(a + k), load_halves(b + k)); });
    else if (s[0] == size && s[1] == size && s[2] == 0)
      i = run_halves(out, n, [=](int64_t k) { return f(load_halves(a + k), second); });
    else if (s[0] == size && s[1] == 0 && s[2] == size)
      i = run_halves(out, n, [=](int64_t k) { return f(first, load_halves(b + k)); });
  }
#endif
  char *const rest[] = {data[0] + i * s[0], data[1] + i * s[1], data[2] + i * s[2]};
  binary_row<T, T, T>(rest, s, n - i, [f](T a, T b) { return rounded<T>(f(widen(a), widen(b))); });
}

// f of an operand in memory and one in float32, which is mostly the same number for a whole row.
template <class T, class F>
LT_INLINE void number_row(char *const *data, const int64_t *s, int64_t n, F f) {
  int64_t i = 0;
#ifdef __F16C__
  if constexpr (__is_same(T, Float16)) {
    const T *a = (const T *)data[1];
    const Vec<float> number = *(const float *)data[2];
    if (s[0] == sizeof(T) && s[1] == sizeof(T) && s[2] == 0)
      i = run_halves((T *)data[0], n, [=](int64_t at) { return f(load_halves(a + at), number); });
  }
#endif
  char *const rest[] = {data[0] + i * s[0], data[1] + i * s[1], data[2] + i * s[2]};
  binary_row<T, T, float>(rest, s, n - i, [f](T a, float b) { return rounded<T>(f(widen(a), b)); });
}

#define LT_OF(NAME, ROW, ...)                                                             \
  struct NAME {                                                                           \
    template <class T>                                                                    \
    static void row(char *const *data, const int64_t *strides, int64_t n, const void *) { \
      ROW<T>(data, strides, n, [](auto a, auto b) { return __VA_ARGS__; });               \
    }                                                                                     \
  };
LT_OF(AddStored, stored_row, a + b)
LT_OF(SubStored, stored_row, a - b)
LT_OF(MulStored, stored_row, a *b)
LT_OF(DivStored, stored_row, a / b)
LT_OF(AddNumber, number_row, a + b)
LT_OF(SubNumber, number_row, a - b)
LT_OF(MulNumber, number_row, a *b)
LT_OF(DivNumber, number_row, a / b)

}  // namespace
}  // namespace lt

// Without instructions for float16 blocks are faster.
#ifndef __F16C__
#define LT_HALF(OP) LT_NONE
#else
#define LT_HALF(OP) LT_ROW(OP, lt::Float16)
#endif
// clang-format off
#define LT_HALVES(OP) {LT_NONE, LT_NO_INTEGERS, LT_HALF(OP), LT_ROW(OP, lt::BFloat16), LT_NONE, LT_NONE, LT_NO_COMPLEX}
// clang-format on

LT_UNIT(halves){
    {"add_stored", "T>TT", LT_HALVES(AddStored)},
    {"add_number", "T>Tf", LT_HALVES(AddNumber)},
    {"sub_stored", "T>TT", LT_HALVES(SubStored)},
    {"sub_number", "T>Tf", LT_HALVES(SubNumber)},
    {"mul_stored", "T>TT", LT_HALVES(MulStored)},
    {"mul_number", "T>Tf", LT_HALVES(MulNumber)},
    {"div_stored", "T>TT", LT_HALVES(DivStored)},
    {"div_number", "T>Tf", LT_HALVES(DivNumber)},
    LT_END,
};
