// Memory for tensor data: 64-byte aligned, outside the Go heap.
#ifndef LIBTENSOR_STORAGE_ALLOC_H
#define LIBTENSOR_STORAGE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

// Large blocks are mapped, in huge pages where the system has them, and are zero; NULL when there
// is no memory.
void *lt_map_large(size_t size);
void lt_unmap_large(void *p, size_t size);
// Mappings that are split into small blocks. lt_cool returns the pages inside of a block to the
// system; they read as zero afterwards.
void *lt_map_slab(size_t size);
void lt_unmap_slab(void *p, size_t size);
void lt_cool(void *block, size_t size);
// Whether each block is allocated by malloc, so that an address sanitizer knows its bounds.
int lt_sanitized(void);
void *lt_alloc(size_t size);
void lt_free(void *p);
void lt_zero(void *p, size_t size);
// Calls an external owner's deleter.
void lt_call_deleter(uintptr_t deleter, uintptr_t context);

#endif
