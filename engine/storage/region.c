#define _GNU_SOURCE
#include "region.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

// Makes the file that path, or the link there, names, which was not there before.
static void make(lt_region *m, const char *path) {
  struct stat s;
  m->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  m->created = m->fd >= 0;
  if (m->created || errno != EEXIST) return;
  m->created = !lstat(path, &s) &&
               S_ISLNK(s.st_mode);  // otherwise another process created it in the meantime
  m->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

void lt_open(lt_region *m, const char *path, int writable) {
  m->created = 0;
  m->fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  if (m->fd < 0 && errno == ENOENT && writable) make(m, path);
  lt_look(m);
}

void lt_remove_created(lt_region *m, const char *path) {
  struct stat s;
  char *target = m->created ? realpath(path, NULL) : NULL;  // a link stays
  if (target && !stat(target, &s) && (uint64_t)s.st_dev == m->device && (uint64_t)s.st_ino == m->id)
    unlink(target);
  free(target);
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
  lt_look(m);
  if (!m->error) lt_extend(m, length);
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

// Takes the place of new bytes, where the file system can: a write to a place that is not there
// ends the process.
static int take_place(lt_region *m, int64_t length) {
#ifdef __linux__
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);  // each would make it begin again
  int error;
  do error = fallocate(m->fd, 0, m->length, length - m->length) ? errno : 0;
  while (error == EINTR);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  // Only an error that reports a missing system call allows blocks to be allocated later.
  return error == EOPNOTSUPP || error == ENOSYS || error == EINVAL ? 0 : error;
#else
  (void)m, (void)length;
  return 0;
#endif
}

void lt_extend(lt_region *m, int64_t length) {
  struct rlimit limit;
  m->error = 0;
  if (length <= m->length) return;
  // Beyond this limit the system ends programs that do not expect it.
  if (!getrlimit(RLIMIT_FSIZE, &limit) && (uint64_t)length > limit.rlim_cur) {
    m->error = EFBIG;
    return;
  }
  m->error = take_place(m, length);
  int64_t size = m->error ? m->length : length;  // frees what was allocated in part
  if (ftruncate(m->fd, size) && !m->error) m->error = errno;
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
