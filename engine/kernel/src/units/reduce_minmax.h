// Largest and smallest values, and their indices. NaN counts as larger and as smaller than every
// number.
#include "../reduce.h"

#include <type_traits>

namespace lt {
namespace {

template <class T>
struct Limits {
  static constexpr T lowest = T(-1) < T(0) ? T((uint64_t)1 << (8 * sizeof(T) - 1)) : T(0),
                     highest = T(~lowest);
};
template <>
struct Limits<float> {
  static constexpr float lowest = -__builtin_inff(), highest = __builtin_inff();
};
template <>
struct Limits<double> {
  static constexpr double lowest = -__builtin_inf(), highest = __builtin_inf();
};

struct Greater {
  template <class T>
  static bool beats(T a, T b) {
    return a > b;
  }
  template <class T>
  static constexpr T worst = Limits<T>::lowest;
};
struct Less {
  template <class T>
  static bool beats(T a, T b) {
    return a < b;
  }
  template <class T>
  static constexpr T worst = Limits<T>::highest;
};

// Of equals, such as -0 and 0, the first.
template <class Order, class T>
LT_INLINE T pick(T a, T b) {
  T c = Order::beats(b, a) ? b : a;
  return b != b ? b : c;
}

template <class T>
struct ValueType {
  using type = T;
};
template <>
struct ValueType<Bool> {
  using type = uint8_t;
};
template <class T>
LT_INLINE typename ValueType<T>::type value_of(T x) {
  if constexpr (kind_of<T> == kBool)
    return x.v != 0;
  else
    return x;
}

template <class Order, class T>
struct ExtremeFold {
  using Element = T;
  using Lane = typename ValueType<T>::type;
  using Total = Lane;
  using Result = T;
  static constexpr bool kExact = true;
  static Total identity() { return Order::template worst<Lane>; }
  static Lane map(T x, const lt_reduction *) { return value_of(x); }
  static Lane fold(Lane a, Lane b) { return pick<Order>(a, b); }
  static T finish(Total t, const lt_reduction *) { return T(t); }
};
// Value and index of the first extreme element. The index is -1 before the first element.
template <class Order, class T>
struct Arg {
  using Element = T;
  using V = typename ValueType<T>::type;
  struct Total {
    V value;
    int64_t index;
  };
  static constexpr uint8_t results[2] = {Traits<T>::number, Traits<int64_t>::number};
  static constexpr bool ordered = true;
  static V fold(V a, V b) { return pick<Order>(a, b); }
  static Total start() { return {Order::template worst<V>, -1}; }
  // NaN wins, and the first NaN determines the index.
  static bool beats(V a, V b) { return Order::beats(a, b) || (a != a && b == b); }
  static void take(Total *t, V v, int64_t index) {
    if (t->index < 0 || beats(v, t->value)) *t = {v, index};
  }

  static void inner(const T *x, int64_t n, int64_t base, Total *t, const lt_reduction *) {
    constexpr int L = kLanes<V>;
    constexpr int64_t kPart = 16 * L;
    int64_t i = 0;
    while (i + L <= n) {
      int64_t part = n - i < kPart ? (n - i) / L * L : kPart;
      V lane[L];
      for (int k = 0; k < L; k++) lane[k] = value_of(x[i + k]);
      for (int64_t b = L; b < part; b += L)
        for (int k = 0; k < L; k++) lane[k] = pick<Order>(lane[k], value_of(x[i + b + k]));
      fold_lanes<Arg, L / 2>(lane);
      const V best = lane[0];
      if (t->index < 0 || beats(best, t->value)) {
        int64_t k = i;
        while (value_of(x[k]) != best && !(best != best && x[k] != x[k])) k++;
        *t = {best, base + k};
      }
      i += part;
    }
    for (; i < n; i++) take(t, value_of(x[i]), base + i);
  }

  static void outer(const char *x, int64_t rows, int64_t stride, int64_t m, int64_t base, Total *t,
                    const lt_reduction *) {
    using I = std::conditional_t<sizeof(V) == 8, int64_t, int32_t>;
    constexpr int64_t kWidth = 512;
    while (rows > 0) {
      const int64_t part = rows < (1 << 30) ? rows : 1 << 30;
      for (int64_t j = 0; j < m; j += kWidth) {
        const int64_t w = m - j < kWidth ? m - j : kWidth;
        V value[kWidth];
        I index[kWidth];  // row, -1 where the total given to this call still holds
        for (int64_t k = 0; k < w; k++) {
          const bool fresh = t[j + k].index < 0;
          value[k] = fresh ? value_of(((const T *)x)[j + k]) : t[j + k].value;
          index[k] = fresh ? 0 : -1;
        }
        for (int64_t i = 0; i < part; i++) {
          const T *row = (const T *)(x + i * stride) + j;
#pragma GCC ivdep
          for (int64_t k = 0; k < w; k++) {
            const V v = value_of(row[k]), old = value[k];
            const bool better = Order::beats(v, old) | ((v != v) & (old == old));
            value[k] = better ? v : old;
            index[k] = better ? (I)i : index[k];
          }
        }
        for (int64_t k = 0; k < w; k++)
          if (index[k] >= 0) t[j + k] = {value[k], base + index[k]};
      }
      x += part * stride;
      base += part;
      rows -= part;
    }
  }

  static void merge(Total *into, Total from) {
    if (from.index >= 0) take(into, from.value, from.index);
  }
  static void finish(Total t, const lt_reduction *, void *const *out, int64_t i) {
    ((T *)out[0])[i] = T(t.value);
    ((int64_t *)out[1])[i] = t.index;
  }
};

// Whether any or all elements are not zero.
template <bool kAny>
struct LogicFold {
  using Element = Bool;
  using Lane = uint8_t;
  using Total = uint8_t;
  using Result = Bool;
  static constexpr bool kExact = true;
  static Total identity() { return !kAny; }
  static Lane map(Bool x, const lt_reduction *) { return x.v != 0; }
  static Lane fold(Lane a, Lane b) { return kAny ? a | b : a & b; }
  static Bool finish(Total t, const lt_reduction *) { return Bool(t != 0); }
};

template <class T>
using Max = Fold<ExtremeFold<Greater, T>>;
template <class T>
using Min = Fold<ExtremeFold<Less, T>>;

// Both extremes: blocks of the input stay in cache from the one's pass to the other's.
template <class T>
struct MinMax {
  using Element = T;
  using V = typename ValueType<T>::type;
  struct Total {
    V least, most;
  };
  static constexpr uint8_t results[2] = {Traits<T>::number, Traits<T>::number};
  static constexpr bool ordered = false;
  static Total start() { return {Min<T>::start(), Max<T>::start()}; }

  static void inner(const T *x, int64_t n, int64_t base, Total *t, const lt_reduction *r) {
    constexpr int64_t kPart = 16384 / sizeof(T);
    for (int64_t i = 0; i < n; i += kPart) {
      const int64_t part = n - i < kPart ? n - i : kPart;
      Min<T>::inner(x + i, part, base, &t->least, r);
      Max<T>::inner(x + i, part, base, &t->most, r);
    }
  }

  static void outer(const char *x, int64_t rows, int64_t stride, int64_t m, int64_t base, Total *t,
                    const lt_reduction *r) {
    constexpr int64_t kWidth = 512, kRows = 16;
    for (int64_t j = 0; j < m; j += kWidth, x += kWidth * sizeof(T), t += kWidth) {
      const int64_t w = m - j < kWidth ? m - j : kWidth;
      V least[kWidth], most[kWidth];
      for (int64_t k = 0; k < w; k++) least[k] = t[k].least, most[k] = t[k].most;
      for (int64_t i = 0; i < rows; i += kRows) {
        const int64_t part = rows - i < kRows ? rows - i : kRows;
        Min<T>::outer(x + i * stride, part, stride, w, base, least, r);
        Max<T>::outer(x + i * stride, part, stride, w, base, most, r);
      }
      for (int64_t k = 0; k < w; k++) t[k] = {least[k], most[k]};
    }
  }

  static void merge(Total *into, Total from) {
    Min<T>::merge(&into->least, from.least);
    Max<T>::merge(&into->most, from.most);
  }
  static void finish(Total t, const lt_reduction *, void *const *out, int64_t i) {
    ((T *)out[0])[i] = T(t.least);
    ((T *)out[1])[i] = T(t.most);
  }
};
template <class T>
using ArgMax = Arg<Greater, T>;
template <class T>
using ArgMin = Arg<Less, T>;
template <class T>
using Any = Fold<LogicFold<true>>;
template <class T>
using All = Fold<LogicFold<false>>;

}  // namespace
}  // namespace lt

#define LT_REDUCED_ORDERED(OP) \
  {LT_REDUCER(OP, lt::Bool),   \
   LT_REDUCER(OP, uint8_t),    \
   LT_REDUCER(OP, int8_t),     \
   LT_REDUCER(OP, int16_t),    \
   LT_REDUCER(OP, int32_t),    \
   LT_REDUCER(OP, int64_t),    \
   LT_REDUCER(OP, uint16_t),   \
   LT_REDUCER(OP, uint32_t),   \
   LT_REDUCER(OP, uint64_t),   \
   LT_NONE,                    \
   LT_NONE,                    \
   LT_REDUCER(OP, float),      \
   LT_REDUCER(OP, double)}

LT_UNIT(reduce_minmax){
    {"amax", "reduce", LT_REDUCED_ORDERED(Max)},
    {"amin", "reduce", LT_REDUCED_ORDERED(Min)},
    {"aminmax", "reduce", LT_REDUCED_ORDERED(MinMax)},
    {"argmax", "reduce", LT_REDUCED_ORDERED(ArgMax)},
    {"argmin", "reduce", LT_REDUCED_ORDERED(ArgMin)},
    {"any", "reduce", {LT_REDUCER(Any, lt::Bool)}},
    {"all", "reduce", {LT_REDUCER(All, lt::Bool)}},
    LT_END,
};
