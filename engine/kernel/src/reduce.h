// Reductions: one driver that walks any strided input, and the interface that an operator's totals
// implement.
#ifndef LIBTENSOR_KERNEL_SRC_REDUCE_H
#define LIBTENSOR_KERNEL_SRC_REDUCE_H

#include "../reduce.h"
#include "rows.h"

#if defined(__GNUC__) && !defined(__clang__)
// Predictive commoning would keep the lanes below in memory instead of in registers.
#pragma GCC optimize("no-predictive-commoning")
#endif

namespace lt {
namespace {

// Folds lanes[0..2H) to lanes[0..kParts).
template <class F, int H, int kParts = 1, class Lane>
LT_INLINE void fold_lanes(Lane *lane) {
  if constexpr (sizeof(Lane) * H < 16) {
    for (int h = H; h >= kParts; h /= 2)
      for (int k = 0; k < h; k++) lane[k] = F::fold(lane[k], lane[k + h]);
  } else if constexpr (H >= kParts) {
    for (int k = 0; k < H; k++) lane[k] = F::fold(lane[k], lane[k + H]);
    fold_lanes<F, H / 2, kParts>(lane);
  }
}

// The driver's description of a reduction for one dtype, in which its inputs are converted.
struct Reducer {
  int32_t total_size;
  uint8_t result[2];  // dtypes that finish writes
  bool ordered;       // totals depend on the elements' indices
  void (*start)(void *totals, int64_t n);
  // Adds n adjacent elements, the first of which has index base, to one total.
  void (*inner)(const void *x, int64_t n, int64_t base, void *total, const lt_reduction *r);
  // Adds rows of m adjacent elements, with stride in bytes, to m totals.
  void (*outer)(const void *x, int64_t rows, int64_t stride, int64_t m, int64_t base, void *totals,
                const lt_reduction *r);
  void (*merge)(void *into, const void *from, int64_t n);
  void (*finish)(const void *totals, int64_t n, const lt_reduction *r, void *const *out);
};

// Fills in a Reducer from a struct with start, inner, outer, merge and finish for a single total.
template <class Op>
struct ReducerOf {
  using Total = typename Op::Total;
  using T = typename Op::Element;
  static_assert(sizeof(Total) <= LT_TOTAL, "a total must fit");
  static void start(void *totals, int64_t n) {
    for (int64_t i = 0; i < n; i++) ((Total *)totals)[i] = Op::start();
  }
  static void inner(const void *x, int64_t n, int64_t base, void *total, const lt_reduction *r) {
    Op::inner((const T *)x, n, base, (Total *)total, r);
  }
  static void outer(const void *x, int64_t rows, int64_t stride, int64_t m, int64_t base,
                    void *totals, const lt_reduction *r) {
    Op::outer((const char *)x, rows, stride, m, base, (Total *)totals, r);
  }
  static void merge(void *into, const void *from, int64_t n) {
    for (int64_t i = 0; i < n; i++) Op::merge((Total *)into + i, ((const Total *)from)[i]);
  }
  static void finish(const void *totals, int64_t n, const lt_reduction *r, void *const *out) {
    for (int64_t i = 0; i < n; i++) Op::finish(((const Total *)totals)[i], r, out, i);
  }
  static constexpr Reducer value = {
      sizeof(Total), {Op::results[0], Op::results[1]}, Op::ordered, start, inner, outer, merge,
      finish};
};

// A lane is a running value of one of several adjacent elements; lanes fill four 64-byte registers.
template <class Lane>
constexpr int kLanes = 256 / sizeof(Lane);
constexpr int kSpan = 64;         // elements that a lane takes before it is added to the total
constexpr int64_t kAhead = 4096;  // bytes to fetch ahead: processors stop at the end of a page

// An operator that maps every element and folds the results: F has Element, Lane, Total, Result,
// kExact (folding order does not matter), identity(), map(T), fold(a, b) for lanes and totals, and
// finish(total, r).
template <class F>
struct Fold {
  using Element = typename F::Element;
  using Lane = typename F::Lane;
  using Total = typename F::Total;
  static constexpr uint8_t results[2] = {Traits<typename F::Result>::number, 0};
  static constexpr bool ordered = false;
  static Total start() { return F::identity(); }

  // Processes the multiple of W among n elements.
  template <int W>
  static inline __attribute__((always_inline)) void few(const Element *&x, int64_t &n, Total &t,
                                                        const lt_reduction *r) {
    if (n < 2 * W) return;
    Lane lane[W];
    for (int k = 0; k < W; k++) lane[k] = F::map(x[k], r);
    int64_t i = W;
    for (; i + W <= n; i += W)
      for (int k = 0; k < W; k++) lane[k] = F::fold(lane[k], F::map(x[i + k], r));
    fold_lanes<F, W / 2>(lane);
    t = F::fold(t, Total(lane[0]));
    x += i;
    n -= i;
  }

  static void inner(const Element *x, int64_t n, int64_t, Total *total, const lt_reduction *r) {
    constexpr int L = kLanes<Lane>;
    Total t = *total;
    while (n >= 2 * L) {
      int64_t blocks = n / L;
      if (!F::kExact && blocks > kSpan) blocks = kSpan;
      Lane lane[L];
      for (int k = 0; k < L; k++) lane[k] = F::map(x[k], r);
      for (int64_t b = 1; b < blocks; b++) {
        for (size_t k = 0; k < L * sizeof(Element); k += 64)
          __builtin_prefetch((const char *)(x + b * L) + kAhead + k);
        for (int k = 0; k < L; k++) lane[k] = F::fold(lane[k], F::map(x[b * L + k], r));
      }
      fold_lanes<F, L / 2>(lane);
      t = F::fold(t, Total(lane[0]));
      x += blocks * L;
      n -= blocks * L;
    }
    few<16>(x, n, t, r);
    few<4>(x, n, t, r);
    for (int64_t i = 0; i < n; i++) t = F::fold(t, Total(F::map(x[i], r)));
    *total = t;
  }

  static void outer(const char *x, int64_t rows, int64_t stride, int64_t m, int64_t,
                    Total *__restrict t, const lt_reduction *r) {
    constexpr int kRows = 8;
    for (; rows >= kRows; rows -= kRows, x += kRows * stride) {
      const Element *row[kRows];
      for (int k = 0; k < kRows; k++) row[k] = (const Element *)(x + k * stride);
#pragma GCC ivdep
      for (int64_t j = 0; j < m; j++) {
        Lane a = F::fold(F::fold(F::map(row[0][j], r), F::map(row[1][j], r)),
                         F::fold(F::map(row[2][j], r), F::map(row[3][j], r)));
        Lane b = F::fold(F::fold(F::map(row[4][j], r), F::map(row[5][j], r)),
                         F::fold(F::map(row[6][j], r), F::map(row[7][j], r)));
        t[j] = F::fold(t[j], Total(F::fold(a, b)));
      }
    }
    for (; rows > 0; rows--, x += stride) {
      const Element *row = (const Element *)x;
#pragma GCC ivdep
      for (int64_t j = 0; j < m; j++) t[j] = F::fold(t[j], Total(F::map(row[j], r)));
    }
  }

  static void merge(Total *into, Total from) { *into = F::fold(*into, from); }
  static void finish(Total t, const lt_reduction *r, void *const *out, int64_t i) {
    ((typename F::Result *)out[0])[i] = F::finish(t, r);
  }
};

}  // namespace
}  // namespace lt

// The table row of operator OP (a template of its element type) for type T.
#define LT_REDUCER(OP, T) (void *)&lt::ReducerOf<lt::OP<T>>::value

#endif
