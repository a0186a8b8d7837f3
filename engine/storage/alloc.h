// Memory for tensor data: 64-byte aligned, outside the Go heap.
#ifndef LIBTENSOR_STORAGE_ALLOC_H
#define LIBTENSOR_STORAGE_ALLOC_H

#include <stddef.h>

// Allocates size bytes (size > 0), NULL when there is no memory. *zeroed tells whether the bytes
// are known to be 0.
void *lt_alloc(size_t size, int *zeroed);
void lt_release(void *p, size_t size);
void lt_zero(void *p, size_t size);
// Calls an external owner's deleter.
void lt_call_deleter(void *deleter, void *context);

#endif
