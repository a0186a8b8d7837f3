// Scratch memory of a kernel.
#ifndef LIBTENSOR_KERNEL_SRC_ARENA_H
#define LIBTENSOR_KERNEL_SRC_ARENA_H

#include "prelude.h"

namespace lt {
namespace {

// Memory that is allocated consecutively, or only counted without memory.
struct Arena {
  char *base;
  int64_t used = 0;
  template <class U>
  U *take(int64_t n) {
    char *at = base + used;
    used += (n * int64_t(sizeof(U)) + 63) / 64 * 64;
    return (U *)at;
  }
};

}  // namespace
}  // namespace lt
#endif
