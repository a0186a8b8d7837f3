// Normalization: elements less their mean, divided by their standard deviation, times a weight and
// plus a bias; and its gradient.
#include "../rows.h"
#include "../runs.h"

namespace lt {
namespace {

// The elements that are normalized together are a unit: `strips` strips, with stride strip_step in
// elements, each of `runs` runs of `span` adjacent elements. A run has one weight; unit u has those
// from u % groups * runs on. Parameters, statistics and sums have the compute dtype. sums[0] are
// the gradients of biases, sums[1] those of weights: one for each run of each unit or, if spans are
// 1, one for each weight, summed over the units.
struct normalize_args {
  uintptr_t in, out, given, weight, bias, mean, rstd, variance, sums[2];
  int64_t first, units, strips, runs, span, unit_step, strip_step, groups;
  double eps;
  int32_t centred;  // the mean is taken off, and the deviation is that from it
  int32_t fixed;    // mean and rstd are inputs, one for each group of one run
  int32_t rounded;  // mean and rstd have no more digits than the elements
};

// The distance of the next block of k elements, to prefetch, if the elements themselves are read in
// place.
template <class M, class Args>
LT_INLINE int64_t ahead(const Args *g, int64_t k) {
  return __is_same(Wider<M>, M) && g->strips == 1 ? k : 0;
}

// Number, mean and sum of squared deviations of elements, accumulated block by block.
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

// Writes the statistics of unit i, whose elements are of M. Rounded, they are those of PyTorch:
// sums of squares of bfloat16 are rounded, too.
template <class M, class Args>
LT_INLINE void write_statistics(const Args *g, int64_t i, const Moments &m) {
  using T = Wider<M>;
  const auto kept = [=](double v) { return g->rounded ? load_value(convert<M>(T(v))) : T(v); };
  const double variance = m.squares / m.n;
  double used = variance;
  if (__is_same(M, BFloat16) && g->rounded) used = (double)kept((double)kept(m.squares) / m.n);
  ((T *)g->mean)[i] = kept(m.mean);
  ((T *)g->rstd)[i] = kept(1 / ::sqrt(used + g->eps));
  ((T *)g->variance)[i] = T(variance);
}

// Calls f(at, k, i) for every block of adjacent elements of n, which begin at `begin`.
template <class F>
LT_INLINE void blocks(int64_t begin, int64_t n, F f) {
  for (int64_t i = 0; i < n; i += kRun) f(begin + i, n - i < kRun ? n - i : kRun, i);
}

// Calls f(at, k, i) for every block of unit u that has elements of one run or, if spans are 1,
// those of the runs from i on: then r is 0, and otherwise the run.
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
        write_statistics<M>(g, u, m);
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
          for (int64_t j = 0; j < k; j++) biases[j] += y[j];
#pragma GCC ivdep
          for (int64_t j = 0; j < k; j++) weights[j] += y[j] * ((x[j] - mean) * rstd);
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

// The same for matrices of `rows` rows of `columns` adjacent elements, with units of `runs`
// adjacent columns each. Rows are split into blocks of `piece` rows, `count` for each matrix, and a
// block has two float64 numbers for every column, in `pieces`: for the moments the means and sums
// of squared deviations, for the gradient its two sums. From `first` to `last` are blocks of all
// matrices, or units of each.
struct columns_args {
  uintptr_t in, out, given, weight, bias, mean, rstd, variance, sums[2], pieces;
  int64_t first, last, matrices, rows, columns, runs, piece, count;
  double eps;
  int32_t fixed, rounded;
};

// Columns and rows that stay in the nearest cache, and columns of which every number is used once.
constexpr int64_t kTile = 256, kDeep = 16, kWide = 1024;

// Calls f(matrix, begin, end, numbers) for every piece in hand: its rows, and its numbers.
template <class F>
LT_INLINE void pieces_of(const columns_args *g, F f) {
  for (int64_t q = g->first; q < g->last; q++) {
    const int64_t matrix = q / g->count, begin = q % g->count * g->piece;
    const int64_t end = g->rows - begin < g->piece ? g->rows : begin + g->piece;
    f(matrix, matrix * g->rows + begin, matrix * g->rows + end,
      (double *)g->pieces + q * 2 * g->columns);
  }
}

// Calls f(j, w) for tiles of at most `most` columns from `first` to `last`: w of them from j on.
template <class F>
LT_INLINE void tiles(int64_t first, int64_t last, int64_t most, F f) {
  for (int64_t j = first; j < last; j += most) f(j, last - j < most ? last - j : most);
}

// Calls f(i, end) for rows that stay in the cache.
template <class F>
LT_INLINE void layers(int64_t first, int64_t last, F f) {
  for (int64_t i = first; i < last; i += kDeep) f(i, last - i < kDeep ? last : i + kDeep);
}

// The statistics of w columns of a matrix from j on, of which every unit has one.
template <class T>
LT_INLINE void spread(const columns_args *g, uintptr_t from, int64_t matrix, int64_t j, int64_t w,
                      T *to) {
  const T *own = (const T *)from + matrix * (g->columns / g->runs);
  for (int64_t k = 0; k < w; k++) to[k] = own[(j + k) / g->runs];
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
    pieces_of(g, [&](int64_t, int64_t first, int64_t last, double *means) {
      double *squares = means + g->columns;
      tiles(0, g->columns, kTile, [&](int64_t j, int64_t w) {
        alignas(64) T buffer[kTile], sum[kTile], mean[kTile], deviations[kTile];
        alignas(64) double wide[2][kTile];
        for (int64_t k = 0; k < w; k++) means[j + k] = squares[j + k] = 0;
        layers(first, last, [&](int64_t begin, int64_t end) {
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
            // Parts of rows may be pages apart, which the hardware does not prefetch.
            const M *next = in + (i + kDeep) * g->columns;
            for (int64_t k = 0; k < w; k += 64 / (int64_t)sizeof(M)) soon(next + k);
            const T *x = read_run(in + i * g->columns, w, buffer);
#pragma GCC ivdep
            for (int64_t k = 0; k < w; k++) deviations[k] += (x[k] - mean[k]) * (x[k] - mean[k]);
          }
          for (int64_t k = 0; k < w; k++)
            wide[0][k] = (double)sum[k] / (double)n, wide[1][k] = (double)deviations[k];
          join_columns(w, (double)(begin - first), (double)n, wide[0], wide[1], means + j,
                       squares + j);
        });
      });
    });
  }
};

// The statistics of units from those of the blocks and columns.
struct ColumnStatistics {
  template <class M>
  static void row(const columns_args *g) {
    const int64_t begin = g->first * g->runs, w = (g->last - g->first) * g->runs;
    for (int64_t i = 0; i < g->matrices; i++) {
      double *mean = (double *)g->pieces + i * g->count * 2 * g->columns + begin;
      double *squares = mean + g->columns;
      for (int64_t p = 1; p < g->count; p++) {
        const double *of = mean + p * 2 * g->columns;
        const int64_t before = p * g->piece, left = g->rows - before;
        join_columns(w, (double)before, (double)(left < g->piece ? left : g->piece), of,
                     of + g->columns, mean, squares);
      }
      for (int64_t u = g->first; u < g->last; u++, mean += g->runs, squares += g->runs) {
        Moments m = {(double)g->rows, mean[0], squares[0]};
        for (int64_t k = 1; k < g->runs; k++) m.join((double)g->rows, mean[k], squares[k]);
        write_statistics<M>(g, i * (g->columns / g->runs) + u, m);
      }
    }
  }
};

struct ColumnNormalize {
  template <class M>
  static void row(const columns_args *g) {
    using T = Wider<M>;
    pieces_of(g, [&](int64_t matrix, int64_t first, int64_t last, double *) {
      tiles(0, g->columns, kWide, [&](int64_t j, int64_t w) {
        alignas(64) T from[kWide], to[kWide], mean[kWide], scale[kWide], shift[kWide];
        spread(g, g->mean, matrix, j, w, mean);
        spread(g, g->rstd, matrix, j, w, scale);
        for (int64_t k = 0; k < w; k++) {
          if (g->weight) scale[k] *= ((const T *)g->weight)[j + k];
          shift[k] = g->bias ? ((const T *)g->bias)[j + k] : T(0);
        }
        for (int64_t i = first; i < last; i++) {
          const T *x = read_run((const M *)g->in + i * g->columns + j, w, from);
          write_run<T>((M *)g->out + i * g->columns + j, w, to,
                       [&](int64_t k) { return (x[k] - mean[k]) * scale[k] + shift[k]; });
        }
      });
    });
  }
};

// Sums of the gradients that are given, and of these times deviations.
struct ColumnSums {
  template <class M>
  static void row(const columns_args *g) {
    using T = Wider<M>;
    pieces_of(g, [&](int64_t matrix, int64_t first, int64_t last, double *plain) {
      double *along = plain + g->columns;
      tiles(0, g->columns, kTile, [&](int64_t j, int64_t w) {
        alignas(64) T from[kTile], passed[kTile], mean[kTile], sum[kTile], product[kTile];
        spread(g, g->mean, matrix, j, w, mean);
        for (int64_t k = 0; k < w; k++) plain[j + k] = along[j + k] = 0;
        layers(first, last, [&](int64_t begin, int64_t end) {
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
    });
  }
};

// Computes from the sums of blocks: the gradients of parameters and, in the first block of each
// matrix, the offset to subtract from gradients and the factor of elements.
struct ColumnTotals {
  template <class T>
  static void row(const columns_args *g) {
    const int64_t begin = g->first * g->runs, end = g->last * g->runs;
    const auto numbers = [&](int64_t matrix) {
      return (double *)g->pieces + matrix * g->count * 2 * g->columns;
    };
    for (int64_t i = 0; i < g->matrices; i++)
      for (int64_t p = 1; p < g->count; p++)
        for (int q = 0; q < 2; q++) {
          double *to = numbers(i) + q * g->columns;
          const double *of = to + p * 2 * g->columns;
#pragma GCC ivdep
          for (int64_t k = begin; k < end; k++) to[k] += of[k];
        }
    if (g->sums[0])
      tiles(begin, end, kTile, [&](int64_t j, int64_t w) {
        alignas(64) T rstd[kTile];
        double sums[2][kTile] = {};
        for (int64_t i = 0; i < g->matrices; i++) {
          const double *plain = numbers(i) + j, *along = plain + g->columns;
          spread(g, g->rstd, i, j, w, rstd);
          for (int64_t k = 0; k < w; k++)
            sums[0][k] += plain[k], sums[1][k] += along[k] * (double)rstd[k];
        }
        for (int q = 0; q < 2; q++)
          for (int64_t k = 0; k < w; k++) ((T *)g->sums[q])[j + k] = T(sums[q][k]);
      });
    for (int64_t i = 0; i < g->matrices; i++)
      for (int64_t u = g->first; u < g->last; u++) {
        double *plain = numbers(i) + u * g->runs, *along = plain + g->columns, sums[2] = {0, 0};
        const T *w = g->weight ? (const T *)g->weight + u * g->runs : nullptr;
        for (int64_t k = 0; k < g->runs; k++) {
          const double weight = w ? (double)w[k] : 1;
          sums[0] += plain[k] * weight, sums[1] += along[k] * weight;
        }
        const double n = (double)g->rows * (double)g->runs;
        const double rstd = (double)((const T *)g->rstd)[i * (g->columns / g->runs) + u];
        for (int64_t k = 0; k < g->runs; k++)
          plain[k] = sums[0] / n, along[k] = sums[1] * rstd * rstd / n;
      }
  }
};

struct ColumnGradient {
  template <class M>
  static void row(const columns_args *g) {
    using T = Wider<M>;
    pieces_of(g, [&](int64_t matrix, int64_t first, int64_t last, double *) {
      const double *numbers = (const double *)g->pieces + matrix * g->count * 2 * g->columns;
      tiles(0, g->columns, kWide, [&](int64_t j, int64_t w) {
        alignas(64) T from[kWide], passed[kWide], to[kWide], mean[kWide], rstd[kWide], scale[kWide],
            shared[kWide], along[kWide];
        spread(g, g->mean, matrix, j, w, mean);
        spread(g, g->rstd, matrix, j, w, rstd);
        for (int64_t k = 0; k < w; k++) {
          scale[k] = g->weight ? ((const T *)g->weight)[j + k] * rstd[k] : rstd[k];
          shared[k] = T(numbers[j + k]) * rstd[k];
          along[k] = T(numbers[g->columns + j + k]) * rstd[k];
        }
        for (int64_t i = first; i < last; i++) {
          const T *x = read_run((const M *)g->in + i * g->columns + j, w, from);
          const T *y = read_run((const M *)g->given + i * g->columns + j, w, passed);
          M *out = (M *)g->out + i * g->columns + j;
          if (g->fixed)
            write_run<T>(out, w, to, [&](int64_t k) { return y[k] * scale[k]; });
          else
            write_run<T>(out, w, to, [&](int64_t k) {
              return y[k] * scale[k] - shared[k] - (x[k] - mean[k]) * along[k];
            });
        }
      });
    });
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(normalize){
    {"normalize", "", LT_STORED_FLOATING(Normalize)},
    {"normalize_gradient", "", LT_STORED_FLOATING(NormalizeGradient)},
    {"column_moments", "", LT_STORED_FLOATING(ColumnMoments)},
    {"column_statistics", "", LT_STORED_FLOATING(ColumnStatistics)},
    {"column_normalize", "", LT_STORED_FLOATING(ColumnNormalize)},
    {"column_sums", "", LT_STORED_FLOATING(ColumnSums)},
    {"column_totals", "", LT_FLOATING(ColumnTotals)},
    {"column_gradient", "", LT_STORED_FLOATING(ColumnGradient)},
    LT_END,
};
