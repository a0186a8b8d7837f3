#define _GNU_SOURCE
#include "alloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define LT_HUGE ((size_t)1 << 21)
#define LT_PAGE ((size_t)1 << 12)

static size_t pages(size_t size) { return (size + LT_PAGE - 1) & ~(LT_PAGE - 1); }

// Go ends the process if it cannot extend its heap. With a limited address space, tensors reserve
// this much for it.
#define LT_HEAP ((size_t)72 << 20)

static int leaves_heap(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return 1;
  void *p = mmap(NULL, LT_HEAP, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p != MAP_FAILED && !munmap(p, LT_HEAP);
}

static void *map(size_t size) {
  void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return NULL;
  if (leaves_heap()) return p;
  munmap(p, size);
  return NULL;
}

void *lt_map_large(size_t size) {
  // Map one huge page more and unmap the ends, so that the block starts on a huge page. A last part
  // smaller than a huge page keeps small pages.
  const size_t length = pages(size);
  if (length < size || length + LT_HUGE < length) return NULL;
  char *base = map(length + LT_HUGE);
  if (!base) return NULL;
  char *block = (char *)(((size_t)base + LT_HUGE - 1) & ~(LT_HUGE - 1));
  const size_t head = (size_t)(block - base);
  if (head) munmap(base, head);
  if (head < LT_HUGE) munmap(block + length, LT_HUGE - head);
#ifdef MADV_HUGEPAGE
  if (length >= LT_HUGE) madvise(block, length & ~(LT_HUGE - 1), MADV_HUGEPAGE);
#endif
  return block;
}

void lt_unmap_large(void *p, size_t size) { munmap(p, pages(size)); }

void *lt_map_slab(size_t size) { return map(pages(size)); }
void lt_unmap_slab(void *p, size_t size) { munmap(p, pages(size)); }

void lt_cool(void *block, size_t size) {
  char *first = (char *)pages((size_t)block);
  char *end = (char *)(((size_t)block + size) & ~(LT_PAGE - 1));
  if (end > first) madvise(first, (size_t)(end - first), MADV_DONTNEED);
}

int lt_sanitized(void) {
#ifdef __SANITIZE_ADDRESS__
  return 1;
#else
  return 0;
#endif
}

void *lt_alloc(size_t size) {
  void *p;
  return posix_memalign(&p, 64, size) ? NULL : p;
}
void lt_free(void *p) { free(p); }

void lt_zero(void *p, size_t size) { memset(p, 0, size); }

void lt_call_deleter(uintptr_t deleter, uintptr_t context) {
  ((void (*)(void *))deleter)((void *)context);
}
