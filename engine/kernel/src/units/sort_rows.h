// Sorting of rows. Devices sort by merging instead.
#include "../radix.h"

namespace lt {
namespace {

// Sorts rows of n elements into values and their indices; params[0] is 1 for descending order.
// Scratch has 8 bytes for each element of a row, and none for elements of a byte: those are
// counted. The memory of the indices holds words, too.
struct Sort {
  template <class T>
  static void row(const lt_scan *s) {
    if constexpr (sizeof(T) == 1) {
      for (int64_t o = 0; o < s->outer; o++)
        count((const T *)s->in + o * s->n, s->n, s->params[0], (T *)s->out[0] + o * s->n,
              (int64_t *)s->out[1] + o * s->n);
    } else {
      sort_rows(row_of<T>(s->in, s->n, s->params[0]), s->outer, (uint64_t *)s->scratch,
                (char *)s->out[0], (int64_t *)s->out[1]);
    }
  }

 private:
  template <class T>
  static void count(const T *in, int64_t n, bool descending, T *values, int64_t *indices) {
    const auto flip = flip_of<T>(descending);
    int64_t starts[256] = {}, at = 0;
    for (int64_t i = 0; i < n; i++) starts[entry(in, i, flip).key]++;
    for (int64_t &start : starts) {
      const int64_t size = start;
      start = at;
      at += size;
    }
    for (int64_t i = 0; i < n; i++) {
      const int64_t to = starts[entry(in, i, flip).key]++;
      if (to >= n) continue;  // another thread changed the elements after they were counted
      values[to] = in[i];
      indices[to] = i;
    }
  }
};

// One stage of sorting a long row, for elements or buckets begin to end. Words are spread to
// buckets by their highest `digit` bits, and the buckets are sorted. counts has a number for each
// bucket: the words of a block of elements, then the position of the next one; before kFinish the
// end of each bucket. scratch has space for the words of a bucket.
enum SortStage { kRange, kCount, kSpread, kFinish };

struct sort_stage_args {
  uintptr_t in, values, indices, scratch, counts;
  uint64_t least, most;  // of the keys
  int64_t n, begin, end, stage, digit, descending;
};

void sort_stage(sort_stage_args *a, Row r) {
  if (a->stage == kRange) return extend_range(r, a->begin, a->end, &a->least, &a->most);
  r.relative_to(a->least, a->most);
  const int lower = r.bits > a->digit ? r.bits - (int)a->digit : 0;
  const uint64_t mask = ((uint64_t)1 << a->digit) - 1;
  uint32_t *counts = (uint32_t *)a->counts;
  uint64_t *words = (uint64_t *)a->indices;
  if (a->stage == kFinish) {
    int64_t start = a->begin ? counts[a->begin - 1] : 0;
    for (int64_t b = a->begin; b < a->end; b++) {
      if (counts[b] > start)
        finish_words(r, words + start, (uint64_t *)a->scratch, counts[b] - start, lower,
                     (char *)a->values + start * r.size, (int64_t *)words + start);
      start = counts[b];
    }
    return;
  }
  uint64_t block[kBlock];
  for (int64_t begin = a->begin, n; begin < a->end; begin += n) {
    n = a->end - begin < kBlock ? a->end - begin : kBlock;
    read_words(r, begin, n, block);
    if (a->stage == kCount) {
      for (int64_t i = 0; i < n; i++) counts[block[i] >> kIndexBits >> lower & mask]++;
      continue;
    }
    for (int64_t i = 0; i < n; i++) {
      const int64_t to = counts[block[i] >> kIndexBits >> lower & mask]++;
      if (to < a->n) words[to] = block[i];  // unless another thread changed the elements
    }
  }
}

struct SortStages {
  template <class T>
  static void row(sort_stage_args *a) {
    if constexpr (sizeof(T) > 1) sort_stage(a, row_of<T>(a->in, a->n, a->descending));
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(sort_rows){
    {"sort", "", LT_SORTED(Sort)},
    {"sort_stages", "", LT_SORTED(SortStages)},
    LT_END,
};
