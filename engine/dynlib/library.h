// Shared libraries that are opened while this one runs.
#ifndef LIBTENSOR_LIBRARY_H
#define LIBTENSOR_LIBRARY_H

#include <stddef.h>

// Opens a library; on failure returns NULL and the reason.
void *lt_library_open(const char *path, char *why, size_t size);
// A function of a library, NULL for none.
void *lt_library_find(void *library, const char *name);
// Fills the slots with the addresses of the names, with a prefix and a suffix. Returns the first
// missing name, or NULL if there are all.
const char *lt_library_take(void *library, const char *prefix, const char *suffix,
                            const char *const *names, void **slots, size_t count);
// The resource for opening a library that the process lacks: descriptors, or 64 MiB of memory.
enum { LT_NO_SHORTAGE, LT_NO_DESCRIPTOR, LT_NO_MEMORY };
int lt_library_shortage(void);
// Writes the folder of the shared object that contains this function. Returns 0 if it is unknown.
int lt_library_folder(char *path, size_t size);

#endif
