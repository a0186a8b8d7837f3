// A child that is forked after the first call has a copy of its parent's memory, but none of the
// threads of Go's runtime, which cannot run without them. lt_reset restores the library's writable
// data to their state before Go started, so that the runtime can be started again. The heap of the
// parent's runtime stays mapped; capi/inherit.go reads the parent's tensors from it.
#define _GNU_SOURCE
#include "restart.h"

#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// LT_ALONE is true if the writable segment contains only the library's data: the linker defines
// lt_alone in the shared library but not in the static one (capi/link). Sanitizers put redzones
// between variables, which must not be read.
extern char lt_alone[] __attribute__((weak));
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define LT_ALONE 0
#else
#define LT_ALONE (lt_alone != NULL)
#endif
// Start and end of the section lt_kept, defined by the linker.
extern char __start_lt_kept[], __stop_lt_kept[];
// glibc's function for the address of a thread-local variable: {module, offset}.
extern void *__tls_get_addr(size_t *);

// The writable data of the library: `filled` initialized bytes (.data), then zeros up to `end`
// (.bss).
typedef struct {
  char *begin;
  size_t filled;
  char *end;
  size_t tls_module, tls_bytes;
} image;

typedef struct {
  image image;
  char *pristine;                            // a copy of the initialized bytes before Go started
  struct sigaction before[NSIG], gos[NSIG];  // signal handlers before Go started, and Go's own
  struct sigaction programs[NSIG];           // in a child: handlers that replaced Go's
  _Bool replaced[NSIG];
} snapshot;

LT_KEPT _Atomic int lt_state;
LT_KEPT static snapshot *taken;

enum { KEYS = 16, CARRIED = 64 };
LT_KEPT static pthread_key_t keys[KEYS];
LT_KEPT static int key_count;

LT_KEPT static struct {
  void *address, *parents;
  size_t size;
} carried[CARRIED];
LT_KEPT static int carried_count;

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }
static char *page_of(char *address) { return address - (size_t)address % page_size(); }

// Callback of dl_iterate_phdr: writes the image of the library and returns 1 if `info` describes
// the library.
static int find_image(struct dl_phdr_info *info, size_t size, void *result) {
  (void)size;
  image *found = result;
  char *base = (char *)info->dlpi_addr, *unchanging = NULL;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    char *begin = base + p->p_vaddr, *end = begin + p->p_memsz;
    if (p->p_type == PT_LOAD && __start_lt_kept >= begin && __start_lt_kept < end)
      *found = (image){begin, p->p_filesz, end, found->tls_module, found->tls_bytes};
    if (p->p_type == PT_GNU_RELRO) unchanging = page_of(end);
    if (p->p_type == PT_TLS)
      found->tls_module = info->dlpi_tls_modid, found->tls_bytes = p->p_memsz;
  }
  if (!found->begin) return found->tls_module = found->tls_bytes = 0, 0;
  if (unchanging > found->begin) {
    found->filled -= (size_t)(unchanging - found->begin);
    found->begin = unchanging;
  }
  return 1;
}

static void read_handlers(struct sigaction *handlers) {
  for (int i = 1; i < NSIG; i++)
    if (sigaction(i, NULL, &handlers[i])) handlers[i].sa_handler = SIG_ERR;
}

_Bool lt_snapshot(void) {
  if (!taken) {
    snapshot *s = calloc(1, sizeof *s);
    if (!s) return 0;
    if (LT_ALONE && dl_iterate_phdr(find_image, &s->image)) {
      if (!(s->pristine = malloc(s->image.filled))) return free(s), 0;
      memcpy(s->pristine, s->image.begin, s->image.filled);
    }
    taken = s;
  }
  read_handlers(taken->before);
  return 1;
}

void lt_note_handlers(void) {
  read_handlers(taken->gos);
  for (int i = 1; i < NSIG; i++)
    if (taken->replaced[i]) sigaction(i, &taken->programs[i], NULL);
}

// Restores the handlers from before Go started. A handler that the program installed after Go's
// may call Go's handler. If it stayed installed, the new runtime would forward signals to it as
// the previous handler, and the two would call each other without end.
static void restore_handlers(void) {
  read_handlers(taken->programs);
  for (int i = 1; i < NSIG; i++) {
    if (taken->before[i].sa_handler == SIG_ERR) continue;
    taken->replaced[i] = taken->programs[i].sa_handler != taken->gos[i].sa_handler;
    sigaction(i, &taken->before[i], NULL);
  }
}

void lt_note_key(pthread_key_t key) {
  if (key_count < KEYS) keys[key_count++] = key;
}

void lt_keep_key(pthread_key_t key) {
  if (key_count && keys[key_count - 1] == key) key_count--;
}

// Deletes the keys of the parent's runtime: their destructors would call it when the thread ends.
static void delete_keys(void) {
  while (key_count) {
    const pthread_key_t key = keys[--key_count];
    pthread_setspecific(key, NULL);
    pthread_key_delete(key);
  }
}

_Bool lt_can_reset(void) { return taken && taken->pristine; }

static _Bool copy_carried(void) {
  for (int i = 0; i < carried_count; i++) {
    if (!carried[i].parents && !(carried[i].parents = malloc(carried[i].size))) return 0;
    memcpy(carried[i].parents, carried[i].address, carried[i].size);
  }
  return 1;
}

static void reset_data(const image *data) {
  char *zeros = data->begin + data->filled, *whole = page_of(zeros + page_size() - 1);
  if (whole > data->end) whole = data->end;
  memset(zeros, 0, (size_t)(whole - zeros));
  madvise(whole, (size_t)(page_of(data->end + page_size() - 1) - whole), MADV_DONTNEED);
  memcpy(data->begin, taken->pristine, data->filled);
}

// Zeroes the library's thread-local variables. They include the pointer to the goroutine that the
// parent's runtime ran on this thread.
static void reset_thread(const image *data) {
  size_t first[] = {data->tls_module, 0};
  memset(__tls_get_addr(first), 0, data->tls_bytes);
}

_Bool lt_reset(void) {
  const size_t size = (size_t)(__stop_lt_kept - __start_lt_kept);
  char *kept = malloc(size);
  if (!kept || !copy_carried()) return free(kept), 0;
  delete_keys();
  restore_handlers();
  memcpy(kept, __start_lt_kept, size);
  const image data = taken->image;
  reset_data(&data);
  memcpy(__start_lt_kept, kept, size);
  free(kept);
  reset_thread(&data);
  return 1;
}

void *lt_carry(uintptr_t address, size_t size) {
  for (int i = 0; i < carried_count; i++)
    if (carried[i].address == (void *)address) return carried[i].parents;
  if (carried_count == CARRIED) return NULL;
  carried[carried_count].address = (void *)address;
  carried[carried_count++].size = size;
  return NULL;
}

void lt_free_carried(void *parents) {
  for (int i = 0; i < carried_count; i++)
    if (carried[i].parents == parents) carried[i].parents = NULL;
  free(parents);
}
