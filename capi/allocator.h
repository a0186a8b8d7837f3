// The application's allocator of tensor memory, which Go calls.
#ifndef LIBTENSOR_CAPI_ALLOCATOR_H
#define LIBTENSOR_CAPI_ALLOCATOR_H

#include <stdatomic.h>

#include "callback.h"

// Whether an allocator is set: without one, allocations only read this.
extern _Atomic int32_t lt_allocator_set;

// Allocates size bytes, and writes their allocator to *owner, which lives until the memory is
// freed. Returns NULL if there is no allocator (*owner is NULL then) or no memory, or if the
// address is not a multiple of alignment.
void *lt_allocate(int64_t size, int64_t alignment, lt_callback **owner);
void lt_deallocate(lt_callback *owner, void *data, int64_t size);

#endif
