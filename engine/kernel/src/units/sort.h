// Sorting, selection and search.
#include "../search.h"
#include "../select.h"

namespace lt {
namespace {

// Sorts rows of n elements into values and their indices; params[0] is 1 for descending order.
// Scratch holds n entries, 2n for elements of 8 bytes, and none for elements of a byte: those are
// counted. Entries up to the size of an index use the indices' memory, too.
struct Sort {
  template <class T>
  static void row(const lt_scan *s) {
    const int64_t n = s->n;
    for (int64_t o = 0; o < s->outer; o++) {
      const T *in = (const T *)s->in + o * n;
      T *values = (T *)s->out[0] + o * n;
      int64_t *indices = (int64_t *)s->out[1] + o * n;
      if constexpr (sizeof(T) == 1)
        count(in, n, s->params[0], values, indices);
      else
        sort(in, n, s->params[0], values, indices, (EntryOf<T> *)s->scratch);
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
  template <class T>
  static void sort(const T *in, int64_t n, bool descending, T *values, int64_t *indices,
                   EntryOf<T> *scratch) {
    using E = EntryOf<T>;
    [[maybe_unused]] const auto flip = flip_of<T>(descending);
    if constexpr (kind_of<T> == kInteger && sizeof(T) == 8) {
      auto least = flip_of<T>(true), most = flip_of<T>(false);
      for (int64_t i = 0; i < n; i++) {
        const auto key = sort_key(in[i]) ^ flip;
        least = key < least ? key : least;
        most = key > most ? key : most;
      }
      if (most - least <= UINT32_MAX) {
        narrow(in, n, flip, least, values, indices, (Entry<uint32_t> *)scratch);
        return;
      }
    }
    E *other = sizeof(E) <= sizeof(*indices) ? (E *)indices : scratch + n;
    const E *e = sorted_entries(in, n, descending, scratch, other);
    write(e, n, values, indices, [=](const E &x) {
      if constexpr (kind_of<T> == kInteger)
        return value_of_key<T>(decltype(x.key)(x.key ^ flip));
      else
        return in[x.index];
    });
  }
  // Sorts 8-byte integers in a range of 2^32 by their offset from the smallest: shorter keys.
  template <class T, class K>
  static void narrow(const T *in, int64_t n, K flip, K least, T *values, int64_t *indices,
                     Entry<uint32_t> *scratch) {
    for (int64_t i = 0; i < n; i++)
      scratch[i] = {uint32_t((sort_key(in[i]) ^ flip) - least), (uint32_t)i};
    write(sorted_keys(scratch, (Entry<uint32_t> *)indices, n), n, values, indices,
          [=](const Entry<uint32_t> &x) { return value_of_key<T>((x.key + least) ^ flip); });
  }
  template <class T, class E, class F>
  static void write(const E *e, int64_t n, T *values, int64_t *indices, F value) {
    for (int64_t i = n; i-- > 0;) {  // from the end, where indices are not in the way of entries
      const E x = e[i];
      values[i] = value(x);
      indices[i] = x.index;
    }
  }
};

// The params[1] smallest elements of each row and their indices, the largest where kLargest is set
// in params[0]; in order where kOrdered is. Scratch holds all entries, or with kHeap those kept.
struct TopK {
  enum { kLargest = 1, kOrdered = 2, kHeap = 4 };
  template <class T>
  static void row(const lt_scan *s) {
    const int64_t n = s->n, keep = s->params[1];
    for (int64_t o = 0; o < s->outer; o++) {
      const T *in = (const T *)s->in + o * n;
      auto *e = (EntryOf<T> *)s->scratch;
      const bool largest = s->params[0] & kLargest;
      if (s->params[0] & kHeap) {
        const auto flip = flip_of<T>(largest);
        entries(e, in, keep, largest);
        make_heap(e, keep);
        constexpr int64_t kBlock = 64;  // most blocks hold nothing to keep
        for (int64_t start = keep; start < n; start += kBlock) {
          const int64_t end = start + kBlock < n ? start + kBlock : n;
          auto least = flip_of<T>(true);  // no key is greater
          for (int64_t i = start; i < end; i++) {
            const decltype(least) key = sort_key(in[i]) ^ flip;
            least = key < least ? key : least;
          }
          if (least >= e[0].key) continue;
          for (int64_t i = start; i < end; i++) {
            const auto x = entry(in, i, flip);
            if (x.key < e[0].key) heap_put(e, 0, keep, x);
          }
        }
        sort_heap(e, keep);
      } else {
        entries(e, in, n, largest);
        introselect(e, keep - 1, n);
        if (s->params[0] & kOrdered) introsort(e, keep - 1);
      }
      for (int64_t i = 0; i < keep; i++) {
        ((T *)s->out[0])[o * keep + i] = in[e[i].index];
        ((int64_t *)s->out[1])[o * keep + i] = e[i].index;
      }
    }
  }
};

// The params[0]-th smallest element of each row.
struct KthValue {
  template <class T>
  static void row(const lt_scan *s) {
    for (int64_t o = 0; o < s->outer; o++) {
      const T *in = (const T *)s->in + o * s->n;
      auto *e = (EntryOf<T> *)s->scratch;
      entries(e, in, s->n, false);
      quickselect(e, s->params[0], s->n);
      const int64_t at = e[s->params[0]].index;
      ((T *)s->out[0])[o] = in[at];
      ((int64_t *)s->out[1])[o] = at;
    }
  }
};

enum MedianKind { kMedian, kNanMedian };

// The lower median of each row, where NaN wins, or that of the elements that are not NaN.
template <MedianKind kKind>
struct Select {
  template <class T>
  static void row(const lt_scan *s) {
    for (int64_t o = 0; o < s->outer; o++) {
      const T *in = (const T *)s->in + o * s->n;
      auto *e = (EntryOf<T> *)s->scratch;
      entries(e, in, s->n, false);
      int64_t numbers = s->n, at = -1;
      if constexpr (kind_of<T> == kFloating) {
        constexpr auto nan = decltype(e->key)(~decltype(e->key)(0));
        for (int64_t i = 0; i < s->n; i++) numbers -= e[i].key == nan;
        if (numbers < s->n)
          while (e[++at].key != nan) {
          }
      }
      if (numbers == s->n || (kKind == kNanMedian && numbers > 0)) {
        introselect(e, (numbers - 1) / 2, s->n);
        at = e[(numbers - 1) / 2].index;
      }
      ((T *)s->out[0])[o] = in[at];
      ((int64_t *)s->out[1])[o] = at;
    }
  }
};

// The most frequent element of each row, the smallest of several, and the index of one
// occurrence. NaN equals nothing and has no order, as in PyTorch.
struct Mode {
  template <class T>
  static void row(const lt_scan *s) {
    for (int64_t o = 0; o < s->outer; o++) {
      const T *in = (const T *)s->in + o * s->n;
      auto *e = (EntryOf<T> *)s->scratch;
      entries(e, in, s->n, false);
      const auto number = [](const auto &x) {
        return kind_of<T> != kFloating || x.key != decltype(x.key)(~decltype(x.key)(0));
      };
      introsort(e, s->n, [=](const auto &a, const auto &b) { return a.key < b.key && number(b); });
      int64_t best = 0, length = 0;
      for (int64_t i = 0; i < s->n;) {
        int64_t j = i + 1;
        while (j < s->n && e[j].key == e[i].key && number(e[i])) j++;
        if (j - i > length) {
          length = j - i;
          best = j - 1;
        }
        i = j;
      }
      ((T *)s->out[0])[o] = in[e[best].index];
      ((int64_t *)s->out[1])[o] = e[best].index;
    }
  }
};

// Whether n values are in order.
template <class T, class At>
LT_INLINE bool in_order(int64_t n, At at) {
  int64_t outside = 0;
  for (int64_t j = 1; j < n; j++) outside += !is_at_least<T>(at(j), at(j - 1));
  return outside == 0;
}

// in holds rows of n sorted values, out[0] `width` values for each (or for all, where inner is 0);
// out[1] gets the first position at which each could be inserted, the last where params[0] is 1.
// scratch, where given, holds the order of the rows.
struct SearchSorted {
  template <class T>
  static void row(const lt_scan *s) {
    for (int64_t o = 0; o < s->outer; o++) {
      const T *in = (const T *)s->in + o * s->inner;
      const int64_t *order = s->scratch ? (const int64_t *)s->scratch + o * s->inner : nullptr;
      const T *values = (const T *)s->out[0] + o * s->width;
      int64_t *out = (int64_t *)s->out[1] + o * s->width;
      // The check pays if there are many values to search for.
      const bool ordered = s->width >= s->n &&
                           in_order<T>(s->n, [=](int64_t j) { return in[order ? order[j] : j]; });
      const auto search = [=](auto before) {
        search_all<T>(
            s->width, s->n, [=](int64_t i) { return values[i]; }, before,
            [=](int64_t i, int64_t found) { out[i] = found; }, ordered);
      };
      if (order && s->params[0])
        search([=](int64_t j, T v) { return !is_greater(in[order[j]], v); });
      else if (order)
        search([=](int64_t j, T v) { return !is_at_least(in[order[j]], v); });
      else if (s->params[0])
        search([=](int64_t j, T v) { return !is_greater(in[j], v); });
      else
        search([=](int64_t j, T v) { return !is_at_least(in[j], v); });
    }
  }
};

using Median = Select<kMedian>;
using NanMedian = Select<kNanMedian>;

}  // namespace
}  // namespace lt

LT_UNIT(sort){
    {"sort", "", LT_SORTED(Sort)},
    {"median", "", LT_SORTED(Median)},
    {"nanmedian", "", LT_SORTED(NanMedian)},
    {"topk", "", LT_SORTED(TopK)},
    {"kthvalue", "", LT_SORTED(KthValue)},
    {"mode", "", LT_SORTED(Mode)},
    {"searchsorted", "", LT_SORTED(SearchSorted)},
    LT_END,
};
