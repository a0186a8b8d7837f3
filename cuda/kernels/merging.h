// Merging of sorted sequences, with one thread for each block of the result.
#ifndef LIBTENSOR_CUDA_MERGING_H
#define LIBTENSOR_CUDA_MERGING_H

#include "numbers.h"
#include "../../engine/kernel/src/search.h"
#include "../../engine/kernel/src/sort.h"

namespace lt {
namespace {

constexpr int64_t kRun = 16;  // elements that a thread sorts alone, and that it merges

LT_INLINE int64_t pieces_of_line(int64_t n) { return (n + kRun - 1) / kRun; }

// The piece of a line of n elements that a thread has.
struct Piece {
  int64_t line, begin;
  LT_INLINE Piece(int64_t n, int64_t thread)
      : line(thread / pieces_of_line(n)), begin(thread % pieces_of_line(n) * kRun) {}
};

// Merges pairs of runs of a line of n elements, and writes the block from `begin` on.
template <class E, class Before>
LT_INLINE void merge_piece(const E *from, E *to, int64_t n, int64_t run, int64_t begin,
                           Before before) {
  const int64_t first = begin / (2 * run) * (2 * run);
  const int64_t mid = first + run < n ? first + run : n;
  const int64_t end = first + 2 * run < n ? first + 2 * run : n;
  const E *a = from + first, *b = from + mid;
  const int64_t na = mid - first, nb = end - mid, skip = begin - first;
  // The number of elements of a among the skipped ones: equal elements of a come first.
  int64_t low = skip > nb ? skip - nb : 0, high = skip < na ? skip : na;
  while (low < high) {
    const int64_t i = (low + high) / 2;
    if (before(b[skip - 1 - i], a[i]))
      high = i;
    else
      low = i + 1;
  }
  int64_t i = low, j = skip - low;
  for (int64_t k = begin; k < begin + kRun && k < end; k++)
    to[k - begin] = j >= nb || (i < na && !before(b[j], a[i])) ? a[i++] : b[j++];
}

}  // namespace
}  // namespace lt
#endif
