// Positions in sorted lines, and groups of equal rows.
#include "grouping.h"

namespace lt {
namespace {

// The insertion position of a value by bisection: the same as that of search.h, even for unsorted
// keys.
template <class T>
LT_INLINE void search_value(const Searching &s, int64_t i) {
  const int64_t line = i / s.width * s.step;
  const T *keys =
      s.n ? (const T *)LT_PLACE(s.keys + line * sizeof(T), s.n * sizeof(T), false) : nullptr;
  const int64_t *order =
      s.n && s.order ? (const int64_t *)LT_PLACE(s.order + line * 8, s.n * 8, false) : nullptr;
  const T v = *(const T *)LT_PLACE(s.values + i * sizeof(T), sizeof(T), false);
  int64_t base = 0;
  for (int64_t size = s.n; size > 0;) {
    const int64_t half = size / 2, at = base + half;
    int64_t place = order ? order[at] : at;
    if ((uint64_t)place >= (uint64_t)s.n) place = 0;  // it was reported
    const T key = keys[place];
    if (s.right ? !is_greater(key, v) : !is_at_least(key, v)) {
      base = at + 1;
      size -= half + 1;
    } else {
      size = half;
    }
  }
  *(int64_t *)LT_PLACE(s.found + i * 8, 8, true) = base;
}

// An element of a row of each group.
template <class T>
LT_INLINE void group_take(const Groups &g, int64_t i) {
  const int64_t row = *(const int64_t *)LT_PLACE(g.firsts + i / g.width * 8, 8, false);
  const uint64_t from = g.in + (row * g.width + i % g.width) * sizeof(T);
  *(T *)LT_PLACE(g.values + i * sizeof(T), sizeof(T), true) =
      *(const T *)LT_PLACE(from, sizeof(T), false);
}

}  // namespace
}  // namespace lt

LT_EACH(search_bool, Searching, count, lt::search_value<lt::Bool>)
LT_EACH(search_uint8, Searching, count, lt::search_value<uint8_t>)
LT_EACH(search_int8, Searching, count, lt::search_value<int8_t>)
LT_EACH(search_int16, Searching, count, lt::search_value<int16_t>)
LT_EACH(search_int32, Searching, count, lt::search_value<int32_t>)
LT_EACH(search_int64, Searching, count, lt::search_value<int64_t>)
LT_EACH(search_uint16, Searching, count, lt::search_value<uint16_t>)
LT_EACH(search_uint32, Searching, count, lt::search_value<uint32_t>)
LT_EACH(search_uint64, Searching, count, lt::search_value<uint64_t>)
LT_EACH(search_float16, Searching, count, lt::search_value<lt::Float16>)
LT_EACH(search_bfloat16, Searching, count, lt::search_value<lt::BFloat16>)
LT_EACH(search_float32, Searching, count, lt::search_value<float>)
LT_EACH(search_float64, Searching, count, lt::search_value<double>)
LT_EACH(group_take_1, Groups, found *args.width, lt::group_take<uint8_t>)
LT_EACH(group_take_2, Groups, found *args.width, lt::group_take<uint16_t>)
LT_EACH(group_take_4, Groups, found *args.width, lt::group_take<uint32_t>)
LT_EACH(group_take_8, Groups, found *args.width, lt::group_take<uint64_t>)

// The group of every row, and for each group the number of its first row and where it begins.
LT_KERNEL(group_numbers, lt::Groups) {
  for (int64_t i = LT_THREAD; i < args.n; i += LT_THREADS) {
    const int64_t *flags = (const int64_t *)LT_PLACE(args.flags + i * 8, 16, false);
    const int64_t row = lt::row_at(args, i), group = flags[1] - 1;
    if (args.inverse) *(int64_t *)LT_PLACE(args.inverse + row * 8, 8, true) = group;
    if (flags[1] == flags[0]) continue;
    *(int64_t *)LT_PLACE(args.firsts + group * 8, 8, true) = row;
    *(int64_t *)LT_PLACE(args.begins + group * 8, 8, true) = i;
  }
}

LT_KERNEL(group_counts, lt::Groups) {
  for (int64_t i = LT_THREAD; i < args.found; i += LT_THREADS) {
    const int64_t begin = *(const int64_t *)LT_PLACE(args.begins + i * 8, 8, false);
    const int64_t end = i + 1 < args.found
                            ? *(const int64_t *)LT_PLACE(args.begins + (i + 1) * 8, 8, false)
                            : args.n;
    *(int64_t *)LT_PLACE(args.counts + i * 8, 8, true) = end - begin;
  }
}
