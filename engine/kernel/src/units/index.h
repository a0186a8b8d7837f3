// Reading and writing at positions that an index operand names. The indexed operand does not move
// along the indexed dimension (its stride there is 0); params hold the bytes from one position to
// the next.
#include "../rows.h"

namespace lt {
namespace {

// out = self[index]
struct Gather {
  template <class T>
  static void row(char *const *data, const int64_t *s, int64_t n, const void *params) {
    const int64_t step = *(const int64_t *)params;
    char *out = data[0];
    const char *self = data[1], *index = data[2];
    if (s[2] == 0) {
      self += *(const int64_t *)index * step;
      if (s[0] == (int64_t)sizeof(T) && s[1] == (int64_t)sizeof(T)) {
        memcpy(out, self, (size_t)n * sizeof(T));
        return;
      }
      for (int64_t i = 0; i < n; i++) *(T *)(out + i * s[0]) = *(const T *)(self + i * s[1]);
      return;
    }
    const int64_t so = s[0], ss = s[1], si = s[2];
    if (so == (int64_t)sizeof(T) && ss == 0 && si == 8) {
      T *__restrict o = (T *)out;
      const int64_t *__restrict at = (const int64_t *)index;
      if (step == (int64_t)sizeof(T))
        for (int64_t i = 0; i < n; i++) o[i] = ((const T *)self)[at[i]];
      else
        for (int64_t i = 0; i < n; i++) o[i] = *(const T *)(self + at[i] * step);
      return;
    }
    for (int64_t i = 0; i < n; i++)
      *(T *)(out + i * so) =
          *(const T *)(self + i * ss + *(const int64_t *)(index + i * si) * step);
  }
};

// self[index] = source
struct Put {
  template <class T>
  static void row(char *const *data, const int64_t *s, int64_t n, const void *params) {
    const int64_t step = *(const int64_t *)params;
    char *self = data[0];
    const char *index = data[1], *source = data[2];
    if (s[1] == 0) {
      self += *(const int64_t *)index * step;
      if (s[0] == (int64_t)sizeof(T) && s[2] == (int64_t)sizeof(T)) {
        memcpy(self, source, (size_t)n * sizeof(T));
        return;
      }
      for (int64_t i = 0; i < n; i++) *(T *)(self + i * s[0]) = *(const T *)(source + i * s[2]);
      return;
    }
    const int64_t so = s[0], si = s[1], ss = s[2];
    if (so == 0 && si == 8 && ss == (int64_t)sizeof(T) && step == (int64_t)sizeof(T)) {
      const int64_t *__restrict at = (const int64_t *)index;
      const T *__restrict from = (const T *)source;
      for (int64_t i = 0; i < n; i++) ((T *)self)[at[i]] = from[i];
      return;
    }
    for (int64_t i = 0; i < n; i++)
      *(T *)(self + i * so + *(const int64_t *)(index + i * si) * step) =
          *(const T *)(source + i * ss);
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
                      LT_NO_FLOATS, LT_NONE, LT_ROW(OP, lt::Complex128), LT_NONE, LT_NONE}
// clang-format on

LT_UNIT(index){
    {"gather", "T=Tl", LT_BYTES(Gather)},
    {"put", "T=lT", LT_BYTES(Put)},
    {"masked_fill", "T=b", LT_BYTES(MaskedFill)},
    LT_END,
};
