#define _GNU_SOURCE
#include "alloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// Blocks of this size and more are mapped, so that the kernel can back them with huge pages.
#define LT_MAPPED ((size_t)1 << 20)
#define LT_HUGE ((size_t)1 << 21)

void *lt_alloc(size_t size, int *zeroed) {
  *zeroed = 0;
  if (size < LT_MAPPED) return aligned_alloc(64, (size + 63) & ~(size_t)63);
  // Over-map by one huge page and give back the ends, so that the block starts on a huge page.
  size_t length = (size + LT_HUGE - 1) & ~(LT_HUGE - 1);
  if (length < size || length + LT_HUGE < length) return NULL;
  char *base =
      mmap(NULL, length + LT_HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return NULL;
  char *block = (char *)(((size_t)base + LT_HUGE - 1) & ~(LT_HUGE - 1));
  size_t head = (size_t)(block - base);
  if (head) munmap(base, head);
  munmap(block + length, LT_HUGE - head);
#ifdef MADV_HUGEPAGE
  madvise(block, length, MADV_HUGEPAGE);
#endif
  *zeroed = 1;
  return block;
}

void lt_release(void *p, size_t size) {
  if (size < LT_MAPPED) {
    free(p);
    return;
  }
  munmap(p, (size + LT_HUGE - 1) & ~(LT_HUGE - 1));
}

void lt_zero(void *p, size_t size) { memset(p, 0, size); }

void lt_call_deleter(void *deleter, void *context) { ((void (*)(void *))deleter)(context); }
