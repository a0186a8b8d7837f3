// Resampling of images: each row is a weighted sum of rows of the source, and the elements of a row
// of elements of those.
#ifndef LIBTENSOR_KERNEL_SRC_RESAMPLING_H
#define LIBTENSOR_KERNEL_SRC_RESAMPLING_H

#include "../resampling.h"
#include "cast.h"
#include "windows.h"

namespace lt {
namespace {

// The elements at N indices, all of which are at most `back` below the first and at most the last.
template <class S>
LT_INLINE Vec<S> at_places(const S *from, const int32_t *index, int64_t size, int64_t back) {
  constexpr int N = Vec<S>::N;
  const int64_t first = index[0] > back ? index[0] - back : 0, span = index[N - 1] + back - first;
  if (span < 2 * N && first + 2 * N <= size) {
    Raw<IntOf<S>> places;
    if constexpr (sizeof(S) == sizeof(int32_t))
      places = (load(index) - Vec<int32_t>(int32_t(first))).v;
    else
      for (int l = 0; l < N; l++) places[l] = IntOf<S>(index[l] - first);
    const Raw<S> low = load(from + first).v;
    if (span < N) return __builtin_shuffle(low, places);
    return __builtin_shuffle(low, load(from + first + N).v, places);
  }
  return gather(from, index);
}

// Rows are read and written by functions where their dtype is not the one that is computed in, so
// that all share the rest.
template <class S>
struct Resampling {
  using Read = void (*)(const void *from, int64_t at, int64_t n, S *to);
  using Write = void (*)(void *to, int64_t at, int64_t n, const S *from);

  struct Slot {
    int64_t row;
    S *elements;
  };
  lt_resampling *p;
  Read read;
  Write write;
  const S **rows;  // source rows of a row, and their weights
  S *weights;
  Slot *slots;
  S *raw, *sum, *made;
  // Elements of rows of the source, of those that are made, and of those that are added up.
  int64_t from_row, to_row, kept;

  static void run(lt_resampling *p, Read read, Write write) {
    const lt_index_weights *a = p->axes;
    Resampling r{p, read, write, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 0, 0, 0};
    r.from_row = a[2].size * p->lanes, r.to_row = a[2].outputs * p->lanes;
    r.kept = p->along_first ? r.to_row : r.from_row;
    const int64_t neighbors = a[0].most * a[1].most, held = p->along_first || read ? neighbors : 0;
    char *room = (char *)p->room;
    const auto take = [&](int64_t n, int64_t size) {
      char *at = room;
      room += (n * size + 63) / 64 * 64;
      return at;
    };
    r.rows = (const S **)take(neighbors, sizeof(S *));
    r.weights = (S *)take(neighbors, sizeof(S));
    r.slots = (Slot *)take(held, sizeof(Slot));
    r.raw = (S *)take(r.from_row, sizeof(S));
    r.sum = (S *)take(r.kept, sizeof(S));
    r.made = (S *)take(r.to_row, sizeof(S));
    S *elements = (S *)take(held * r.kept, sizeof(S));
    if (p->room == 0) {
      p->bytes = room - (char *)p->room;
      return;
    }
    for (int64_t i = 0; i < held; i++) r.slots[i] = {-1, elements + i * r.kept};
    for (int64_t u = p->begin; u < p->end; u++) r.row(u);
  }

  void row(int64_t u) {
    const lt_index_weights &z = p->axes[0], &y = p->axes[1];
    const int64_t j = u % y.outputs, k = u / y.outputs % z.outputs,
                  plane = u / y.outputs / z.outputs;
    S *to = write ? made : (S *)p->to + u * to_row;
    S *all = p->along_first ? to : sum;
    const S *one = nullptr;
    if (!z.weights && !y.weights) {
      one = fetch(plane, k, 0, j, 0);
      if (p->along_first) memcpy((void *)to, (const void *)one, size_t(to_row) * sizeof(S));
    } else {
      int64_t n = 0;
      const int64_t depth = count(z, k), height = count(y, j);
      for (int64_t b = 0; b < depth; b++)
        for (int64_t a = 0; a < height; a++, n++) {
          rows[n] = fetch(plane, k, b, j, a);
          weights[n] = S(weight(z, k, b) * weight(y, j, a));
        }
      across(n, all);
      if (y.unit != 0) round(all, kept, S(y.unit));
      one = all;
    }
    if (!p->along_first) along(one, to);
    if (write) write((void *)p->to, u * to_row, to_row, to);
  }

  static LT_INLINE int64_t count(const lt_index_weights &a, int64_t i) {
    return a.counts ? ((const int32_t *)a.counts)[i] : a.most;
  }
  static LT_INLINE S weight(const lt_index_weights &a, int64_t i, int64_t t) {
    return a.weights ? ((const S *)a.weights)[t * a.outputs + i] : S(1);
  }
  static LT_INLINE int64_t source(const lt_index_weights &a, int64_t i, int64_t t) {
    return ((const int32_t *)a.index)[t * a.outputs + i];
  }

  // A row of the source with neighbors of output (k, j). Adjacent rows are buffered together.
  const S *fetch(int64_t plane, int64_t k, int64_t b, int64_t j, int64_t a) {
    const lt_index_weights &z = p->axes[0], &y = p->axes[1];
    const int64_t iz = source(z, k, b), iy = source(y, j, a);
    const int64_t row = (plane * z.size + iz) * y.size + iy;
    if (!p->along_first && !read) return (const S *)p->from + row * from_row;
    Slot &slot = slots[iz % z.most * y.most + iy % y.most];
    if (slot.row == row) return slot.elements;
    slot.row = row;
    if (!p->along_first) {
      read((const void *)p->from, row * from_row, from_row, slot.elements);
      return slot.elements;
    }
    const S *from = (const S *)p->from + row * from_row;
    if (read) read((const void *)p->from, row * from_row, from_row, raw), from = raw;
    along(from, slot.elements);
    return slot.elements;
  }

  // The sum of n rows.
  void across(int64_t n, S *to) const {
    in_lanes<S>(kept, [&](auto whole, int64_t i, int lanes) {
      constexpr bool kWhole = whole.value;
      Vec<S> total(S(0));
      for (int64_t t = 0; t < n; t++)
        total = total + load_lanes<kWhole>(rows[t] + i, 1, lanes) * Vec<S>(weights[t]);
      store_lanes<kWhole>(to + i, total, lanes);
    });
  }

  // A row of elements from a row of the source.
  void along(const S *from, S *to) const {
    const lt_index_weights &x = p->axes[2];
    const int32_t *index = (const int32_t *)x.index;
    const int64_t n = x.outputs, lanes = p->lanes;
    if (lanes == 1 && x.weights)
      side_by_side(from, to);
    else if (lanes == 1)
      for (int64_t i = 0; i < n; i++) to[i] = from[index[i]];
    else
      for (int64_t i = 0; i < n; i++) channels(from, i, to + i * lanes);
    if (x.unit != 0) round(to, to_row, S(x.unit));
  }

  LT_INLINE void side_by_side(const S *from, S *to) const {
    const lt_index_weights &x = p->axes[2];
    constexpr int N = Vec<S>::N;
    const int64_t n = x.outputs;
    int64_t i = 0;
    for (; i + N <= n; i += N) {
      const int32_t *index = (const int32_t *)x.index + i;
      const S *weights = (const S *)x.weights + i;
      Vec<S> total(S(0));
      for (int64_t t = 0; t < x.most; t++, index += n, weights += n) {
        const Vec<S> more = total + at_places(from, index, x.size, x.back) * load(weights);
        total = x.counts ? select(Vec<S>(S(t)) < counts(i), more, total) : more;
      }
      store(to + i, total);
    }
    for (; i < n; i++) {
      const int64_t neighbors = count(x, i);
      S total = 0;
      for (int64_t t = 0; t < neighbors; t++) {
        S part = from[source(x, i, t)] * weight(x, i, t);
        keep_product(part);
        total += part;
      }
      to[i] = total;
    }
  }
  LT_INLINE Vec<S> counts(int64_t i) const {
    S each[Vec<S>::N];
    for (int l = 0; l < Vec<S>::N; l++) each[l] = S(((const int32_t *)p->axes[2].counts)[i + l]);
    return load(each);
  }

  LT_INLINE void channels(const S *from, int64_t i, S *to) const {
    const lt_index_weights &x = p->axes[2];
    const int64_t neighbors = count(x, i), n = p->lanes;
    if (!x.weights) {
      memcpy((void *)to, (const void *)(from + source(x, i, 0) * n), size_t(n) * sizeof(S));
      return;
    }
    in_lanes<S>(n, [&](auto whole, int64_t c, int lanes) {
      constexpr bool kWhole = whole.value;
      Vec<S> total(S(0));
      for (int64_t t = 0; t < neighbors; t++)
        total = total + load_lanes<kWhole>(from + source(x, i, t) * n + c, 1, lanes) *
                            Vec<S>(weight(x, i, t));
      store_lanes<kWhole>(to + c, total, lanes);
    });
  }

  static LT_INLINE void round(S *to, int64_t n, S unit) {
    for (int64_t i = 0; i < n; i++) {
      const S v = S(__builtin_floor(double(to[i] / unit + S(0.5))));
      to[i] = v < 0 ? S(0) : v > 255 ? S(255) : v;
    }
  }
};

struct Resampled {
  template <class T>
  static void row(lt_resampling *p) {
    using S = std::conditional_t<kind_of<T> == kInteger, double, Value<T>>;
    if constexpr (__is_same(T, S))
      Resampling<S>::run(p, nullptr, nullptr);
    else
      Resampling<S>::run(
          p,
          [](const void *from, int64_t at, int64_t n, S *to) {
            for (int64_t i = 0; i < n; i++) to[i] = convert<S>(((const T *)from + at)[i]);
          },
          [](void *to, int64_t at, int64_t n, const S *from) {
            for (int64_t i = 0; i < n; i++) ((T *)to + at)[i] = convert<T>(from[i]);
          });
  }
};

}  // namespace
}  // namespace lt
#endif
