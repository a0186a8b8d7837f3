// Stable sorting of words of 64 bits: a key of up to 32 bits above the index of its element. Radix
// sort from the lowest digit, after D. E. Knuth, The Art of Computer Programming 3, 5.2.5; few
// words are sorted by K. E. Batcher's network of eight (5.3.4) and merged.
#ifndef LIBTENSOR_KERNEL_SRC_RADIX_H
#define LIBTENSOR_KERNEL_SRC_RADIX_H

#include "sort.h"

namespace lt {
namespace {

constexpr int kIndexBits = 32;
constexpr int kMostDigit = 11, kDigits = 1 << kMostDigit;  // bits of a digit, its values
constexpr int64_t kInserted = 14;       // elements up to this number are sorted by insertion
constexpr int64_t kMergedWords = 128;   // up to this number, merging is faster
constexpr int64_t kShortDigits = 2000;  // up to this number, digits of 9 bits are faster

// Sorts the eight words at distance 4 from each of e[0] to e[3], and stores them adjacent.
void sort_eights(uint64_t *e) {
  typedef int64_t Lanes __attribute__((vector_size(32)));
  constexpr int64_t kTop = INT64_MIN;  // signed lanes compare in one instruction
  Lanes c[8];
  memcpy(c, e, sizeof(c));
  for (Lanes &row : c) row ^= kTop;
  const auto order = [&](int i, int j) __attribute__((always_inline)) {
    const Lanes swapped = c[j] < c[i], a = c[i], b = c[j];
    c[i] = swapped ? b : a;
    c[j] = swapped ? a : b;
  };
  order(0, 1), order(2, 3), order(4, 5), order(6, 7);
  order(0, 2), order(1, 3), order(4, 6), order(5, 7), order(1, 2), order(5, 6);
  order(0, 4), order(1, 5), order(2, 6), order(3, 7), order(2, 4), order(3, 5);
  order(1, 2), order(3, 4), order(5, 6);
  for (Lanes &row : c) row ^= kTop;
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < 8; i++) e[8 * k + i] = (uint64_t)c[i][k];
}

// Hides a condition from the compiler, which would branch on it.
LT_INLINE int64_t unpredictable(bool condition) {
  int64_t c = condition;
  asm("" : "+r"(c));
  return c;
}

// Merges the adjacent runs of `run` words at e to `to`, from both ends at once. Neither run is
// exhausted before all words are taken.
void merge_equal(const uint64_t *e, int64_t run, uint64_t *to) {
  const uint64_t *a = e, *b = e + run, *a_last = b - 1, *b_last = b + run - 1;
  uint64_t *last = to + 2 * run - 1;
  for (int64_t k = 0; k < run; k++) {
    const uint64_t x = *a, y = *b, x_last = *a_last, y_last = *b_last;
    const int64_t second = unpredictable(y < x), first = unpredictable(y_last < x_last);
    *to++ = x ^ ((x ^ y) & (uint64_t)-second);
    *last-- = y_last ^ ((x_last ^ y_last) & (uint64_t)-first);
    b += second;
    a += 1 - second;
    a_last -= first;
    b_last -= 1 - first;
  }
}

// Sorts n distinct words with the help of `other`; returns whichever of the two has the result.
uint64_t *merge_words(uint64_t *e, uint64_t *other, int64_t n) {
  int64_t start = 0;
  for (; start + 32 <= n; start += 32) sort_eights(e + start);
  if (const int64_t rest = n - start; rest > 8) {
    uint64_t padded[32];  // transposed, so that the words behind the last one stay there
    for (int64_t i = 0; i < 32; i++)
      padded[i % 8 * 4 + i / 8] = i < rest ? e[start + i] : UINT64_MAX;
    sort_eights(padded);
    memcpy(e + start, padded, (size_t)rest * sizeof(*e));
  } else {
    insertion(e + start, rest);
  }
  for (int64_t run = 8; run < n; run *= 2) {
    int64_t i = 0;
    for (; i + 2 * run <= n; i += 2 * run) merge_equal(e + i, run, other + i);
    const int64_t middle = i + run < n ? i + run : n;
    for (int64_t a = i, b = middle; i < n; i++)
      other[i] = b >= n || (a < middle && e[a] < e[b]) ? e[a++] : e[b++];
    uint64_t *swap = e;
    e = other;
    other = swap;
  }
  return e;
}

// Counts the digits of n words from the lowest one on.
template <int kPasses>
LT_INLINE void count_digits(const uint64_t *e, int64_t n, int digit, uint32_t (*counts)[kDigits]) {
  const uint64_t mask = ((uint64_t)1 << digit) - 1;
  for (int64_t i = 0; i < n; i++) {
    uint64_t key = e[i] >> kIndexBits;
    for (int p = 0; p < kPasses; p++, key >>= digit) counts[p][key & mask]++;
  }
}

// Sorts n distinct words, of whose keys the lowest `bits` bits differ, with the help of `other`;
// returns whichever of the two has the result.
uint64_t *sort_words(uint64_t *e, uint64_t *other, int64_t n, int bits) {
  if (n <= kMergedWords) return merge_words(e, other, n);
  const int most = n <= kShortDigits ? 9 : kMostDigit, passes = (bits + most - 1) / most;
  const int digit = passes ? (bits + passes - 1) / passes : 0;
  const uint64_t mask = ((uint64_t)1 << digit) - 1;
  uint32_t counts[4][kDigits];
  for (int p = 0; p < passes; p++) memset(counts[p], 0, (mask + 1) * sizeof(counts[p][0]));
  switch (passes) {
    case 1:
      count_digits<1>(e, n, digit, counts);
      break;
    case 2:
      count_digits<2>(e, n, digit, counts);
      break;
    case 3:
      count_digits<3>(e, n, digit, counts);
      break;
    case 4:
      count_digits<4>(e, n, digit, counts);
      break;
  }
  for (int p = 0, shift = kIndexBits; p < passes; p++, shift += digit) {
    uint32_t *starts = counts[p], at = 0;
    if (starts[e[0] >> shift & mask] == n) continue;  // the digit is the same everywhere
    for (uint64_t d = 0; d <= mask; d++) {
      const uint32_t size = starts[d];
      starts[d] = at;
      at += size;
    }
    for (int64_t i = 0; i < n; i++) {
      const uint64_t word = e[i];
      other[starts[word >> shift & mask]++] = word;
    }
    uint64_t *swap = e;
    e = other;
    other = swap;
  }
  return e;
}

// Unsigned keys in the order of the values, with all NaN, whose magnitude exceeds `infinity`, equal
// and -0 equal to 0. flips is all ones in descending order.
template <class T>
LT_INLINE auto flipped_key(T value, uint64_t flips, int64_t infinity) {
  using K = typename KeyOf<sizeof(T)>::type;
  using S = std::make_signed_t<K>;
  constexpr K top = K(K(1) << (8 * sizeof(T) - 1));
  K key;
  memcpy(&key, &value, sizeof(T));
  if constexpr (kind_of<T> == kFloating) {
    const S magnitude = S(key & K(~top));
    key = K(key ^ (K(S(key) >> (8 * sizeof(T) - 1)) | top));
    key = magnitude == 0 ? top : key;
    key = magnitude > (S)infinity ? K(~K(0)) : key;
  }
  return K(key ^ (K)flips);
}

// The type of the elements that sort like T, with the flips of flips_of<T> and T's infinity.
template <class T>
using Sortable = std::conditional_t<kind_of<T> == kInteger, typename KeyOf<sizeof(T)>::type,
                                    std::conditional_t<__is_same(T, BFloat16), Float16, T>>;
template <class T>
LT_INLINE uint64_t flips_of(bool descending) {
  uint64_t sign = 0;
  if constexpr (kind_of<T> == kInteger) sign = (uint64_t)(T(-1) < T(0)) << (8 * sizeof(T) - 1);
  return (descending ? UINT64_MAX : 0) ^ sign;
}
template <class T>
constexpr int64_t kInfinity = kind_of<T> != kFloating  ? 0
                              : __is_same(T, Float16)  ? 0x7c00
                              : __is_same(T, BFloat16) ? 0x7f80
                              : __is_same(T, float)    ? 0x7f800000
                                                       : 0x7ff0000000000000;

// A row of elements, whose dtype only `read` and `write` know. The keys of words are relative to
// `least`, without their `drop` lowest bits, and have up to `bits` bits.
struct Row {
  const void *in;
  int64_t n;
  uint64_t flips, least;
  int64_t infinity;      // its bits, of floats
  int size, drop, bits;  // bytes of an element
  // The keys of n elements from `begin` on.
  void (*read)(const Row &, int64_t begin, int64_t n, uint64_t *keys);
  // Writes the elements of n words, unless the keys do not determine them: those of 0 and NaN.
  bool (*write)(const Row &, const uint64_t *words, int64_t n, void *values);

  // The index of a word: that of an element even if another thread changes the elements.
  LT_INLINE int64_t index(uint64_t word) const {
    const uint32_t i = (uint32_t)word, last = (uint32_t)(n - 1);
    return i < last ? i : last;
  }
  // The key of an element of 8 bytes.
  LT_INLINE uint64_t key(int64_t i) const {
    return infinity ? flipped_key(((const double *)in)[i], flips, infinity)
                    : flipped_key(((const uint64_t *)in)[i], flips, 0);
  }
  // Has words contain the upper bits of keys in a range.
  void relative_to(uint64_t smallest, uint64_t largest) {
    const uint64_t range = largest - smallest;
    const int width = range ? 64 - __builtin_clzll(range) : 0;
    least = smallest;
    drop = width > 32 ? width - 32 : 0;
    bits = width - drop;
  }
};

constexpr int64_t kBlock = 256;

// Extends the range of keys by those of elements begin to end.
void extend_range(const Row &r, int64_t begin, int64_t end, uint64_t *smallest, uint64_t *largest) {
  constexpr uint64_t kTop = (uint64_t)INT64_MIN;  // signed keys compare in one instruction
  uint64_t keys[kBlock];
  int64_t low = (int64_t)(*smallest ^ kTop), high = (int64_t)(*largest ^ kTop);
  for (int64_t n; begin < end; begin += n) {
    n = end - begin < kBlock ? end - begin : kBlock;
    r.read(r, begin, n, keys);
    for (int64_t i = 0; i < n; i++) {
      const int64_t key = (int64_t)(keys[i] ^ kTop);
      low = key < low ? key : low;
      high = key > high ? key : high;
    }
  }
  *smallest = (uint64_t)low ^ kTop;
  *largest = (uint64_t)high ^ kTop;
}

// Makes words of n elements from `begin` on.
void read_words(const Row &r, int64_t begin, int64_t n, uint64_t *e) {
  r.read(r, begin, n, e);
  for (int64_t i = 0; i < n; i++)
    e[i] = (e[i] - r.least) >> r.drop << kIndexBits | (uint64_t)(begin + i);
}

template <class K>
LT_INLINE void copy_elements(const Row &r, const int64_t *indices, int64_t n, void *values) {
  for (int64_t i = 0; i < n; i++) ((K *)values)[i] = ((const K *)r.in)[indices[i]];
}

// Writes the elements and indices of n words, which may be where the indices are written.
void write_words(const Row &r, const uint64_t *words, int64_t n, void *values, int64_t *indices) {
  const bool written = !r.drop && r.write(r, words, n, values);
  for (int64_t i = 0; i < n; i++) indices[i] = r.index(words[i]);
  if (written) return;
  if (r.size == 2)
    copy_elements<uint16_t>(r, indices, n, values);
  else if (r.size == 4)
    copy_elements<uint32_t>(r, indices, n, values);
  else
    copy_elements<uint64_t>(r, indices, n, values);
}

// Sorts words of equal keys by the dropped bits.
void break_ties(const Row &r, uint64_t *e, uint64_t *other, int64_t n) {
  const uint64_t low = ((uint64_t)1 << r.drop) - 1;
  for (int64_t begin = 0, end; begin < n; begin = end) {
    for (end = begin + 1; end < n && !((e[end] ^ e[begin]) >> kIndexBits);) end++;
    if (end - begin == 1) continue;
    uint64_t differing = 0;
    for (int64_t i = begin; i < end; i++) {
      const int64_t at = r.index(e[i]);
      e[i] = ((r.key(at) - r.least) & low) << kIndexBits | (uint64_t)at;
      differing |= e[i] ^ e[begin];
    }
    if (differing >>= kIndexBits) {
      const uint64_t *sorted =
          sort_words(e + begin, other, end - begin, 64 - __builtin_clzll(differing));
      if (sorted != e + begin) memcpy(e + begin, sorted, (size_t)(end - begin) * sizeof(*e));
    }
  }
}

// Sorts n words at e, of whose keys the lowest `differing` bits differ, and writes their elements
// and indices; e may be where the indices are written.
void finish_words(const Row &r, uint64_t *e, uint64_t *other, int64_t n, int differing,
                  void *values, int64_t *indices) {
  uint64_t *sorted = sort_words(e, other, n, differing);
  if (r.drop) break_ties(r, sorted, sorted == e ? other : e, n);
  write_words(r, sorted, n, values, indices);
}

// Sorts `rows` adjacent rows of n elements, up to kInserted. Those of a block share the calls.
void insert_rows(Row r, int64_t rows, int64_t n, char *values, int64_t *indices) {
  const int64_t size = r.size, most = kBlock / n;
  r.drop = size > 4;  // of keys that do not fit into words: elements are copied
  uint64_t keys[kBlock];
  for (int64_t count; rows > 0; rows -= count) {
    count = rows < most ? rows : most;
    r.n = count * n;
    r.read(r, 0, r.n, keys);
    for (int64_t start = 0; start < r.n; start += n) {
      if (size <= 4) {
        for (int64_t i = start; i < start + n; i++) keys[i] = keys[i] << kIndexBits | (uint64_t)i;
        insertion(keys + start, n);
        continue;
      }
      Entry<uint64_t> e[kInserted];
      for (int64_t i = 0; i < n; i++) e[i] = {keys[start + i], (uint32_t)(start + i)};
      insertion(e, n);
      for (int64_t i = 0; i < n; i++) keys[start + i] = e[i].index;
    }
    write_words(r, keys, r.n, values, indices);
    for (int64_t start = 0; start < r.n; start += n)
      for (int64_t i = 0; i < n; i++) indices[start + i] -= start;
    r.in = (const char *)r.in + r.n * size;
    values += r.n * size;
    indices += r.n;
  }
}

// Sorts rows, with scratch for the words of one.
void sort_rows(const Row &first, int64_t rows, uint64_t *scratch, char *values, int64_t *indices) {
  const int64_t n = first.n, size = first.size;
  if (n <= kInserted) return insert_rows(first, rows, n, values, indices);
  for (int64_t o = 0; o < rows; o++, values += n * size, indices += n) {
    Row r = first;
    r.in = (const char *)r.in + o * n * size;
    if (size > 4 || n > kShortDigits) {
      uint64_t smallest = UINT64_MAX, largest = 0;
      extend_range(r, 0, n, &smallest, &largest);
      r.relative_to(smallest, largest);
    }
    uint64_t *e = (uint64_t *)indices;
    for (int64_t i = 0; i < n; i += kBlock)
      read_words(r, i, n - i < kBlock ? n - i : kBlock, e + i);
    finish_words(r, e, scratch, n, r.bits, values, indices);
  }
}

template <class T>
void read_keys(const Row &r, int64_t begin, int64_t n, uint64_t *keys) {
  const T *in = (const T *)r.in + begin;
  const uint64_t flips = r.flips;
  const int64_t infinity = r.infinity;
  for (int64_t i = 0; i < n; i++) keys[i] = flipped_key(in[i], flips, infinity);
}

template <class T>
bool write_values(const Row &r, const uint64_t *words, int64_t n, void *values) {
  using K = typename KeyOf<sizeof(T)>::type;
  constexpr K top = K(K(1) << (8 * sizeof(T) - 1));
  const K least = (K)r.least, flips = (K)r.flips;
  K ambiguous = 0;
  for (int64_t i = 0; i < n; i++) {
    K key = K(K(K(words[i] >> kIndexBits) + least) ^ flips);
    if constexpr (kind_of<T> == kFloating) {
      ambiguous |= K((key == top) | (key == K(~K(0))));
      key = K(key ^ (K(std::make_signed_t<K>(~key) >> (8 * sizeof(T) - 1)) | top));
    }
    memcpy((T *)values + i, &key, sizeof(T));
  }
  return !ambiguous;
}

// A row of n elements of type T.
template <class T>
LT_INLINE Row row_of(uintptr_t in, int64_t n, bool descending) {
  using E = Sortable<T>;
  return {(const void *)in,
          n,
          flips_of<T>(descending),
          0,
          kInfinity<T>,
          sizeof(T),
          0,
          8 * sizeof(T),
          read_keys<E>,
          write_values<E>};
}

}  // namespace
}  // namespace lt
#endif
