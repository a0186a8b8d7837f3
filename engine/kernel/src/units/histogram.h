// Counting: integers, and values in bins.
#include "../cast.h"
#include "../search.h"
#include "../rows.h"

namespace lt {
namespace {

// Of n values in, or n points of `dims` values, adds 1 or a weight to the element of out (int64, or
// double where there are weights or values are not integers) that each belongs to. edges[d] are the
// bins[d] + 1 boundaries of dimension d; `place` says how a bin is found.
struct histogram_args {
  uintptr_t in, weights, out, edges, bins;
  int64_t n, dims, place;
};

struct Bincount {
  template <class T>
  static void row(const histogram_args *a) {
    const T *in = (const T *)a->in;
    if (!a->weights) {
      int64_t *out = (int64_t *)a->out;
      for (int64_t i = 0; i < a->n; i++) out[in[i]]++;
      return;
    }
    const double *weights = (const double *)a->weights;
    double *out = (double *)a->out;
    for (int64_t i = 0; i < a->n; i++) out[in[i]] += weights[i];
  }
};

// By search in the edges; by division of the range; or by division, corrected by the edges nearby.
enum Place { kSearch, kDivide, kDivideAndSearch };

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

  template <class T, Place kPlace>
  static void fill(const histogram_args *a) {
    const T *in = (const T *)a->in;
    const T *const *edges = (const T *const *)a->edges;
    const int64_t *bins = (const int64_t *)a->bins;
    const T *weights = (const T *)a->weights;
    double *out = (double *)a->out;
    for (int64_t i = 0; i < a->n; i++) {
      int64_t at = 0, d = 0;
      for (; d < a->dims; d++) {
        const T x = in[i * a->dims + d], *e = edges[d];
        const int64_t n = bins[d];
        if (!(x >= e[0] && x <= e[n])) break;  // NaN is in no bin
        int64_t bin = 0;
        if (kPlace == kSearch) {
          bin = partition_point(n + 1, [e, x](int64_t j) { return e[j] <= x; }) - 1;
        } else {
          bin = (int64_t)((x - e[0]) * (T)n / (e[n] - e[0]));
          if (kPlace == kDivideAndSearch) {
            const int64_t low = bin > 0 ? bin - 1 : 0, high = bin + 2 < n + 1 ? bin + 2 : n + 1;
            bin = low + partition_point(high - low, [=](int64_t j) { return e[low + j] <= x; }) - 1;
          }
        }
        if (bin < 0) bin = 0;
        if (bin >= n) bin = n - 1;  // the last bin has both its edges
        at = at * n + bin;
      }
      if (d == a->dims) out[at] += weights ? (double)weights[i] : 1;
    }
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(histogram){
    {"bincount", "", {LT_NONE, LT_INTEGERS(Bincount), LT_NO_FLOATS, LT_NO_COMPLEX}},
    {"histogram", "", LT_FLOATING(Histogram)},
    LT_END,
};
