// Selection and search.
#include "../search.h"
#include "../select.h"

namespace lt {
namespace {

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

// A value, or the key of a 16-bit float, to compare with another one or with that plus 1.
template <class T>
LT_INLINE int64_t wide_key(T value) {
  if constexpr (kind_of<T> == kFloating)
    return sort_key(value);
  else
    return (int64_t)value;
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
      const bool right = s->params[0];
      if constexpr (sizeof(T) < 4 || (kind_of<T> == kInteger && sizeof(T) == 4)) {
        const auto search = [=](auto before) {
          search_all<int64_t>(
              s->width, s->n, [=](int64_t i) { return wide_key(values[i]) + right; }, before,
              [=](int64_t i, int64_t found) { out[i] = found; }, ordered);
        };
        if (order)
          search([=](int64_t j, int64_t key) { return wide_key(in[order[j]]) < key; });
        else
          search([=](int64_t j, int64_t key) { return wide_key(in[j]) < key; });
      } else {
        const auto search = [=](auto before) {
          search_all<T>(
              s->width, s->n, [=](int64_t i) { return values[i]; }, before,
              [=](int64_t i, int64_t found) { out[i] = found; }, ordered);
        };
        if (order && right)
          search([=](int64_t j, T v) { return !is_greater(in[order[j]], v); });
        else if (order)
          search([=](int64_t j, T v) { return !is_at_least(in[order[j]], v); });
        else if (right)
          search([=](int64_t j, T v) { return !is_greater(in[j], v); });
        else
          search([=](int64_t j, T v) { return !is_at_least(in[j], v); });
      }
    }
  }
};

using Median = Select<kMedian>;
using NanMedian = Select<kNanMedian>;

}  // namespace
}  // namespace lt

LT_UNIT(sort){
    {"median", "", LT_SORTED(Median)},
    {"nanmedian", "", LT_SORTED(NanMedian)},
    {"topk", "", LT_SORTED(TopK)},
    {"kthvalue", "", LT_SORTED(KthValue)},
    {"mode", "", LT_SORTED(Mode)},
    {"searchsorted", "", LT_SORTED(SearchSorted)},
    LT_END,
};
