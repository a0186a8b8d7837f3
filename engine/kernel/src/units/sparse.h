// Positions of sparse entries: numbering, sorting, merging and compressing them. Indices are read
// once and checked, as another thread may write to them at any time; the later steps use keys,
// which only the caller can access.
#include "../sort.h"

namespace lt {
namespace {

// Numbers the positions of entries begin to end in row-major order. The indices of dimension d are
// at indices + d * row_step bytes, with a stride of `step` bytes. `rising` stays set if each key is
// larger than the one before, including that of entry begin - 1; an index out of range is stored in
// bad, and its dimension, counted from 1, in failed.
struct place_keys_args {
  uintptr_t indices, keys;
  int64_t row_step, step, begin, end, rising, failed, bad, dims;
  int64_t sizes[LT_DIMS];
};

// kDims is a->dims if that is known at compile time.
template <int kDims>
void place_keys_of(place_keys_args *a) {
  const int64_t dims = kDims ? kDims : a->dims;
  uint64_t *keys = (uint64_t *)a->keys;
  const int64_t start = a->begin > 0 ? a->begin - 1 : 0;
  uint64_t last = 0, falls = 0;
  for (int64_t e = start; e < a->end; e++) {
    uint64_t key = 0;
    for (int64_t d = 0; d < dims; d++) {
      const int64_t at =
          *(const volatile int64_t *)(a->indices + (uintptr_t)(d * a->row_step + e * a->step));
      if ((uint64_t)at >= (uint64_t)a->sizes[d]) {
        a->bad = at;
        a->failed = d + 1;
        return;
      }
      key = key * (uint64_t)a->sizes[d] + (uint64_t)at;
    }
    falls |= (uint64_t)(e > start && key <= last);
    last = key;
    if (e >= a->begin) keys[e] = key;
  }
  if (falls) a->rising = 0;
}

void place_keys(place_keys_args *a) {
  if (a->dims == 2)
    place_keys_of<2>(a);
  else
    place_keys_of<0>(a);
}

using PlaceEntry = Entry<uint64_t>;

// One step of sorting n keys, of which `bits` count: by their upper bits into buckets, and then
// within each. counts has one number for each bucket.
struct place_sort_args {
  uintptr_t keys, order, entries, other, counts;
  int64_t begin, end, shift;
};

void place_count(place_sort_args *a) {
  const uint64_t *keys = (const uint64_t *)a->keys;
  int64_t *counts = (int64_t *)a->counts;
  for (int64_t e = a->begin; e < a->end; e++) counts[keys[e] >> a->shift]++;
}

// counts has the position of the next entry of each bucket.
void place_spread(place_sort_args *a) {
  const uint64_t *keys = (const uint64_t *)a->keys;
  int64_t *next = (int64_t *)a->counts;
  PlaceEntry *to = (PlaceEntry *)a->entries;
  for (int64_t e = a->begin; e < a->end; e++)
    to[next[keys[e] >> a->shift]++] = {keys[e], (uint32_t)e};
}

// Sorts n entries by the lower `bits` of their keys; returns whichever of e and other has them.
PlaceEntry *sort_low_bits(PlaceEntry *e, PlaceEntry *other, int64_t n, int64_t bits) {
  if (n < 64) return merge_sort(e, other, n);
  for (int64_t shift = 0; shift < bits; shift += 8) {
    int64_t counts[256] = {}, at = 0;
    for (int64_t i = 0; i < n; i++) counts[(e[i].key >> shift) & 255]++;
    if (counts[(e[0].key >> shift) & 255] == n) continue;
    for (int64_t &c : counts) {
      const int64_t size = c;
      c = at;
      at += size;
    }
    for (int64_t i = 0; i < n; i++) other[counts[(e[i].key >> shift) & 255]++] = e[i];
    PlaceEntry *swap = e;
    e = other;
    other = swap;
  }
  return e;
}

// Sorts the bucket of entries begin to end: keys receive their keys, order their former positions.
void place_sort(place_sort_args *a) {
  const int64_t n = a->end - a->begin;
  const PlaceEntry *e = sort_low_bits((PlaceEntry *)a->entries + a->begin,
                                      (PlaceEntry *)a->other + a->begin, n, a->shift);
  uint64_t *keys = (uint64_t *)a->keys + a->begin;
  int64_t *order = (int64_t *)a->order + a->begin;
  for (int64_t i = 0; i < n; i++) keys[i] = e[i].key, order[i] = e[i].index;
}

// Merges the ascending keys a_begin to a_end and b_begin to b_end of one array to position `to`;
// equal ones of a come first.
struct place_merge_args {
  uintptr_t keys, merged, order;
  int64_t a_begin, a_end, b_begin, b_end, to;
};

void place_merge(place_merge_args *m) {
  const uint64_t *keys = (const uint64_t *)m->keys;
  uint64_t *merged = (uint64_t *)m->merged + m->to;
  int64_t *order = (int64_t *)m->order + m->to;
  int64_t i = m->a_begin, j = m->b_begin;
  while (i < m->a_end && j < m->b_end) {
    const uint64_t a = keys[i], b = keys[j];
    const bool second = b < a;
    *merged++ = second ? b : a;
    *order++ = second ? j : i;
    j += second;
    i += !second;
  }
  for (; i < m->a_end; i++) *merged++ = keys[i], *order++ = i;
  for (; j < m->b_end; j++) *merged++ = keys[j], *order++ = j;
}

// Groups equal adjacent keys from begin to end: `found` counts the groups that begin there. If
// starts is not 0, the start of each group is written to it, from index `found` on, and the indices
// of the key to column `found` of `places`, which has rows of length `groups`.
struct place_groups_args {
  uintptr_t keys, starts, places;
  int64_t begin, end, found, groups, dims;
  int64_t sizes[LT_DIMS];
};

void place_groups(place_groups_args *a) {
  const uint64_t *keys = (const uint64_t *)a->keys;
  const int64_t *sizes = a->sizes;
  int64_t *starts = (int64_t *)a->starts, *places = (int64_t *)a->places;
  int64_t found = a->found;
  for (int64_t e = a->begin; e < a->end; e++) {
    if (e > 0 && keys[e] == keys[e - 1]) continue;
    if (starts) {
      starts[found] = e;
      uint64_t key = keys[e];
      for (int64_t d = a->dims - 1; d > 0; d--) {
        const uint64_t size = (uint64_t)sizes[d], rest = key / size;
        places[d * a->groups + found] = (int64_t)(key - rest * size);
        key = rest;
      }
      if (a->dims > 0) places[found] = (int64_t)key;
    }
    found++;
  }
  a->found = found;
}

// Compresses the lines of entries begin to end of n, which do not fall: each of `size` lines gets
// where its entries begin, and the place behind them the number of entries. failed is 1 for a line
// that is out of range, 2 for one that is less than the one before, both in bad.
struct place_lines_args {
  uintptr_t lines, compressed;
  int64_t step, begin, end, n, size, failed, bad;
};

void place_lines(place_lines_args *a) {
  constexpr int kBlock = 64;
  int64_t *to = (int64_t *)a->compressed;
  const auto line = [a](int64_t e) {
    return *(const int64_t *)(a->lines + (uintptr_t)(e * a->step));
  };
  int64_t last = -1, block[kBlock + 1];
  if (a->begin > 0) {
    last = *(const volatile int64_t *)(a->lines + (uintptr_t)((a->begin - 1) * a->step));
    if ((uint64_t)last >= (uint64_t)a->size) last = a->size - 1;
  }
  for (int64_t first = a->begin; first < a->end; first += kBlock) {
    const int n = (int)(a->end - first < kBlock ? a->end - first : kBlock);
    block[0] = last;
    for (int i = 0; i < n; i++) block[i + 1] = line(first + i);
    // From here on the block counts: without this the compiler might load the lines again.
    __asm__ volatile("" : : "r"(block) : "memory");
    uint8_t begins[kBlock];
    int count = 0, wrong = 0;
    for (int i = 0; i < n; i++)
      wrong |= block[i + 1] < block[i] || (uint64_t)block[i + 1] >= (uint64_t)a->size;
    for (int i = 0; wrong && i < n; i++) {
      const int64_t at = block[i + 1];
      const bool outside = (uint64_t)at >= (uint64_t)a->size;
      if (!outside && at >= block[i]) continue;
      a->bad = at;
      a->failed = outside ? 1 : 2;
      return;
    }
    for (int i = 0; i < n; i++) {
      begins[count] = (uint8_t)i;
      count += block[i + 1] != block[i];
    }
    for (int k = 0; k < count; k++) {
      const int i = begins[k];
      for (int64_t l = block[i] + 1; l <= block[i + 1]; l++) to[l] = first + i;
    }
    last = block[n];
  }
  if (a->end == a->n)
    for (int64_t l = last + 1; l <= a->size; l++) to[l] = a->n;
}

// The reverse, for adjacent matrices of `lines` rows and `n` entries: each entry of the rows begin
// to end, counted through all matrices, is assigned its row. failed is 1 + the number of the row
// with entries that do not begin where those before it end.
struct place_expand_args {
  uintptr_t compressed, to;
  int64_t lines, n, begin, end, failed;
};

void place_expand(place_expand_args *a) {
  for (int64_t l = a->begin; l < a->end; l++) {
    const int64_t matrix = l / a->lines, line = l - matrix * a->lines;
    const volatile int64_t *from = (const volatile int64_t *)a->compressed + l + matrix;
    const int64_t begin = from[0], end = from[1];
    if (begin < 0 || end < begin || end > a->n || (line == 0 && begin != 0) ||
        (line == a->lines - 1 && end != a->n)) {
      a->failed = l + 1;
      return;
    }
    int64_t *to = (int64_t *)a->to + matrix * a->n;
    for (int64_t e = begin; e < end; e++) to[e] = line;
  }
}

}  // namespace
}  // namespace lt

LT_UNIT(sparse){
    LT_SINGLE("place_keys", lt::place_keys),
    LT_SINGLE("place_count", lt::place_count),
    LT_SINGLE("place_spread", lt::place_spread),
    LT_SINGLE("place_sort", lt::place_sort),
    LT_SINGLE("place_merge", lt::place_merge),
    LT_SINGLE("place_groups", lt::place_groups),
    LT_SINGLE("place_lines", lt::place_lines),
    LT_SINGLE("place_expand", lt::place_expand),
    LT_END,
};
