// Packed panels: some rows of a matrix b and as many of its columns as two vectors hold, unit after
// unit.
#ifndef LIBTENSOR_KERNEL_SRC_GEMM_PANEL_H
#define LIBTENSOR_KERNEL_SRC_GEMM_PANEL_H

#include "gemm_steps.h"
#include "transpose.h"

namespace lt {
namespace {

constexpr int64_t kUnits = 256;  // units of k per packed panel, at most

template <class Unit>
constexpr int kPanel = 2 * LT_VECTOR_BYTES / sizeof(Unit);  // columns per packed panel

// k is split into equal parts, a multiple of kSteps, that fit into packed panels.
template <class P>
LT_INLINE int64_t parts_of(int64_t k) {
  constexpr int64_t step = kUnits * P::kSteps;
  return k > 0 ? (k + step - 1) / step : 1;
}
template <class P>
LT_INLINE int64_t part_of(int64_t k) {
  const int64_t steps = parts_of<P>(k) * P::kSteps;
  return (k + steps - 1) / steps * P::kSteps;
}

template <class P>
struct FromZero {
  LT_INLINE Vec<typename P::Sum> start(int) const { return typename P::Sum(0); }
};

// The source of b and the initial value of sums for a tile: in a packed panel,
template <class P>
struct Packed : FromZero<P> {
  using Unit = typename P::Unit;
  const Unit *at;
  LT_INLINE Packed(const Unit *panel) : at(panel) {}
  LT_INLINE Vec<Unit> units(int v, int64_t) const { return load(at + v * Vec<Unit>::N); }
  LT_INLINE void next() { at += kPanel<Unit>; }
};

// or in b itself, if its columns are adjacent: packing does not pay for few rows.
template <class P, class T>
struct InPlace : FromZero<P> {
  using Unit = typename P::Unit;
  const T *at;
  int64_t row;
  LT_INLINE InPlace(const T *b, int64_t row) : at(b), row(row) {}
  LT_INLINE Vec<Unit> units(int v, int64_t values) const {
    return across<P>(at + v * Vec<Unit>::N, row, values);
  }
  LT_INLINE void next() { at += P::kSteps * row; }
};

// or in b while they are packed on the way.
template <class P, class T>
struct Packing : FromZero<P> {
  using Unit = typename P::Unit;
  const T *at;
  int64_t row;
  Unit *panel;
  LT_INLINE Packing(const T *b, int64_t row, Unit *panel) : at(b), row(row), panel(panel) {}
  LT_INLINE Vec<Unit> units(int v, int64_t values) const {
    __builtin_prefetch(at + v * Vec<Unit>::N + 8 * P::kSteps * row);
    const Vec<Unit> u = across<P>(at + v * Vec<Unit>::N, row, values);
    store(panel + v * Vec<Unit>::N, u);
    return u;
  }
  LT_INLINE void next() {
    at += P::kSteps * row;
    panel += kPanel<Unit>;
  }
};

// Packs depth rows of the adjacent columns of a complete packed panel of W columns.
template <class P, class T, int W = kPanel<typename P::Unit>>
void pack_rows(const T *b, int64_t row, int64_t depth, typename P::Unit *panel) {
  constexpr int N = Vec<typename P::Unit>::N;
  InPlace<P, T> from(b, row);
  for (int64_t p = 0; p < depth; p += P::kSteps, panel += W, from.next()) {
    __builtin_prefetch(from.at + 16 * P::kSteps * row);
    const int64_t values = depth - p < P::kSteps ? depth - p : P::kSteps;
    for (int v = 0; v < W / N; v++) store(panel + v * N, from.units(v, values));
  }
}

// Packs w columns that are contiguous along k, widened vector by vector, as far as their units fill
// vectors. Returns the number of these units.
template <class P, class T, int W>
int64_t pack_widened(const T *b, int64_t col, int64_t units, int64_t w, typename P::Unit *panel) {
  using Unit = typename P::Unit;
  constexpr int N = Vec<Unit>::N;
  alignas(64) Unit wide[W * N];
  int64_t q = 0;
  for (; q + N <= units; q += N) {
    for (int64_t k = 0; k < w; k++) store(wide + k * N, along<P>(b + k * col + q * P::kSteps));
    find_turn(sizeof(Unit))((char *)(panel + q * W), W * sizeof(Unit), (const char *)wide,
                            N * sizeof(Unit), w, N);
  }
  return q;
}

// Packs depth rows of w columns. The rest of a packed panel is ignored: whole vectors read on into
// the following rows, but not past the last element.
template <class P, class T, int W = kPanel<typename P::Unit>>
void pack(const T *b, int64_t row, int64_t col, int64_t depth, int64_t w, typename P::Unit *panel) {
  using Left = typename P::Left;
  using Unit = typename P::Unit;
  const int64_t whole = depth / P::kSteps, units = (depth + P::kSteps - 1) / P::kSteps;
  int64_t done = 0;  // units
  if constexpr (kind_of<Unit> != kComplex) {
    if (col == 1 && w == W) return pack_rows<P, T, W>(b, row, depth, panel);
    if (col == 1 && row > 0) {
      done = (depth - (W - w + row - 1) / row) / P::kSteps;
      if (done < 0) done = 0;
      pack_rows<P, T, W>(b, row, done * P::kSteps, panel);
    }
  }
  if (w < W) memset((void *)(panel + done * W), 0, size_t((units - done) * W) * sizeof(Unit));
  if constexpr (sizeof(T) == sizeof(Left) && sizeof(Unit) <= 8) {
    if (row == 1) {
      find_turn(sizeof(Unit))((char *)panel, W * sizeof(Unit), (const char *)b,
                              col * int64_t(sizeof(T)), w, whole);
      done = whole;
    }
  } else if constexpr (sizeof(T) < sizeof(Left) && kind_of<Unit> != kComplex) {
    if (row == 1) done = pack_widened<P, T, W>(b, col, whole, w, panel);
  }
  const auto value = [&](int64_t p, int64_t k) {
    if constexpr (__is_same(T, Left))
      return b[p * row + k * col];
    else
      return convert<Left>(b[p * row + k * col]);
  };
  const auto put = [&](int64_t q, int64_t k) {
    Left values[P::kSteps] = {};
    for (int64_t s = 0; s < P::kSteps && q * P::kSteps + s < depth; s++)
      values[s] = value(q * P::kSteps + s, k);
    panel[q * W + k] = unit_at<P>(values);
  };
  if (row == 1) {
    for (int64_t k = 0; k < w; k++)
      for (int64_t q = done; q < units; q++) put(q, k);
  } else {
    for (int64_t q = done; q < units; q++)
      for (int64_t k = 0; k < w; k++) put(q, k);
  }
}

}  // namespace
}  // namespace lt
#endif
