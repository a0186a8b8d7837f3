// Counting: integers, and values in bins.
#include "../cast.h"
#include "../search.h"
#include "../rows.h"

namespace lt {
namespace {

// For n values in, or n points of `dims` values, adds 1 or a weight to the bin of each in out
// (int64, or double if there are weights or values are not integers). edges[d] are the bins[d] + 1
// boundaries of dimension d; `place` selects the search method. Other threads may change values and
// edges concurrently: the kernel never writes outside of out.
struct histogram_args {
  uintptr_t in, weights, out, edges, bins;
  int64_t n, dims, place;
  int64_t size;  // elements of out
  int64_t bad;   // set by bincount if a value is out of range
};

struct Bincount {
  template <class T>
  static void row(histogram_args *a) {
    const T *in = (const T *)a->in;
    const double *weights = (const double *)a->weights;
    int64_t *counts = (int64_t *)a->out;
    double *sums = (double *)a->out;
    const uint64_t size = (uint64_t)a->size;
    for (int64_t i = 0; i < a->n; i++) {
      const uint64_t at = (uint64_t)(int64_t)*(const volatile T *)(in + i);
      if (at >= size) {
        a->bad = 1;
        return;
      }
      if (weights)
        sums[at] += weights[i];
      else
        counts[at]++;
    }
  }
};

// By search in the edges; by division of the range; or by division, corrected by the edges nearby.
enum Place { kSearch, kDivide, kDivideAndSearch };

// 16-bit floats are computed on in float32, each step rounded to 16 bits.
template <class T>
LT_INLINE auto widened(T x) {
  if constexpr (sizeof(T) == 2)
    return convert<float>(x);
  else
    return x;
}
template <class T, class W>
LT_INLINE W rounded(W x) {
  return widened(convert<T>(x));
}

struct Histogram {
  template <class T>
  static void row(const histogram_args *a) {
    switch (a->place) {
      case kSearch:
        return fill<T, kSearch>(a);
      case kDivide:
        return fill<T, kDivide>(a);
      default:
        return fill<T, kDivideAndSearch>(a);
    }
  }

  // The bin of x where the range, or its product with the number of bins, overflows.
  template <class W>
  static LT_INLINE int64_t bin_of_scaled(W x, W low, W high, int64_t n) {
    constexpr W scale = W(0x1p-64);
    return (int64_t)((x * scale - low * scale) * W(n) / (high * scale - low * scale));
  }

  // The index of the bin of a point, -1 for none.
  template <class T, Place kPlace>
  static LT_INLINE int64_t bin_of(const T *point, const T *const *edges, const int64_t *bins,
                                  int64_t dims) {
    int64_t at = 0;
    for (int64_t d = 0; d < dims; d++) {
      const int64_t n = bins[d];
      const T *e = edges[d];
      const auto x = widened(point[d]), low = widened(e[0]), high = widened(e[n]);
      if (!(x >= low && x <= high)) return -1;  // NaN is in no bin
      int64_t bin = 0;
      if (kPlace == kSearch) {
        bin = partition_point(n + 1, [=](int64_t j) { return widened(e[j]) <= x; }) - 1;
      } else {
        const auto part = rounded<T>(rounded<T>(x - low) * rounded<T>((decltype(x + 0))n));
        const auto span = rounded<T>(high - low);
        bin = part - part == 0 && span - span == 0 ? (int64_t)rounded<T>(part / span)
                                                   : bin_of_scaled(x, low, high, n);
      }
      if (bin < 0) bin = 0;
      if (bin >= n) bin = n - 1;  // the last bin includes both of its edges
      if (kPlace == kDivideAndSearch) {
        if (bin > 0 && x < widened(e[bin]))
          bin--;
        else if (bin + 1 < n && x >= widened(e[bin + 1]))
          bin++;
      }
      at = at * n + bin;
    }
    return at;
  }

  template <class T, Place kPlace>
  static void fill(const histogram_args *a) {
    const T *in = (const T *)a->in;
    const T *const *edges = (const T *const *)a->edges;
    const int64_t *bins = (const int64_t *)a->bins;
    const T *weights = (const T *)a->weights;
    double *out = (double *)a->out;
    for (int64_t i = 0; i < a->n; i++) {
      const int64_t at = bin_of<T, kPlace>(in + i * a->dims, edges, bins, a->dims);
      if (at >= 0) out[at] += weights ? (double)widened(weights[i]) : 1;
    }
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(histogram){
    {"bincount", "", {LT_NONE, LT_INTEGERS(Bincount), LT_NO_FLOATS, LT_NO_COMPLEX}},
    {"histogram",
     "",
     {LT_NONE, LT_NO_INTEGERS, LT_ROW(Histogram, lt::Float16), LT_ROW(Histogram, lt::BFloat16),
      LT_ROW(Histogram, float), LT_ROW(Histogram, double), LT_NO_COMPLEX}},
    LT_END,
};
