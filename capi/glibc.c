// The functions of glibc with a newer version since 2.27, in their first version. Linkers use these
// instead (glibc-flags).
#define _GNU_SOURCE
#include "glibc.h"

#ifdef LT_GLIBC

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#define CALLS(old, result, name, parameters, arguments) \
  result first_##name parameters;                       \
  LT_FIRST(first_##name, old);                          \
  result __wrap_##name parameters { return first_##name arguments; }
#define OLD(result, name, parameters, arguments) CALLS(name, result, name, parameters, arguments)

OLD(double, exp, (double x), (x))
OLD(double, log, (double x), (x))
OLD(double, pow, (double x, double y), (x, y))
OLD(double, log2, (double x), (x))
OLD(double, hypot, (double x, double y), (x, y))

OLD(double, fmod, (double x, double y), (x, y))
OLD(float, fmodf, (float x, float y), (x, y))

// The versions that newer headers call also accept binary digits, 0b1.
CALLS(strtoll, long long, __isoc23_strtoll, (const char *text, char **end, int base),
      (text, end, base))
CALLS(strtoull, unsigned long long, __isoc23_strtoull, (const char *text, char **end, int base),
      (text, end, base))

OLD(void *, dlopen, (const char *name, int flags), (name, flags))
OLD(void *, dlsym, (void *library, const char *name), (library, name))
OLD(int, dladdr, (const void *address, Dl_info *found), (address, found))
OLD(char *, dlerror, (void), ())

// The library defines its own version (threads.c).
__attribute__((weak)) int __wrap_pthread_create(pthread_t *, const pthread_attr_t *,
                                                void *(*)(void *), void *);
OLD(int, pthread_create,
    (pthread_t * thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument),
    (thread, attributes, body, argument))
OLD(int, pthread_once, (pthread_once_t * once, void (*body)(void)), (once, body))
OLD(int, pthread_kill, (pthread_t thread, int number), (thread, number))
OLD(int, pthread_detach, (pthread_t thread), (thread))
OLD(int, pthread_sigmask, (int how, const sigset_t *mask, sigset_t *before), (how, mask, before))
int first_pthread_key_create(pthread_key_t *, void (*)(void *));
LT_FIRST(first_pthread_key_create, pthread_key_create);
__attribute__((weak)) void lt_note_key(pthread_key_t key);
int __wrap_pthread_key_create(pthread_key_t *key, void (*end)(void *)) {
  const int error = first_pthread_key_create(key, end);
  if (!error && lt_note_key) lt_note_key(*key);
  return error;
}
OLD(int, pthread_key_delete, (pthread_key_t key), (key))
OLD(int, pthread_setspecific, (pthread_key_t key, const void *value), (key, value))
OLD(int, pthread_getattr_np, (pthread_t thread, pthread_attr_t *attributes), (thread, attributes))
OLD(int, pthread_attr_getstack, (const pthread_attr_t *attributes, void **base, size_t *size),
    (attributes, base, size))
OLD(int, pthread_attr_getstacksize, (const pthread_attr_t *attributes, size_t *size),
    (attributes, size))

// These were in each program before, and called others with the version of the structure.
#ifdef __x86_64__
enum { VERSION = 1 };
#else
enum { VERSION = 0 };
#endif
int __xstat(int, const char *, struct stat *);
int __lxstat(int, const char *, struct stat *);
int __fxstat(int, int, struct stat *);

int __wrap_stat(const char *path, struct stat *s) { return __xstat(VERSION, path, s); }
int __wrap_lstat(const char *path, struct stat *s) { return __lxstat(VERSION, path, s); }
int __wrap_fstat(int file, struct stat *s) { return __fxstat(VERSION, file, s); }

#endif
