// Shared libraries that are opened while this one runs.
#ifndef LIBTENSOR_LIBRARY_H
#define LIBTENSOR_LIBRARY_H

#include <stddef.h>

// Opens a library; NULL where it cannot be, and why.
void *lt_library_open(const char *path, char *why, size_t size);
// A function of a library, NULL for none.
void *lt_library_find(void *library, const char *name);
// Fills the slots with the functions of the names, between a prefix and a suffix; gives the first
// name that there is none of, NULL where there are all.
const char *lt_library_take(void *library, const char *prefix, const char *suffix,
                            const char *const *names, void **slots, size_t count);
// What the process has none of that opening a library takes: descriptors, or 64 MiB of memory.
enum { LT_NO_SHORTAGE, LT_NO_DESCRIPTOR, LT_NO_MEMORY };
int lt_library_shortage(void);
// Writes the folder of the shared object that this function is in; 0 where there is none.
int lt_library_folder(char *path, size_t size);

#endif
