// Memory behind a file descriptor: files, and anonymous memory that processes share.
#ifndef LIBTENSOR_STORAGE_REGION_H
#define LIBTENSOR_STORAGE_REGION_H

#include <stdint.h>

// Results of the functions below. error is an errno, or 0.
typedef struct lt_region {
  void *data;
  int64_t length;       // of the mapping, or of the file
  uint64_t device, id;  // equal for descriptors of the same memory
  int fd, error;
  int created;  // whether lt_open made the file
} lt_region;

// Finds the length and identity of an open file.
void lt_look(lt_region *m);
// Opens a file; a writable one is created if it does not exist.
void lt_open(lt_region *m, const char *path, int writable);
// Takes the file away again that lt_open made, if it did.
void lt_remove_created(lt_region *m, const char *path);
// Creates anonymous memory of length zero bytes with a size that cannot change.
void lt_open_anonymous(lt_region *m, int64_t length);
// Another descriptor of the same memory, which outlives the one given.
void lt_open_again(lt_region *m, int fd);
// Whether the memory cannot be truncated.
int lt_sealed(int fd);
// Makes the file at least length bytes long.
void lt_extend(lt_region *m, int64_t length);
// Maps length bytes; shared changes reach the file.
void lt_map(lt_region *m, int64_t length, int shared);
// Releases the mapping and the descriptor (-1: none).
void lt_unmap(void *data, int64_t length);
void lt_close(int fd);

#endif
