#define _GNU_SOURCE
#include "region.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void lt_look(lt_region *m) {
  struct stat s;
  m->error = 0;
  if (m->fd < 0 || fstat(m->fd, &s)) {
    m->error = errno;
    return;
  }
  m->length = s.st_size, m->device = (uint64_t)s.st_dev, m->id = (uint64_t)s.st_ino;
}

void lt_open(lt_region *m, const char *path, int writable) {
  m->fd = open(path, (writable ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC, 0600);
  lt_look(m);
}

void lt_open_anonymous(lt_region *m, int64_t length) {
#ifdef __linux__
  m->fd = memfd_create("libtensor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
#else
  // Unlinked at once: the memory then lives only as long as a process has it open.
  static _Atomic unsigned counter;
  char name[64];
  snprintf(name, sizeof name, "/libtensor-%ld-%u", (long)getpid(), counter++);
  m->fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (m->fd >= 0) shm_unlink(name);
#endif
  if (m->fd >= 0) lt_extend(m, length);
  lt_look(m);
#ifdef __linux__
  if (!m->error) fcntl(m->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
#endif
}

void lt_open_again(lt_region *m, int fd) {
  m->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  lt_look(m);
}

int lt_sealed(int fd) {
#ifdef __linux__
  int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && seals & F_SEAL_SHRINK;
#else
  (void)fd;
  return 1;  // memory of shm_open keeps the size that it was given first
#endif
}

void lt_extend(lt_region *m, int64_t length) {
  m->error = ftruncate(m->fd, length) ? errno : 0;
  if (!m->error) m->length = length;
}

void lt_map(lt_region *m, int64_t length, int shared) {
  void *p = mmap(NULL, (size_t)length, PROT_READ | PROT_WRITE,
                 shared ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE, m->fd, 0);
  m->error = p == MAP_FAILED ? errno : 0;
  m->data = m->error ? NULL : p;
}

void lt_unmap(void *data, int64_t length) {
  if (data) munmap(data, (size_t)length);
}

void lt_close(int fd) {
  if (fd >= 0) close(fd);
}
