#define _GNU_SOURCE
#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *lt_library_open(const char *path, char *why, size_t size) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const char *error = library ? NULL : dlerror();
  if (!library) snprintf(why, size, "%s", error ? error : path);
  return library;
}

void *lt_library_find(void *library, const char *name) { return dlsym(library, name); }

const char *lt_library_take(void *library, const char *prefix, const char *suffix,
                            const char *const *names, void **slots, size_t count) {
  char symbol[128];
  for (size_t i = 0; i < count; i++) {
    snprintf(symbol, sizeof symbol, "%s%s%s", prefix, names[i], suffix);
    if (!(slots[i] = dlsym(library, symbol))) return names[i];
  }
  return NULL;
}

int lt_library_shortage(void) {
  const int fd = open("/", O_PATH | O_CLOEXEC);
  if (fd < 0) return errno == EMFILE || errno == ENFILE ? LT_NO_DESCRIPTOR : LT_NO_MEMORY;
  close(fd);
  const size_t bytes = (size_t)64 << 20;
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p != MAP_FAILED && !munmap(p, bytes) ? LT_NO_SHORTAGE : LT_NO_MEMORY;
}

int lt_library_folder(char *path, size_t size) {
  Dl_info info;
  if (!dladdr((void *)lt_library_folder, &info) || !info.dli_fname) return 0;
  const char *slash = strrchr(info.dli_fname, '/');
  if (!slash || (size_t)(slash - info.dli_fname) >= size) return 0;
  memcpy(path, info.dli_fname, (size_t)(slash - info.dli_fname));
  path[slash - info.dli_fname] = 0;
  return 1;
}
