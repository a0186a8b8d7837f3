// Products of matrices in compressed rows. Compressed and plain indices are read once and checked
// when they are used, as another thread may write to them at any time. Sums are in the order of the
// entries, those of 16-bit floats in float32, those of long rows by blocks of entries.
#include "../cast.h"
#include "../gemm.h"
#include "../sort.h"

namespace lt {
namespace {

template <class T>
using Sum = __typeof__(load_value(T()));

// Bool is held as 0 or 1.
template <class T, class W>
LT_INLINE W times(W a, W b) {
  return (W)(a * b);
}
template <class T, class W>
LT_INLINE W plus(W a, W b) {
  if constexpr (kind_of<T> == kBool)
    return a | b;
  else
    return (W)(a + b);
}

enum { kCompressed = 1, kPlain = 2, kChanged = 3 };  // the kind of the invalid index

// A matrix in compressed rows; wide: int64 indices instead of int32.
struct csr_matrix {
  uintptr_t compressed, plain, values;
  int64_t entries, size, wide;  // size is the number of columns
};

template <class I>
struct Csr {
  const csr_matrix &m;
  LT_INLINE int64_t plain(int64_t e) const { return ((const volatile I *)m.plain)[e]; }
  // The entries of a row; whether there are such.
  LT_INLINE bool row(int64_t r, int64_t *begin, int64_t *end) const {
    *begin = ((const volatile I *)m.compressed)[r];
    *end = ((const volatile I *)m.compressed)[r + 1];
    return *begin >= 0 && *begin <= *end && *end <= m.entries;
  }
};

template <class G, class F>
LT_INLINE void by_indices(const G *g, F f) {
  if (g->a.wide && g->b.wide)
    f(int64_t(), int64_t());
  else if (g->a.wide)
    f(int64_t(), int32_t());
  else if (g->b.wide)
    f(int32_t(), int64_t());
  else
    f(int32_t(), int32_t());
}

// Rows begin to end of out = a * b for a dense b with a row stride of `step` elements. Without
// values those of a are 1. An invalid index is stored in bad, and its kind in failed.
struct spmm_args {
  csr_matrix a;
  uintptr_t b, out;
  int64_t step, columns, begin, end, failed, bad;
};

constexpr int64_t kAhead = 8;     // entries from which rows are fetched into the caches
constexpr int64_t kBlock = 4096;  // entries that are summed before the sum is added to the row's

// Columns `from` to from + w of one row; kWidth is w if that is known at compile time.
template <class T, class I, int kWidth>
LT_INLINE bool spmm_columns(spmm_args *g, int64_t begin, int64_t end, int64_t from, int64_t w,
                            T *out) {
  constexpr int64_t kMost = 256 / (int64_t)sizeof(Sum<T>);
  if constexpr (kWidth > 0) w = kWidth;
  const Csr<I> a{g->a};
  const T *values = (const T *)g->a.values;
  alignas(64) Sum<T> sum[kWidth > 0 ? kWidth : kMost], blocks[kWidth > 0 ? kWidth : kMost];
  for (int64_t j = 0; j < w; j++) sum[j] = blocks[j] = Sum<T>(0);
  for (int64_t e = begin, next = begin + kBlock; e < end; e++) {
    if (e == next) {
      for (int64_t j = 0; j < w; j++) blocks[j] = plus<T>(blocks[j], sum[j]), sum[j] = Sum<T>(0);
      next += kBlock;
    }
    const int64_t at = a.plain(e);
    if ((uint64_t)at >= (uint64_t)g->a.size) {
      g->bad = at;
      g->failed = kPlain;
      return false;
    }
    if (kWidth > 1 && e + kAhead < g->a.entries) {
      const uintptr_t next = g->b + (uintptr_t)(a.plain(e + kAhead) * g->step + from) * sizeof(T);
      for (int64_t k = 0; k < w * (int64_t)sizeof(T); k += 64)
        __builtin_prefetch((const char *)(next + (uintptr_t)k));
    }
    const T *row = (const T *)g->b + at * g->step + from;
    if (!values) {
      if (e == begin)
        for (int64_t j = 0; j < w; j++) sum[j] = load_value(row[j]);
      else
        for (int64_t j = 0; j < w; j++) sum[j] = plus<T>(sum[j], load_value(row[j]));
      continue;
    }
    const Sum<T> v = load_value(values[e]);
    for (int64_t j = 0; j < w; j++) sum[j] = plus<T>(sum[j], times<T>(v, load_value(row[j])));
  }
  const bool blocked = end - begin > kBlock;
  for (int64_t j = 0; j < w; j++)
    out[from + j] = convert<T>(blocked ? plus<T>(blocks[j], sum[j]) : sum[j]);
  return true;
}

// spmm_columns of real floats, in the same order, with the sums of kVectors vectors in registers.
template <class T, class I, int kVectors>
LT_INLINE bool spmm_vectors(spmm_args *g, int64_t begin, int64_t end, int64_t from, T *out) {
  constexpr int N = Vec<T>::N;
  const Csr<I> a{g->a};
  const T *const values = (const T *)g->a.values, *const b = (const T *)g->b + from;
  const int64_t step = g->step, size = g->a.size;
  Vec<T> sum[kVectors], blocks[kVectors];
  const auto each = [&](auto &&f) __attribute__((always_inline)) { unrolled<kVectors>(f); };
  // The sum of a row without values begins with its first entry, whose sign of zero -0 keeps.
  const Vec<T> zero(T(0)), start(values || begin == end ? T(0) : -T(0));
  each([&](int v) __attribute__((always_inline)) { sum[v] = start, blocks[v] = zero; });
  for (int64_t e = begin; e < end;) {
    const int64_t stop = end - e < kBlock ? end : e + kBlock;
    for (; e < stop; e++) {
      const int64_t at = a.plain(e);
      if ((uint64_t)at >= (uint64_t)size) {
        g->bad = at;
        g->failed = kPlain;
        return false;
      }
      if (e + kAhead < g->a.entries) {
        const uintptr_t next = (uintptr_t)b + (uintptr_t)(a.plain(e + kAhead) * step) * sizeof(T);
        for (size_t k = 0; k < kVectors * sizeof(Vec<T>); k += 64)
          __builtin_prefetch((const char *)(next + k));
      }
      const T *const row = b + at * step;
      if (values) {
        const Vec<T> x(values[e]);
        each([&](int v)
                 __attribute__((always_inline)) { sum[v] = sum[v] + x * load(row + v * N); });
      } else {
        each([&](int v) __attribute__((always_inline)) { sum[v] = sum[v] + load(row + v * N); });
      }
    }
    if (e == end) break;
    each([&](int v)
             __attribute__((always_inline)) { blocks[v] = blocks[v] + sum[v], sum[v] = zero; });
  }
  const bool blocked = end - begin > kBlock;
  each([&](int v) __attribute__((always_inline)) {
    store(out + from + v * N, blocked ? blocks[v] + sum[v] : sum[v]);
  });
  return true;
}

template <class T, class I>
void spmm(spmm_args *g) {
  constexpr int kWide = 256 / (int)sizeof(Sum<T>), kNarrow = kWide / 4;
  constexpr bool kVectors = __is_same(T, float) || __is_same(T, double);
  const auto columns = [g](auto width, int64_t begin, int64_t end, int64_t j, T *out) {
    constexpr int kWidth = decltype(width)::value;
    if constexpr (kVectors)
      return spmm_vectors<T, I, kWidth / Vec<T>::N>(g, begin, end, j, out);
    else
      return spmm_columns<T, I, kWidth>(g, begin, end, j, kWidth, out);
  };
  const Csr<I> a{g->a};
  T *out = (T *)g->out + g->begin * g->columns;
  for (int64_t r = g->begin; r < g->end; r++, out += g->columns) {
    int64_t begin, end, j = 0;
    if (!a.row(r, &begin, &end)) {
      g->failed = kCompressed;
      g->bad = r;
      return;
    }
    if (g->columns == 1) {
      if (!spmm_columns<T, I, 1>(g, begin, end, 0, 1, out)) return;
      continue;
    }
    for (; j + kWide <= g->columns; j += kWide)
      if (!columns(std::integral_constant<int, kWide>(), begin, end, j, out)) return;
    for (; j + kNarrow <= g->columns; j += kNarrow)
      if (!columns(std::integral_constant<int, kNarrow>(), begin, end, j, out)) return;
    if (j < g->columns && !spmm_columns<T, I, 0>(g, begin, end, j, g->columns - j, out)) return;
  }
}

struct Spmm {
  template <class T>
  static void row(spmm_args *g) {
    if (g->a.wide)
      spmm<T, int64_t>(g);
    else
      spmm<T, int32_t>(g);
  }
};

// The first entry of each row of a whose row of b has the largest element or a NaN in a column:
// columns `from` to from + w of one row, of which kMost or fewer are compared at a time.
template <class T, class I, int kMost>
LT_INLINE bool maxima_columns(spmm_args *g, int64_t begin, int64_t end, int64_t from, int64_t w,
                              I *out) {
  const Csr<I> a{g->a};
  alignas(64) Sum<T> best[kMost];
  alignas(64) I rows[kMost];
  for (int64_t j = 0; j < w; j++) rows[j] = 0;
  for (int64_t e = begin; e < end; e++) {
    const int64_t at = a.plain(e);
    if ((uint64_t)at >= (uint64_t)g->a.size) {
      g->bad = at;
      g->failed = kPlain;
      return false;
    }
    if (e + kAhead < g->a.entries) {
      const uintptr_t next = g->b + (uintptr_t)(a.plain(e + kAhead) * g->step + from) * sizeof(T);
      for (int64_t k = 0; k < w * (int64_t)sizeof(T); k += 64)
        __builtin_prefetch((const char *)(next + (uintptr_t)k));
    }
    const T *row = (const T *)g->b + at * g->step + from;
    if (e == begin) {
      for (int64_t j = 0; j < w; j++) best[j] = load_value(row[j]), rows[j] = (I)at;
      continue;
    }
    for (int64_t j = 0; j < w; j++) {
      const Sum<T> x = load_value(row[j]), most = best[j];
      const bool greater = !(x <= most) & (most == most);
      best[j] = greater ? x : most;
      rows[j] = greater ? (I)at : rows[j];
    }
  }
  for (int64_t j = 0; j < w; j++) out[from + j] = rows[j];
  return true;
}

// For rows begin to end of a and each column of b, the row of b that maxima_columns finds, in the
// type of the indices; 0 for a row without entries.
struct SpmmMaxima {
  template <class T>
  static void row(spmm_args *g) {
    if (g->a.wide)
      rows<T, int64_t>(g);
    else
      rows<T, int32_t>(g);
  }

 private:
  template <class T, class I>
  static void rows(spmm_args *g) {
    constexpr int64_t kMost = 64;
    const Csr<I> a{g->a};
    I *out = (I *)g->out + g->begin * g->columns;
    for (int64_t r = g->begin; r < g->end; r++, out += g->columns) {
      int64_t begin, end, j = 0;
      if (!a.row(r, &begin, &end)) {
        g->failed = kCompressed;
        g->bad = r;
        return;
      }
      for (; j + kMost <= g->columns; j += kMost)
        if (!maxima_columns<T, I, kMost>(g, begin, end, j, kMost, out)) return;
      if (j < g->columns && !maxima_columns<T, I, kMost>(g, begin, end, j, g->columns - j, out))
        return;
    }
  }
};

// Entries of a * b at the positions of a sparse matrix, with the results as its values: element e
// is the dot product of row r of a, the row of e, and of row c of b, its column. Row strides are
// `a_step` and `b_step` elements.
struct sddmm_args {
  csr_matrix at;
  uintptr_t a, b;
  int64_t a_step, b_step, inner, rows, begin, end, failed, bad;
};

// Lanes and the remaining elements, in an order that depends only on the number of elements.
template <class T>
LT_INLINE T dot_of(const T *x, const T *y, int64_t n) {
  constexpr int kLanes = 128 / (int)sizeof(Sum<T>);
  alignas(64) Sum<T> lane[kLanes];
  for (int j = 0; j < kLanes; j++) lane[j] = Sum<T>(0);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int j = 0; j < kLanes; j++)
      lane[j] = plus<T>(lane[j], times<T>(load_value(x[i + j]), load_value(y[i + j])));
  for (int h = kLanes / 2; h > 0; h /= 2)
    for (int j = 0; j < h; j++) lane[j] = plus<T>(lane[j], lane[j + h]);
  for (; i < n; i++) lane[0] = plus<T>(lane[0], times<T>(load_value(x[i]), load_value(y[i])));
  return convert<T>(lane[0]);
}

template <class T, class I>
void sddmm(sddmm_args *g) {
  const Csr<I> at{g->at};
  T *out = (T *)g->at.values;
  for (int64_t r = g->begin; r < g->end; r++) {
    int64_t begin, end;
    if (!at.row(r, &begin, &end) || (r == 0 && begin != 0) ||
        (r == g->rows - 1 && end != g->at.entries)) {
      g->failed = kCompressed;
      g->bad = r;
      return;
    }
    const T *x = (const T *)g->a + r * g->a_step;
    for (int64_t e = begin; e < end; e++) {
      const int64_t column = at.plain(e);
      if ((uint64_t)column >= (uint64_t)g->at.size) {
        g->failed = kPlain;
        g->bad = column;
        return;
      }
      if (e + kAhead < g->at.entries) {
        const uintptr_t next = g->b + (uintptr_t)(at.plain(e + kAhead) * g->b_step) * sizeof(T);
        for (int64_t k = 0; k < g->inner * (int64_t)sizeof(T) && k < 512; k += 64)
          __builtin_prefetch((const char *)(next + (uintptr_t)k));
      }
      out[e] = dot_of(x, (const T *)g->b + column * g->b_step, g->inner);
    }
  }
}

struct Sddmm {
  template <class T>
  static void row(sddmm_args *g) {
    if (g->at.wide)
      sddmm<T, int64_t>(g);
    else
      sddmm<T, int32_t>(g);
  }
};

// The sum of two matrices with as many rows: starts has where each row of the result begins.
// spadd_counts writes how many entries each has to the place behind its own; spadd, columns and
// values.
struct spadd_args {
  csr_matrix a, b;
  uintptr_t starts, columns, values;
  int64_t begin, end, failed, bad;
};

// f(column, i, j) for each column of a row that a or b has an entry in, in order: i is that of a, j
// that of b, or -1.
template <class I, class J, class F>
LT_INLINE bool spadd_row(spadd_args *g, int64_t r, F f) {
  const Csr<I> a{g->a};
  const Csr<J> b{g->b};
  int64_t i, i_end, j, j_end, last = -1;
  if (!a.row(r, &i, &i_end) || !b.row(r, &j, &j_end)) {
    g->bad = r;
    g->failed = kCompressed;
    return false;
  }
  while (i < i_end || j < j_end) {
    const int64_t x = i < i_end ? a.plain(i) : INT64_MAX, y = j < j_end ? b.plain(j) : INT64_MAX;
    const int64_t column = x < y ? x : y;
    if (column <= last || column >= g->a.size) {
      g->bad = column;
      g->failed = kPlain;
      return false;
    }
    last = column;
    f(column, x == column ? i : -1, y == column ? j : -1);
    i += x == column;
    j += y == column;
  }
  return true;
}

void spadd_counts(spadd_args *g) {
  int64_t *counts = (int64_t *)g->starts + 1;
  by_indices(g, [g, counts](auto i, auto j) {
    for (int64_t r = g->begin; r < g->end; r++) {
      int64_t count = 0;
      if (!spadd_row<decltype(i), decltype(j)>(g, r, [&](int64_t, int64_t, int64_t) { count++; }))
        return;
      counts[r] = count;
    }
  });
}

struct Spadd {
  template <class T, class I, class J>
  static void rows(spadd_args *g) {
    const T *x = (const T *)g->a.values, *y = (const T *)g->b.values;
    const int64_t *starts = (const int64_t *)g->starts;
    for (int64_t r = g->begin; r < g->end; r++) {
      int64_t left = starts[r + 1] - starts[r];
      int64_t *columns = (int64_t *)g->columns + starts[r];
      T *values = (T *)g->values + starts[r];
      const bool right = spadd_row<I, J>(g, r, [&](int64_t column, int64_t i, int64_t j) {
        if (--left < 0) return;
        *columns++ = column;
        *values++ = i >= 0 && j >= 0 ? convert<T>(plus<T>(load_value(x[i]), load_value(y[j])))
                                     : *(i >= 0 ? x + i : y + j);
      });
      if (!right) return;
      if (left != 0) {
        g->failed = kChanged;
        return;
      }
    }
  }
  template <class T>
  static void row(spadd_args *g) {
    by_indices(g, [g](auto i, auto j) { rows<T, decltype(i), decltype(j)>(g); });
  }
};

// Gustavson's product of two matrices in compressed rows (F. G. Gustavson, Two Fast Algorithms for
// Sparse Matrices, 1978): row r of the result adds up rows of b. `bounds` has the largest possible
// number of result entries for each row of a, which spgemm_bounds writes. spgemm writes the actual
// numbers to counts, and the columns, in order, and values contiguously. A row is accumulated in a
// table. If `log` is 0, the table has a sum for every column; `set` has a bit for each column in
// use, and `sets` one for each nonzero word of `set`. Otherwise it is a hash table with 2^log
// entries, whose keys are -1 if unused, and `sorted` has space for two entries of each result of
// the longest row. The caller clears the tables.
struct spgemm_args {
  csr_matrix a, b;
  uintptr_t bounds, counts, columns, values, sums, set, sets, keys, sorted;
  int64_t log, begin, end, found, failed, bad;
};

// The entries of row `at` of b.
template <class J>
LT_INLINE bool spgemm_row(spgemm_args *g, int64_t at, int64_t *begin, int64_t *end) {
  if ((uint64_t)at >= (uint64_t)g->a.size) {
    g->bad = at;
    g->failed = kPlain;
    return false;
  }
  if (!Csr<J>{g->b}.row(at, begin, end)) {
    g->bad = at;
    g->failed = kCompressed;
    return false;
  }
  return true;
}

template <class I, class J>
void spgemm_bounds_of(spgemm_args *g) {
  const Csr<I> a{g->a};
  int64_t *bounds = (int64_t *)g->bounds;
  for (int64_t r = g->begin; r < g->end; r++) {
    int64_t begin, end, most = 0;
    if (!a.row(r, &begin, &end)) {
      g->bad = r;
      g->failed = kCompressed;
      return;
    }
    for (int64_t e = begin; e < end; e++) {
      int64_t from, to;
      if (!spgemm_row<J>(g, a.plain(e), &from, &to)) return;
      most += to - from;
      if (most > g->b.size) most = g->b.size;
    }
    bounds[r] = most;
  }
}

void spgemm_bounds(spgemm_args *g) {
  by_indices(g, [g](auto i, auto j) { spgemm_bounds_of<decltype(i), decltype(j)>(g); });
}

// Sums for every column.
template <class T>
struct ByColumn {
  Sum<T> *sums;
  uint64_t *set, *sets;
  int64_t found = 0, most, words;

  LT_INLINE ByColumn(const spgemm_args *g, int64_t bound)
      : sums((Sum<T> *)g->sums),
        set((uint64_t *)g->set),
        sets((uint64_t *)g->sets),
        most(bound),
        words((g->b.size + 4095) / 4096) {}
  LT_INLINE bool add(int64_t column, Sum<T> product) {
    uint64_t &word = set[column >> 6];
    const uint64_t bit = uint64_t(1) << (column & 63);
    if (word & bit) {
      sums[column] = plus<T>(sums[column], product);
      return true;
    }
    if (!word) sets[column >> 12] |= uint64_t(1) << ((column >> 6) & 63);
    word |= bit;
    sums[column] = product;
    return ++found <= most;
  }
  template <class F>
  LT_INLINE void each(F f) {
    for (int64_t i = 0; i < words; i++) {
      for (uint64_t some = sets[i]; some; some &= some - 1) {
        const int64_t at = 64 * i + __builtin_ctzll(some);
        for (uint64_t word = set[at]; word; word &= word - 1) {
          const int64_t column = 64 * at + __builtin_ctzll(word);
          f(column, sums[column]);
        }
        set[at] = 0;
      }
      sets[i] = 0;
    }
  }
};

// Sums for the columns that are there, looked up by a hash.
template <class T>
struct ByHash {
  Sum<T> *sums;
  int64_t *keys;
  Entry<uint64_t> *sorted;
  int64_t found = 0, most;
  int log;

  LT_INLINE ByHash(const spgemm_args *g, int64_t bound)
      : sums((Sum<T> *)g->sums),
        keys((int64_t *)g->keys),
        sorted((Entry<uint64_t> *)g->sorted),
        most(bound),
        log(1) {
    while (most > int64_t(1) << (log - 1)) log++;
  }
  LT_INLINE bool add(int64_t column, Sum<T> product) {
    uint64_t slot = ((uint64_t)column * 0x9E3779B97F4A7C15u) >> (64 - log);
    while (keys[slot] >= 0 && keys[slot] != column) slot = (slot + 1) & ((uint64_t(1) << log) - 1);
    if (keys[slot] >= 0) {
      sums[slot] = plus<T>(sums[slot], product);
      return true;
    }
    if (found == most) return false;
    keys[slot] = column;
    sums[slot] = product;
    sorted[found++] = {(uint64_t)column, (uint32_t)slot};
    return true;
  }
  template <class F>
  LT_INLINE void each(F f) {
    const auto *e = sorted_keys(sorted, sorted + most, found);
    for (int64_t i = 0; i < found; i++) {
      const uint32_t slot = e[i].index;
      f((int64_t)e[i].key, sums[slot]);
      keys[slot] = -1;
    }
  }
};

// Adds up row r in a table; whether all indices were right.
template <class T, class I, class J, class Table>
LT_INLINE bool spgemm_sums(spgemm_args *g, int64_t r, Table &table) {
  const Csr<I> a{g->a};
  const Csr<J> b{g->b};
  const T *x = (const T *)g->a.values, *y = (const T *)g->b.values;
  int64_t begin, end;
  if (!a.row(r, &begin, &end)) {
    g->bad = r;
    g->failed = kCompressed;
    return false;
  }
  for (int64_t e = begin; e < end; e++) {
    int64_t from, to;
    if (!spgemm_row<J>(g, a.plain(e), &from, &to)) return false;
    if (e + kAhead < g->a.entries) {
      const int64_t next = a.plain(e + kAhead);
      if ((uint64_t)next < (uint64_t)g->a.size) {
        const uintptr_t at = (uintptr_t)((const volatile J *)g->b.compressed)[next];
        __builtin_prefetch((const char *)(g->b.plain + at * sizeof(J)));
        __builtin_prefetch((const char *)(g->b.values + at * sizeof(T)));
      }
    }
    const Sum<T> v = load_value(x[e]);
    for (int64_t f = from; f < to; f++) {
      const int64_t column = b.plain(f);
      if ((uint64_t)column >= (uint64_t)g->b.size) {
        g->bad = column;
        g->failed = kPlain;
        return false;
      }
      if (!table.add(column, times<T>(v, load_value(y[f])))) {
        g->failed = kChanged;
        return false;
      }
    }
  }
  return true;
}

template <class T, class I, class J, class Table>
void spgemm_rows(spgemm_args *g) {
  const int64_t *bounds = (const int64_t *)g->bounds;
  int64_t *counts = (int64_t *)g->counts, *columns = (int64_t *)g->columns;
  T *values = (T *)g->values;
  for (int64_t r = g->begin; r < g->end; r++) {
    Table table(g, bounds[r]);
    if (!spgemm_sums<T, I, J>(g, r, table)) return;
    table.each([&](int64_t column, Sum<T> sum) {
      *columns++ = column;
      *values++ = convert<T>(sum);
    });
    counts[r] = table.found;
    g->found += table.found;
  }
}

struct Spgemm {
  template <class T>
  static void row(spgemm_args *g) {
    by_indices(g, [g](auto i, auto j) {
      if (g->log)
        spgemm_rows<T, decltype(i), decltype(j), ByHash<T>>(g);
      else
        spgemm_rows<T, decltype(i), decltype(j), ByColumn<T>>(g);
    });
  }
};

}  // namespace
}  // namespace lt

// clang-format off
#define LT_STORED_ALL(OP) {LT_ROW(OP, lt::Bool), LT_MODULAR(OP), LT_STORED_FLOATS(OP), LT_ROW(OP, lt::Complex64), \
                           LT_ROW(OP, lt::Complex128), LT_ROW(OP, lt::Complex32), LT_ROW(OP, lt::BComplex32)}
// clang-format on

LT_UNIT(sparse_product){
    {"spmm", "", LT_STORED_ALL(Spmm)},
    {"spmm_maxima", "", LT_STORED_FLOATING(SpmmMaxima)},
    {"spadd", "", LT_STORED_ALL(Spadd)},
    LT_SINGLE("spadd_counts", lt::spadd_counts),
    {"sddmm", "", LT_STORED_ALL(Sddmm)},
    {"spgemm", "", LT_STORED_ALL(Spgemm)},
    LT_SINGLE("spgemm_bounds", lt::spgemm_bounds),
    LT_END,
};
