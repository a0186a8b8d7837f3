// Copies of many rows of few bytes, without a call for each row.
#ifndef LIBTENSOR_KERNEL_SHORT_ROWS_H
#define LIBTENSOR_KERNEL_SHORT_ROWS_H

#include "prelude.h"

namespace lt {
namespace {

// Copies rows of n bytes; the steps between them are in bytes, too.
typedef void (*CopyRows)(char *dst, int64_t dst_step, const char *src, int64_t src_step, int64_t n,
                         int64_t rows);

// For n from w to 2 w: w bytes from the start and w up to the end, which may overlap. A row may
// overlap its copy, as all of it is read first.
template <int w>
void copy_short_rows(char *dst, int64_t dst_step, const char *src, int64_t src_step, int64_t n,
                     int64_t rows) {
  struct Part {
    char bytes[w];
  };
  for (; rows > 0; rows--, dst += dst_step, src += src_step) {
    Part head, tail;
    memcpy(&head, src, w);
    memcpy(&tail, src + n - w, w);
    memcpy(dst, &head, w);
    memcpy(dst + n - w, &tail, w);
  }
}

// The function for rows of n bytes, NULL if they are not short.
template <int w = 1>
LT_INLINE CopyRows find_copy_rows(int64_t n) {
  if (n <= 2 * w) return n < w ? nullptr : copy_short_rows<w>;
  if constexpr (w < 128)
    return find_copy_rows<2 * w>(n);
  else
    return nullptr;
}

}  // namespace
}  // namespace lt
#endif
