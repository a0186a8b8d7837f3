// Sums and products.
#include "../reduce_adding.h"

namespace lt {
namespace {

template <class T>
struct SumOf : Adding<T, SumOf<T>> {
  static auto value(T x) { return typename SumTypes<T>::Lane(x); }
};
template <class T>
struct NanSumOf : Adding<T, NanSumOf<T>> {
  static T value(T x) { return x == x ? x : T(0); }
};
template <class T>
struct MeanOf : Adding<T, MeanOf<T>> {
  static T value(T x) { return x; }
  static T finish(double t, const lt_reduction *r) { return T(t / (double)r->count); }
};
template <class T>
struct CountOf : Adding<T, CountOf<T>> {  // how many elements are not zero
  static int64_t value(T x) { return x.v != 0; }
};

template <class T>
struct ProdOf : Adding<T, ProdOf<T>> {
  using Lane = typename SumTypes<T>::Lane;
  using Total = typename SumTypes<T>::Total;
  static Total identity() { return 1; }
  template <class U>
  static U fold(U a, U b) {
    return a * b;
  }
  static Lane value(T x) { return Lane(x); }
};

// The mean of the elements that are not NaN.
template <class T>
struct NanMeanFold {
  struct Lane {
    T sum, count;
  };
  struct Total {
    double sum, count;
    Total(double s, double c) : sum(s), count(c) {}
    explicit Total(Lane a) : sum(a.sum), count(a.count) {}
  };
  using Element = T;
  using Result = T;
  static constexpr bool kExact = false;
  static Total identity() { return {0, 0}; }
  static Lane map(T x, const lt_reduction *) { return {x == x ? x : T(0), T(x == x)}; }
  static Lane fold(Lane a, Lane b) { return {a.sum + b.sum, a.count + b.count}; }
  static Total fold(Total a, Total b) { return {a.sum + b.sum, a.count + b.count}; }
  static T finish(Total t, const lt_reduction *) { return T(t.sum / t.count); }
};

// Complex sums add the interleaved parts as reals.
template <class C>
struct ComplexSum {
  using Element = C;
  using R = RealOf<C>;
  using Total = Complex128;
  static constexpr uint8_t results[2] = {Traits<C>::number, 0};
  static constexpr bool ordered = false;
  static R fold(R a, R b) { return a + b; }
  static Total start() { return {0, 0}; }
  static void inner(const C *x, int64_t n, int64_t, Total *t, const lt_reduction *) {
    constexpr int L = kLanes<R>;
    const R *p = (const R *)x;
    n *= 2;
    while (n >= L) {
      int64_t blocks = n / L < kSpan ? n / L : kSpan;
      R lane[L];
      for (int k = 0; k < L; k++) lane[k] = p[k];
      for (int64_t b = 1; b < blocks; b++)
        for (int k = 0; k < L; k++) lane[k] += p[b * L + k];
      fold_lanes<ComplexSum, L / 2, 2>(lane);
      t->re += lane[0];
      t->im += lane[1];
      p += blocks * L;
      n -= blocks * L;
    }
    for (int64_t i = 0; i < n; i += 2) {
      t->re += p[i];
      t->im += p[i + 1];
    }
  }
  static void outer(const char *x, int64_t rows, int64_t stride, int64_t m, int64_t, Total *totals,
                    const lt_reduction *) {
    double *__restrict t = (double *)totals;
    for (; rows > 0; rows--, x += stride) {
      const R *__restrict row = (const R *)x;
      for (int64_t j = 0; j < 2 * m; j++) t[j] += row[j];
    }
  }
  static void merge(Total *into, Total from) { *into = *into + from; }
  static void finish(Total t, const lt_reduction *, void *const *out, int64_t i) {
    ((C *)out[0])[i] = C((R)t.re, (R)t.im);
  }
};
template <class C>
struct ComplexMean : ComplexSum<C> {
  static void finish(Complex128 t, const lt_reduction *r, void *const *out, int64_t i) {
    using R = RealOf<C>;
    ((C *)out[0])[i] = C((R)(t.re / (double)r->count), (R)(t.im / (double)r->count));
  }
};
template <class C>
struct ComplexProdFold {
  using Element = C;
  using Lane = Complex128;
  using Total = Complex128;
  using Result = C;
  static constexpr bool kExact = false;
  static Total identity() { return {1, 0}; }
  static Lane map(C x, const lt_reduction *) { return {x.re, x.im}; }
  static Total fold(Total a, Total b) { return a * b; }
  static C finish(Total t, const lt_reduction *) { return {(RealOf<C>)t.re, (RealOf<C>)t.im}; }
};

template <class T>
using Sum = Fold<SumOf<T>>;
template <class T>
using NanSum = Fold<NanSumOf<T>>;
template <class T>
using NanMean = Fold<NanMeanFold<T>>;
template <class T>
using Mean = Fold<MeanOf<T>>;
template <class T>
using Count = Fold<CountOf<T>>;
template <class T>
using Prod = Fold<ProdOf<T>>;
template <class T>
using ComplexProd = Fold<ComplexProdFold<T>>;

}  // namespace
}  // namespace lt

#define LT_TO_INT64 LT_NONE, LT_NONE, LT_NONE, LT_NONE

LT_UNIT(reduce_sum){
    {"sum",
     "reduce",
     {LT_NONE, LT_REDUCER(Sum, uint8_t), LT_REDUCER(Sum, int8_t), LT_REDUCER(Sum, int16_t),
      LT_REDUCER(Sum, int32_t), LT_REDUCER(Sum, int64_t), LT_REDUCER(Sum, uint16_t),
      LT_REDUCER(Sum, uint32_t), LT_REDUCER(Sum, int64_t), LT_REDUCED_FLOATS(Sum),
      LT_REDUCED_COMPLEX(ComplexSum)}},
    {"prod",
     "reduce",
     {LT_NONE, LT_TO_INT64, LT_REDUCER(Prod, int64_t), LT_NONE, LT_NONE, LT_NONE,
      LT_REDUCED_FLOATS(Prod), LT_REDUCED_COMPLEX(ComplexProd)}},
    {"mean",
     "reduce",
     {LT_NONE, LT_NO_INTEGERS, LT_REDUCED_FLOATS(Mean), LT_REDUCED_COMPLEX(ComplexMean)}},
    {"nansum", "reduce", {LT_NONE, LT_NO_INTEGERS, LT_REDUCED_FLOATS(NanSum)}},
    {"nanmean", "reduce", {LT_NONE, LT_NO_INTEGERS, LT_REDUCED_FLOATS(NanMean)}},
    {"count_nonzero", "reduce", {LT_REDUCER(Count, lt::Bool)}},
    LT_END,
};
