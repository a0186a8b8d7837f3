// Normalization: elements less their mean, divided by their standard deviation, times a weight and
// plus a bias; and its gradient.
#include "../rows.h"
#include "../runs.h"

namespace lt {
namespace {

// What is normalized together is a unit: `strips` strips, `strip_step` elements apart, each of
// `runs` runs of `span` adjacent elements. A run has one weight; unit u has those from u % groups *
// runs on. Parameters, statistics and sums are of the dtype that is computed in. sums[0] is what
// biases have their gradients of, sums[1] weights: one for each run of each unit or, where spans
// are 1, one for each weight, which the units are added up in.
struct normalize_args {
  uintptr_t in, out, given, weight, bias, mean, rstd, variance, sums[2];
  int64_t first, units, strips, runs, span, unit_step, strip_step, groups;
  double eps;
  int32_t centred;  // the mean is taken off, and the deviation is that from it
  int32_t fixed;    // mean and rstd are given, as many as groups of one run each
};

// Asks for memory that comes next, which nobody needs to have.
template <class T>
LT_INLINE void soon(const T *p) {
  __builtin_prefetch(p, 0, 2);
}

// How far ahead the next block of k elements lies, where it is where the elements themselves are.
template <class M, class Args>
LT_INLINE int64_t ahead(const Args *g, int64_t k) {
  return __is_same(Wider<M>, M) && g->strips == 1 ? k : 0;
}

// Number, mean and sum of squared deviations of elements, which come block by block.
struct Moments {
  double n = 0, mean = 0, squares = 0;

  void join(double k, double other, double deviations) {
    const double all = n + k, apart = other - mean;
    squares += deviations + apart * apart * (n * k / all);
    mean += apart * (k / all);
    n = all;
  }
  template <class T>
  void add(const T *x, int64_t k, bool centred, int64_t ahead) {
    double sum = 0, deviations = 0;
    if (centred)
      sums_of<T, 1>(k, &sum, [=](int64_t i, int m, Vec<T> *s) {
        soon(x + i + ahead);
        *s = *s + load_or(x + i, m, T(0));
      });
    const T from = T(sum / (double)k);
    sums_of<T, 1>(k, &deviations, [=](int64_t i, int m, Vec<T> *s) {
      const Vec<T> d = load_or(x + i, m, from) - Vec<T>(from);
      *s = *s + d * d;
    });
    if (centred)
      join((double)k, sum / (double)k, deviations);
    else
      n += (double)k, squares += deviations;
  }
};

// Writes the statistics of unit i.
template <class T, class Args>
LT_INLINE void write_statistics(const Args *g, int64_t i, double mean, double variance) {
  ((T *)g->mean)[i] = T(mean);
  ((T *)g->rstd)[i] = T(1 / ::sqrt(variance + g->eps));
  ((T *)g->variance)[i] = T(variance);
}

// Calls f(at, k, i) for every block of adjacent elements of n, which begin at `begin`.
template <class F>
LT_INLINE void blocks(int64_t begin, int64_t n, F f) {
  for (int64_t i = 0; i < n; i += kRun) f(begin + i, n - i < kRun ? n - i : kRun, i);
}

// Calls f(at, k, i) for every block of unit u that has one run's elements or, where spans are 1,
// those of the runs from i on: then r is 0, and else the run.
template <class F>
LT_INLINE void run_blocks(const normalize_args *g, int64_t u, F f) {
  const int64_t begin = u * g->unit_step;
  if (g->span == 1 && g->strips == 1)
    return blocks(begin, g->runs, [&](int64_t at, int64_t k, int64_t i) { f(at, k, i); });
  for (int64_t r = 0; r < g->runs; r++)
    for (int64_t s = 0; s < g->strips; s++)
      blocks(begin + s * g->strip_step + r * g->span, g->span,
             [&](int64_t at, int64_t k, int64_t) { f(at, k, r); });
}

// The parameters of unit u.
template <class T>
LT_INLINE const T *of_unit(const normalize_args *g, uintptr_t all, int64_t u) {
  return all ? (const T *)all + u % g->groups * g->runs : nullptr;
}

struct Normalize {
  template <class M>
  static void row(const normalize_args *g) {
    using T = Wider<M>;
    alignas(64) T from[kRun], to[kRun];
    const M *in = (const M *)g->in;
    M *out = (M *)g->out;
    const int64_t strip = g->runs * g->span;
    for (int64_t u = g->first; u < g->first + g->units; u++) {
      if (!g->fixed) {
        Moments m;
        for (int64_t s = 0; s < g->strips; s++)
          blocks(u * g->unit_step + s * g->strip_step, strip, [&](int64_t at, int64_t k, int64_t) {
            m.add(read_run(in + at, k, from), k, g->centred, ahead<M>(g, k));
          });
        write_statistics<T>(g, u, m.mean, m.squares / m.n);
      }
      const int64_t own = g->fixed ? u % g->groups : u;
      const T mean = ((const T *)g->mean)[own], rstd = ((const T *)g->rstd)[own];
      const T *w = of_unit<T>(g, g->weight, u), *b = of_unit<T>(g, g->bias, u);
      run_blocks(g, u, [&](int64_t at, int64_t k, int64_t r) {
        const T *x = read_run(in + at, k, from);
        if (g->span > 1 || g->strips > 1) {
          const T scale = w ? rstd * w[r] : rstd, shift = b ? b[r] : T(0);
          write_run<T>(out + at, k, to, [=](int64_t j) { return (x[j] - mean) * scale + shift; });
        } else if (w && b) {
          const T *v = w + r, *c = b + r;
          write_run<T>(out + at, k, to,
                       [=](int64_t j) { return (x[j] - mean) * rstd * v[j] + c[j]; });
        } else if (w) {
          const T *v = w + r;
          write_run<T>(out + at, k, to, [=](int64_t j) { return (x[j] - mean) * rstd * v[j]; });
        } else if (b) {
          const T *c = b + r;
          write_run<T>(out + at, k, to, [=](int64_t j) { return (x[j] - mean) * rstd + c[j]; });
        } else {
          write_run<T>(out + at, k, to, [=](int64_t j) { return (x[j] - mean) * rstd; });
        }
      });
    }
  }
};

struct NormalizeGradient {
  template <class M>
  static void row(const normalize_args *g) {
    using T = Wider<M>;
    alignas(64) T from[kRun], passed[kRun], to[kRun];
    const M *in = (const M *)g->in, *given = (const M *)g->given;
    M *out = (M *)g->out;
    T *of_bias = (T *)g->sums[0], *of_weight = (T *)g->sums[1];
    const bool alone = g->span > 1 || g->strips > 1;  // a block is one run's
    const double n = (double)(g->strips * g->runs * g->span);
    for (int64_t u = g->first; u < g->first + g->units; u++) {
      const int64_t of = g->fixed ? u % g->groups : u;
      const T mean = ((const T *)g->mean)[of], rstd = ((const T *)g->rstd)[of];
      const T *w = of_unit<T>(g, g->weight, u);
      double all[2] = {0, 0};  // sums of gradients times weights, and of these times deviations
      double own[2] = {0, 0};  // those of one run, without weights
      int64_t run = 0;
      const auto close = [&] {
        if (of_bias) {
          of_bias[u * g->runs + run] = T(own[0]);
          of_weight[u * g->runs + run] = T(own[1] * (double)rstd);
        }
        const double weight = w ? (double)w[run] : 1;
        all[0] += own[0] * weight, all[1] += own[1] * weight;
        own[0] = own[1] = 0;
      };
      run_blocks(g, u, [&](int64_t at, int64_t k, int64_t r) {
        const T *x = read_run(in + at, k, from), *y = read_run(given + at, k, passed);
        const T *v = alone || !w ? nullptr : w + r;
        if (alone && r != run) close(), run = r;
        const int64_t next = ahead<M>(g, k);
        const auto add = [=](int64_t j, int m, Vec<T> *s, Vec<T> p) {
          soon(x + j + next), soon(y + j + next);
          s[0] = s[0] + p, s[1] = s[1] + p * (load_or(x + j, m, mean) - Vec<T>(mean));
        };
        if (v)
          sums_of<T, 2>(k, all, [=](int64_t j, int m, Vec<T> *s) {
            add(j, m, s, load_or(y + j, m, T(0)) * load_or(v + j, m, T(0)));
          });
        else
          sums_of<T, 2>(k, alone ? own : all, [=](int64_t j, int m, Vec<T> *s) {
            add(j, m, s, load_or(y + j, m, T(0)));
          });
        if (!alone && of_bias) {
          const int64_t first = u % g->groups * g->runs + r;
          T *biases = of_bias + first, *weights = of_weight + first;
#pragma GCC ivdep
          for (int64_t j = 0; j < k; j++) {
            biases[j] += y[j];
            weights[j] += y[j] * ((x[j] - mean) * rstd);
          }
        }
      });
      if (alone) close();
      if (!out) continue;
      const T shared = g->centred ? T(all[0] / n) : T(0);
      const T along = T(all[1] * (double)rstd * (double)rstd / n);
      run_blocks(g, u, [&](int64_t at, int64_t k, int64_t r) {
        const T *x = read_run(in + at, k, from), *y = read_run(given + at, k, passed);
        if (g->fixed) {
          const T scale = w ? w[r] * rstd : rstd;
          write_run<T>(out + at, k, to, [=](int64_t j) { return y[j] * scale; });
        } else if (alone || !w) {
          const T scale = w ? w[r] : T(1);
          write_run<T>(out + at, k, to, [=](int64_t j) {
            return (y[j] * scale - shared - (x[j] - mean) * along) * rstd;
          });
        } else {
          const T *v = w + r;
          write_run<T>(out + at, k, to, [=](int64_t j) {
            return (y[j] * v[j] - shared - (x[j] - mean) * along) * rstd;
          });
        }
      });
    }
  }
};

// ------------------------------------------------------------------------- columns

// The same for units that are columns: `strips` rows of `units` adjacent elements. Rows come in
// pieces, each of which has two numbers in float64 for every column, in `pieces`: of the moments
// the means and sums of squared deviations, of the gradient its two sums.
struct columns_args {
  uintptr_t in, out, given, weight, bias, mean, rstd, variance, sums[2], pieces;
  int64_t first, last, rows, columns, piece, count;  // rows in hand; all; those of a piece; pieces
  double eps;
  int32_t fixed;
};

constexpr int64_t kTile = 256, kDeep = 16;  // columns and rows that stay in the nearest cache

// Calls f(j, w) for tiles of w columns from j on.
template <class F>
LT_INLINE void tiles(int64_t columns, F f) {
  for (int64_t j = 0; j < columns; j += kTile) f(j, columns - j < kTile ? columns - j : kTile);
}

// Calls f(i, end) for rows that stay in the cache.
template <class F>
LT_INLINE void layers(int64_t first, int64_t last, F f) {
  for (int64_t i = first; i < last; i += kDeep) f(i, last - i < kDeep ? last : i + kDeep);
}

// Joins the moments of k more rows to those of n.
LT_INLINE void join_columns(int64_t w, double n, double k, const double *other,
                            const double *deviations, double *mean, double *squares) {
  const double part = k / (n + k), both = n * part;
#pragma GCC ivdep
  for (int64_t i = 0; i < w; i++) {
    const double apart = other[i] - mean[i];
    squares[i] += deviations[i] + apart * apart * both;
    mean[i] += apart * part;
  }
}

struct ColumnMoments {
  template <class M>
  static void row(const columns_args *g) {
    using T = Wider<M>;
    double *means = (double *)g->pieces + g->first / g->piece * 2 * g->columns;
    double *squares = means + g->columns;
    tiles(g->columns, [&](int64_t j, int64_t w) {
      alignas(64) T buffer[kTile], sum[kTile], mean[kTile], deviations[kTile];
      alignas(64) double wide[2][kTile];
      for (int64_t k = 0; k < w; k++) means[j + k] = squares[j + k] = 0;
      layers(g->first, g->last, [&](int64_t begin, int64_t end) {
        const M *in = (const M *)g->in + begin * g->columns + j;
        const int64_t n = end - begin;
        for (int64_t k = 0; k < w; k++) sum[k] = deviations[k] = 0;
        for (int64_t i = 0; i < n; i++) {
          const T *x = read_run(in + i * g->columns, w, buffer);
#pragma GCC ivdep
          for (int64_t k = 0; k < w; k++) sum[k] += x[k];
        }
        for (int64_t k = 0; k < w; k++) mean[k] = sum[k] / T(n);
        for (int64_t i = 0; i < n; i++) {
          const T *x = read_run(in + i * g->columns, w, buffer);
#pragma GCC ivdep
          for (int64_t k = 0; k < w; k++) deviations[k] += (x[k] - mean[k]) * (x[k] - mean[k]);
        }
        for (int64_t k = 0; k < w; k++)
          wide[0][k] = (double)sum[k] / (double)n, wide[1][k] = (double)deviations[k];
        join_columns(w, (double)(begin - g->first), (double)n, wide[0], wide[1], means + j,
                     squares + j);
      });
    });
  }
};

// The statistics of columns from those of the pieces.
struct ColumnStatistics {
  template <class T>
  static void row(const columns_args *g) {
    double *mean = (double *)g->pieces, *squares = mean + g->columns;
    for (int64_t p = 1; p < g->count; p++) {
      const double *of = mean + p * 2 * g->columns;
      const int64_t before = p * g->piece, left = g->rows - before;
      join_columns(g->columns, (double)before, (double)(left < g->piece ? left : g->piece), of,
                   of + g->columns, mean, squares);
    }
    for (int64_t k = 0; k < g->columns; k++)
      write_statistics<T>(g, k, mean[k], squares[k] / (double)g->rows);
  }
};

struct ColumnNormalize {
  template <class M>
  static void row(const columns_args *g) {
    using T = Wider<M>;
    tiles(g->columns, [&](int64_t j, int64_t w) {
      alignas(64) T from[kTile], to[kTile], scale[kTile], shift[kTile];
      const T *mean = (const T *)g->mean + j, *rstd = (const T *)g->rstd + j;
      for (int64_t k = 0; k < w; k++) {
        scale[k] = g->weight ? rstd[k] * ((const T *)g->weight)[j + k] : rstd[k];
        shift[k] = g->bias ? ((const T *)g->bias)[j + k] : T(0);
      }
      for (int64_t i = g->first; i < g->last; i++) {
        const T *x = read_run((const M *)g->in + i * g->columns + j, w, from);
        write_run<T>((M *)g->out + i * g->columns + j, w, to,
                     [&](int64_t k) { return (x[k] - mean[k]) * scale[k] + shift[k]; });
      }
    });
  }
};

struct ColumnSums {
  template <class M>
  static void row(const columns_args *g) {
    using T = Wider<M>;
    double *plain = (double *)g->pieces + g->first / g->piece * 2 * g->columns;
    double *along = plain + g->columns;
    tiles(g->columns, [&](int64_t j, int64_t w) {
      alignas(64) T from[kTile], passed[kTile], sum[kTile], product[kTile];
      const T *mean = (const T *)g->mean + j;
      for (int64_t k = 0; k < w; k++) plain[j + k] = along[j + k] = 0;
      layers(g->first, g->last, [&](int64_t begin, int64_t end) {
        for (int64_t k = 0; k < w; k++) sum[k] = product[k] = 0;
        for (int64_t i = begin; i < end; i++) {
          const T *x = read_run((const M *)g->in + i * g->columns + j, w, from);
          const T *y = read_run((const M *)g->given + i * g->columns + j, w, passed);
#pragma GCC ivdep
          for (int64_t k = 0; k < w; k++) sum[k] += y[k], product[k] += y[k] * (x[k] - mean[k]);
        }
        for (int64_t k = 0; k < w; k++)
          plain[j + k] += (double)sum[k], along[j + k] += (double)product[k];
      });
    });
  }
};

// The sums of columns from those of the pieces.
struct ColumnTotals {
  template <class T>
  static void row(const columns_args *g) {
    for (int64_t k = 0; k < g->columns; k++) {
      double sums[2] = {0, 0};
      for (int64_t p = 0; p < g->count; p++)
        for (int q = 0; q < 2; q++)
          sums[q] += ((const double *)g->pieces)[(p * 2 + q) * g->columns + k];
      ((T *)g->sums[0])[k] = T(sums[0]);
      ((T *)g->sums[1])[k] = T(sums[1] * (double)((const T *)g->rstd)[k]);
    }
  }
};

struct ColumnGradient {
  template <class M>
  static void row(const columns_args *g) {
    using T = Wider<M>;
    tiles(g->columns, [&](int64_t j, int64_t w) {
      alignas(64) T from[kTile], passed[kTile], to[kTile], scale[kTile], shared[kTile],
          along[kTile];
      const T *mean = (const T *)g->mean + j, *rstd = (const T *)g->rstd + j;
      const T *sums = (const T *)g->sums[0] + j, *products = (const T *)g->sums[1] + j;
      for (int64_t k = 0; k < w; k++) {
        scale[k] = g->weight ? rstd[k] * ((const T *)g->weight)[j + k] : rstd[k];
        shared[k] = sums[k] / T(g->rows);
        along[k] = products[k] * rstd[k] / T(g->rows);
      }
      for (int64_t i = g->first; i < g->last; i++) {
        const T *x = read_run((const M *)g->in + i * g->columns + j, w, from);
        const T *y = read_run((const M *)g->given + i * g->columns + j, w, passed);
        M *out = (M *)g->out + i * g->columns + j;
        if (g->fixed)
          write_run<T>(out, w, to, [&](int64_t k) { return y[k] * scale[k]; });
        else
          write_run<T>(out, w, to, [&](int64_t k) {
            return (y[k] - shared[k] - (x[k] - mean[k]) * along[k]) * scale[k];
          });
      }
    });
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(normalize){
    {"normalize", "", LT_STORED_FLOATING(Normalize)},
    {"normalize_gradient", "", LT_STORED_FLOATING(NormalizeGradient)},
    {"column_moments", "", LT_STORED_FLOATING(ColumnMoments)},
    {"column_statistics", "", LT_FLOATING(ColumnStatistics)},
    {"column_normalize", "", LT_STORED_FLOATING(ColumnNormalize)},
    {"column_sums", "", LT_STORED_FLOATING(ColumnSums)},
    {"column_totals", "", LT_FLOATING(ColumnTotals)},
    {"column_gradient", "", LT_STORED_FLOATING(ColumnGradient)},
    LT_END,
};
