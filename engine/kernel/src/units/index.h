// Reading and writing at positions that an index operand names. The indexed operand does not move
// along the indexed dimension: its stride there is 0.
#include "../places.h"
#include "../rows.h"

namespace lt {
namespace {

// n elements, contiguous or strided, or the same one n times.
template <class T>
LT_INLINE void move_row(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n) {
  if (to_step == (int64_t)sizeof(T) && from_step == (int64_t)sizeof(T)) {
    memcpy(to, from, (size_t)n * sizeof(T));
    return;
  }
  if (to_step == (int64_t)sizeof(T) && from_step == 0) {
    const T value = *(const T *)from;
    for (int64_t i = 0; i < n; i++) ((T *)to)[i] = value;
    return;
  }
  for (int64_t i = 0; i < n; i++) *(T *)(to + i * to_step) = *(const T *)(from + i * from_step);
}

// Searches for an index out of the range in params; with a step other than 0, negative indices
// count from the end.
struct OutOfRange {
  template <class T>
  static void row(char *const *data, const int64_t *s, int64_t n, const void *params) {
    lt_place_params *p = (lt_place_params *)params;
    if (p->failed) return;
    const int64_t size = p->size, least = p->step ? -size : 0;
    int64_t lowest = least, highest = size - 1;
    if (s[0] == 8) {
      const int64_t *index = (const int64_t *)data[0];
      for (int64_t i = 0; i < n; i++) {
        lowest = index[i] < lowest ? index[i] : lowest;
        highest = index[i] > highest ? index[i] : highest;
      }
      if (lowest == least && highest == size - 1) return;
    }
    for (int64_t i = 0; i < n; i++) {
      const int64_t at = *(const volatile int64_t *)(data[0] + i * s[0]);
      if (at >= least && at < size) continue;
      p->bad = at;
      p->failed = 1;
      return;
    }
  }
};

// out = self[index]
struct Gather {
  template <class T>
  static void row(char *const *data, const int64_t *s, int64_t n, const void *params) {
    const Places place(params);
    if (place.failed()) return;
    char *out = data[0];
    const char *self = data[1], *index = data[2];
    const int64_t so = s[0], ss = s[1], si = s[2];
    if (si == 0) {
      const int64_t at = place(index);
      if (at >= 0) move_row<T>(out, so, self + at, ss, n);
      return;
    }
    if (so == (int64_t)sizeof(T) && ss == 0 && si == 8) {
      place.each<T>(index, 8, n,
                    [=](int64_t i, int64_t at) { ((T *)out)[i] = *(const T *)(self + at); });
      return;
    }
    place.each<T>(index, si, n, [=](int64_t i, int64_t at) {
      *(T *)(out + i * so) = *(const T *)(self + i * ss + at);
    });
  }
};

// self[index] = source
struct Put {
  template <class T>
  static void row(char *const *data, const int64_t *s, int64_t n, const void *params) {
    const Places place(params);
    if (place.failed()) return;
    char *self = data[0];
    const char *index = data[1], *source = data[2];
    const int64_t so = s[0], si = s[1], ss = s[2];
    if (si == 0) {
      const int64_t at = place(index);
      if (at >= 0) move_row<T>(self + at, so, source, ss, n);
      return;
    }
    place.each<T>(index, si, n, [=](int64_t i, int64_t at) {
      *(T *)(self + i * so + at) = *(const T *)(source + i * ss);
    });
  }
};

// out = sum + the bytes to the element that index names, over the several dimensions of an index.
struct Locate {
  // The result of an index out of range on a device: no sum of it is a position.
  static constexpr int64_t kOutside = -(int64_t(1) << 62);

  template <class T>
  static void row(char *const *data, const int64_t *s, int64_t n, const void *params) {
    const Places place(params);
    if (place.failed()) return;
    place.each<T>(data[2], s[2], n, [=](int64_t i, int64_t at) {
      *(int64_t *)(data[0] + i * s[0]) = *(const int64_t *)(data[1] + i * s[1]) + at;
    });
  }
};

// Where mask is set, out = the value in params.
struct MaskedFill {
  template <class T>
  static void row(char *const *data, const int64_t *s, int64_t n, const void *params) {
    const T value = *(const T *)params;
    char *out = data[0];
    const char *mask = data[1];
    if (s[0] == (int64_t)sizeof(T) && s[1] == 1) {
      T *o = (T *)out;
      const uint8_t *m = (const uint8_t *)mask;
      for (int64_t i = 0; i < n; i++) o[i] = m[i] ? value : o[i];
      return;
    }
    for (int64_t i = 0; i < n; i++)
      if (mask[i * s[1]]) *(T *)(out + i * s[0]) = value;
  }
};

}  // namespace
}  // namespace lt

// Elements are moved as the bytes they are: one row per element size, under a dtype of that size.
// clang-format off
#define LT_BYTES(OP) {LT_NONE, LT_ROW(OP, uint8_t), LT_NONE, LT_ROW(OP, int16_t), LT_ROW(OP, int32_t), LT_ROW(OP, int64_t), \
                      LT_NONE, LT_NONE, LT_NONE, LT_NO_FLOATS, LT_NONE, LT_ROW(OP, lt::Complex128), LT_NONE, LT_NONE}
#define LT_INT64(OP) {LT_NONE, LT_NONE, LT_NONE, LT_NONE, LT_NONE, LT_ROW(OP, int64_t)}
// clang-format on

LT_UNIT(index){
    {"gather", "T=Xl", LT_BYTES(Gather)},         {"put", "X=lT", LT_BYTES(Put)},
    {"locate", "T=Tl", LT_INT64(Locate)},         {"out_of_range", "=l", LT_INT64(OutOfRange)},
    {"masked_fill", "T=b", LT_BYTES(MaskedFill)}, LT_END,
};
