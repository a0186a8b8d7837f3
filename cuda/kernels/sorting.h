// Stable merge sort: one thread sorts each run, then pairs of runs are merged, with one thread per
// block of the result, which finds where its elements begin in both (after O. Green, R. McColl and
// D. Bader, GPU Merge Path, 2012). Also results computed from sorted lines.
#include "merging.h"

namespace lt {
namespace {

// An item to sort: a key, and the position of its element in the line.
template <class K>
struct Item {
  K key;
  uint32_t index;
};
template <class T>
using ItemOf = Item<std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>;

struct Before {
  template <class K>
  LT_INLINE bool operator()(const Item<K> &a, const Item<K> &b) const {
    return a.key < b.key;
  }
};

// The arguments of a launch. Lines are contiguous, as are their items and results.
struct Sorting {
  uint64_t in, from, to, values, indices;
  int64_t lines, n, run, keep, first, flip;
};

template <class T>
LT_INLINE void sort_run(const Sorting &s, int64_t thread) {
  using E = ItemOf<T>;
  const Piece p(s.n, thread);
  const int64_t m = s.n - p.begin < kRun ? s.n - p.begin : kRun, at = p.line * s.n + p.begin;
  const T *in = (const T *)LT_PLACE(s.in + at * sizeof(T), m * sizeof(T), false);
  E *to = (E *)LT_PLACE(s.to + at * sizeof(E), m * sizeof(E), true);
  const auto flip = flip_of<T>(s.flip);
  E items[kRun];
  for (int64_t i = 0; i < m; i++) {
    const auto e = entry(in, i, flip);
    items[i] = {e.key, uint32_t(p.begin + i)};
  }
  insertion(items, m, Before());
  for (int64_t i = 0; i < m; i++) to[i] = items[i];
}

template <class K>
LT_INLINE void sort_merge(const Sorting &s, int64_t thread) {
  const Piece p(s.n, thread);
  const uint64_t at = p.line * s.n * sizeof(Item<K>);
  const auto *from = (const Item<K> *)LT_PLACE(s.from + at, s.n * sizeof(Item<K>), false);
  merge_piece(from, (Item<K> *)LT_PLACE(s.to + at, s.n * sizeof(Item<K>), true) + p.begin, s.n,
              s.run, p.begin, Before());
}

template <class T>
LT_INLINE const ItemOf<T> *sorted_line(const Sorting &s, int64_t line) {
  using E = ItemOf<T>;
  return (const E *)LT_PLACE(s.from + line * s.n * sizeof(E), s.n * sizeof(E), false);
}

// Writes the element of a line at a position among those that are kept.
template <class T>
LT_INLINE void keep(const Sorting &s, int64_t line, int64_t place, int64_t position) {
  const int64_t at = line * s.keep + place;
  *(T *)LT_PLACE(s.values + at * sizeof(T), sizeof(T), true) =
      *(const T *)LT_PLACE(s.in + (line * s.n + position) * sizeof(T), sizeof(T), false);
  *(int64_t *)LT_PLACE(s.indices + at * 8, 8, true) = position;
}

// The sorted elements from number first on.
template <class T>
LT_INLINE void sort_take(const Sorting &s, int64_t i) {
  const int64_t line = i / s.keep, place = i % s.keep;
  keep<T>(s, line, place, sorted_line<T>(s, line)[s.first + place].index);
}

// The first of n items whose key is not less than key.
template <class E>
LT_INLINE int64_t lower_bound(const E *items, int64_t n, uint64_t key) {
  return partition_point(n, [=](int64_t i) { return items[i].key < key; });
}

template <class T>
constexpr uint64_t kNanKey = sizeof(T) == 8 ? ~(uint64_t)0 : ((uint64_t)1 << 8 * sizeof(T)) - 1;

// The lower median of a line: the first NaN if there is one; or, if first is 1, the median of the
// elements that are not NaN.
template <class T>
LT_INLINE void sort_median(const Sorting &s, int64_t line) {
  const auto *items = sorted_line<T>(s, line);
  int64_t numbers = s.n;
  if constexpr (kind_of<T> == kFloating) numbers = lower_bound(items, s.n, kNanKey<T>);
  const bool counts = numbers == s.n || (s.first && numbers > 0);
  keep<T>(s, line, 0, items[counts ? (numbers - 1) / 2 : numbers].index);
}

constexpr int64_t kModePiece = 256;

struct Most {
  int64_t length, last;
};

LT_INLINE int64_t mode_pieces(const Sorting &s) { return (s.n + kModePiece - 1) / kModePiece; }

// The longest group of equal keys that begins in a piece of a line, into `to`. NaN equals nothing.
template <class T>
LT_INLINE void mode_piece(const Sorting &s, int64_t thread) {
  const int64_t pieces = mode_pieces(s), line = thread / pieces, p = thread % pieces;
  const auto *items = sorted_line<T>(s, line);
  Most most = {0, 0};
  for (int64_t i = p * kModePiece; i < (p + 1) * kModePiece && i < s.n;) {
    const uint64_t key = items[i].key;
    const bool number = kind_of<T> != kFloating || key != kNanKey<T>;
    int64_t end = i + 1;
    if (number && i > 0 && items[i - 1].key == key) {  // began in the block before
      i++;
      continue;
    }
    if (number && end < s.n && items[end].key == key)
      end += partition_point(s.n - end, [=](int64_t j) { return items[end + j].key == key; });
    if (end - i > most.length) most = {end - i, end - 1};
    i = end;
  }
  *(Most *)LT_PLACE(s.to + thread * sizeof(Most), sizeof(Most), true) = most;
}

template <class T>
LT_INLINE void sort_mode(const Sorting &s, int64_t line) {
  const int64_t pieces = mode_pieces(s);
  const auto *found =
      (const Most *)LT_PLACE(s.to + line * pieces * sizeof(Most), pieces * sizeof(Most), false);
  Most most = found[0];
  for (int64_t p = 1; p < pieces; p++)
    if (found[p].length > most.length) most = found[p];
  keep<T>(s, line, 0, sorted_line<T>(s, line)[most.last].index);
}

// How many keys of a line of int64 elements are each of `keep` numbers from 0 on.
template <class N>
LT_INLINE void sort_count(const Sorting &s, int64_t number) {
  const auto *items = sorted_line<int64_t>(s, 0);
  const int64_t begin = lower_bound(items, s.n, sort_key(number));
  *(N *)LT_PLACE(s.values + number * sizeof(N), sizeof(N), true) =
      N(lower_bound(items, s.n, sort_key(number + 1)) - begin);
}

}  // namespace
}  // namespace lt

#define LT_THREADS_DO(NAME, THREADS, ...)                                           \
  LT_KERNEL(NAME, lt::Sorting) {                                                    \
    const int64_t threads = THREADS;                                                \
    for (int64_t i = LT_THREAD; i < threads; i += LT_THREADS) __VA_ARGS__(args, i); \
  }

#define LT_SORTING(NAME, ...)                                                        \
  LT_THREADS_DO(sort_runs_##NAME, args.lines *lt::pieces_of_line(args.n),            \
                lt::sort_run<__VA_ARGS__>)                                           \
  LT_THREADS_DO(sort_take_##NAME, args.lines *args.keep, lt::sort_take<__VA_ARGS__>) \
  LT_THREADS_DO(sort_median_##NAME, args.lines, lt::sort_median<__VA_ARGS__>)        \
  LT_THREADS_DO(sort_mode_pieces_##NAME, args.lines *lt::mode_pieces(args),          \
                lt::mode_piece<__VA_ARGS__>)                                         \
  LT_THREADS_DO(sort_mode_##NAME, args.lines, lt::sort_mode<__VA_ARGS__>)

LT_SORTING(bool, lt::Bool)
LT_SORTING(uint8, uint8_t)
LT_SORTING(int8, int8_t)
LT_SORTING(int16, int16_t)
LT_SORTING(int32, int32_t)
LT_SORTING(int64, int64_t)
LT_SORTING(uint16, uint16_t)
LT_SORTING(uint32, uint32_t)
LT_SORTING(uint64, uint64_t)
LT_SORTING(float16, lt::Float16)
LT_SORTING(bfloat16, lt::BFloat16)
LT_SORTING(float32, float)
LT_SORTING(float64, double)
LT_THREADS_DO(sort_merge_4, args.lines *lt::pieces_of_line(args.n), lt::sort_merge<uint32_t>)
LT_THREADS_DO(sort_merge_8, args.lines *lt::pieces_of_line(args.n), lt::sort_merge<uint64_t>)
LT_THREADS_DO(sort_count_int64, args.keep, lt::sort_count<int64_t>)
LT_THREADS_DO(sort_count_float64, args.keep, lt::sort_count<double>)
