// Combining a source with the elements that an index operand names, one after another in the order
// of the index.
#include "../cast.h"
#include "../places.h"
#include "../rows.h"

namespace lt {
namespace {

template <class T>
using Work = __typeof__(load_value(T()));

template <class T>
LT_INLINE bool is_nan(T v) {
  if constexpr (kind_of<T> == kFloating) return v != v;
  return false;
}

template <class T, class F>
LT_INLINE void combine_row(char *const *data, const int64_t *s, int64_t n, const void *params,
                           F f) {
  const Places place(params);
  if (place.failed()) return;
  char *self = data[0];
  const char *index = data[1], *source = data[2];
  const int64_t so = s[0], si = s[1], ss = s[2];
  auto combine = [f](char *at, const char *from) {
    *(T *)at = convert<T>(f(load_value(*(const T *)at), load_value(*(const T *)from)));
  };
  if (si == 0) {
    const int64_t at = place(index);
    if (at < 0) return;
    self += at;
    if (so == (int64_t)sizeof(T) && ss == (int64_t)sizeof(T)) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) combine(self + i * sizeof(T), source + i * sizeof(T));
      return;
    }
    for (int64_t i = 0; i < n; i++) combine(self + i * so, source + i * ss);
    return;
  }
  if (so == 0 && ss == (int64_t)sizeof(T)) {
    place.each<T>(index, si, n, [=](int64_t i, int64_t at) {
      combine(self + at, source + i * (int64_t)sizeof(T));
    });
    return;
  }
  place.each<T>(index, si, n,
                [=](int64_t i, int64_t at) { combine(self + i * so + at, source + i * ss); });
}

#define LT_SCATTER(NAME, ...)                                                             \
  struct NAME {                                                                           \
    template <class T>                                                                    \
    static void row(char *const *data, const int64_t *s, int64_t n, const void *params) { \
      combine_row<T>(data, s, n, params, [](auto a, auto b) { return __VA_ARGS__; });     \
    }                                                                                     \
  };

// Bool is held as 0 or 1: its sum is "or", which the conversion back makes of 2.
LT_SCATTER(ScatterAdd, (decltype(a))(a + b))
LT_SCATTER(ScatterMul, (decltype(a))(a * b))
LT_SCATTER(ScatterMax, is_nan(a) || a > b ? a : b)
LT_SCATTER(ScatterMin, is_nan(a) || a < b ? a : b)

// Turns a sum into a mean; integers round down, and elements without contributions are unchanged.
struct DivideByCount {
  template <class T>
  static void row(char *const *data, const int64_t *s, int64_t n, const void *) {
    for (int64_t i = 0; i < n; i++) {
      T v = *(const T *)(data[1] + i * s[1]);
      int64_t count = *(const int64_t *)(data[2] + i * s[2]);
      if (count > 1) {
        if constexpr (__is_same(T, uint64_t)) {
          v /= (uint64_t)count;
        } else if constexpr (kind_of<T> == kInteger) {
          int64_t q = (int64_t)v / count;
          v = (T)(q - ((int64_t)v < q * count));
        } else if constexpr (kind_of<T> == kComplex) {
          v = T(v.re / (RealOf<T>)count, v.im / (RealOf<T>)count);
        } else {
          v = (T)(v / (T)count);
        }
      }
      *(T *)(data[0] + i * s[0]) = v;
    }
  }
};

}  // namespace
}  // namespace lt

// clang-format off
#define LT_STORED(OP) {LT_ROW(OP, lt::Bool), LT_MODULAR(OP), LT_STORED_FLOATS(OP), LT_ROW(OP, lt::Complex64), \
                       LT_ROW(OP, lt::Complex128), LT_ROW(OP, lt::Complex32), LT_ROW(OP, lt::BComplex32)}
#define LT_STORED_ORDERED(OP) {LT_ROW(OP, lt::Bool), LT_INTEGERS(OP), LT_STORED_FLOATS(OP), LT_NO_COMPLEX}
// clang-format on

LT_UNIT(scatter){
    {"scatter_add", "X=lT", LT_STORED(ScatterAdd)},
    {"scatter_mul", "X=lT", LT_STORED(ScatterMul)},
    {"scatter_max", "X=lT", LT_STORED_ORDERED(ScatterMax)},
    {"scatter_min", "X=lT", LT_STORED_ORDERED(ScatterMin)},
    {"divide_by_count", "T>Tl", LT_NUMBERS(DivideByCount)},
    LT_END,
};
