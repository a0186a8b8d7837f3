// The application's allocator of tensor memory, which Go calls.
#ifndef LIBTENSOR_CAPI_ALLOCATOR_H
#define LIBTENSOR_CAPI_ALLOCATOR_H

#include "callback.h"

// Without an allocator, allocations only read `current`.
extern lt_callback_slot lt_allocator;

// Allocates size bytes, and writes their allocator to *owner, which lives until the memory is
// freed. Returns NULL if there is no allocator (*owner is NULL then) or no memory, or if the
// address is not a multiple of alignment.
void *lt_allocate(int64_t size, int64_t alignment, lt_callback **owner);
void lt_deallocate(lt_callback *owner, void *data, int64_t size);

#endif
