#include "blas.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

enum { kRowMajor = 101, kNoTrans = 111, kTrans = 112, kConjTrans = 113 };

// Where integers have 32 bits, a routine reads the low half of a register, or of 8 bytes of stack:
// one type of function serves both, on the processors that there are.
typedef void (*sgemm_fn)(int, int, int, int64_t, int64_t, int64_t, float, const float *, int64_t,
                         const float *, int64_t, float, float *, int64_t);
typedef void (*dgemm_fn)(int, int, int, int64_t, int64_t, int64_t, double, const double *, int64_t,
                         const double *, int64_t, double, double *, int64_t);
typedef void (*zgemm_fn)(int, int, int, int64_t, int64_t, int64_t, const void *, const void *,
                         int64_t, const void *, int64_t, const void *, void *, int64_t);
typedef void (*sgemv_fn)(int, int, int64_t, int64_t, float, const float *, int64_t, const float *,
                         int64_t, float, float *, int64_t);
typedef void (*dgemv_fn)(int, int, int64_t, int64_t, double, const double *, int64_t,
                         const double *, int64_t, double, double *, int64_t);
typedef void (*zgemv_fn)(int, int, int64_t, int64_t, const void *, const void *, int64_t,
                         const void *, int64_t, const void *, void *, int64_t);

// The functions of the library that is opened, in the order of their names.
static struct {
  void *gemm[4], *gemv[4];
  int (*threads)(void);
  void (*set_threads)(int64_t);
  const char *(*config)(void);
  void *lapack;  // one routine of it: some builds leave LAPACK out
} blas;

const char *const lt_blas_names[LT_BLAS_NAMES] = {
    "cblas_sgemm",
    "cblas_dgemm",
    "cblas_cgemm",
    "cblas_zgemm",
    "cblas_sgemv",
    "cblas_dgemv",
    "cblas_cgemv",
    "cblas_zgemv",
    "openblas_get_num_threads",
    "openblas_set_num_threads",
    "openblas_get_config",
    "zgesdd_",
};
void *const lt_blas_slots = &blas;
_Static_assert(sizeof lt_blas_names == sizeof blas && sizeof blas / sizeof(void *) == LT_BLAS_NAMES,
               "each function has a name");

// OpenBLAS allocates memory for each concurrent call, keeps it for later ones, and ends the process
// if that fails. If the address space is limited, the memory is first requested here.
enum {
  kOwn = 36 << 20,
  kFile = 64 << 20
};  // 32 MiB and the memory around them; more than it loads
static atomic_int running, served;

static int has_room(size_t bytes) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return 1;
  void *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p != MAP_FAILED && !munmap(p, bytes);
}

// OpenBLAS takes a lock in each call, which a forked child would find locked forever. Therefore
// fork() waits until the calls of other threads return, and new calls wait for it.
static atomic_int forking;

static void sleep_briefly(void) { nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL); }

static void before_fork(void) {
  atomic_fetch_add(&forking, 1);
  while (atomic_load(&running)) sleep_briefly();
}

static void after_fork(void) { atomic_fetch_sub(&forking, 1); }

static void in_child(void) { atomic_store(&forking, 0); }

__attribute__((constructor)) static void watch_forks(void) {
  pthread_atfork(before_fork, after_fork, in_child);
}

// Counts a call that begins, and returns the number of calls.
static int enter(void) {
  for (;;) {
    const int now = atomic_fetch_add(&running, 1) + 1;
    if (!atomic_load(&forking)) return now;
    atomic_fetch_sub(&running, 1);
    while (atomic_load(&forking)) sleep_briefly();
  }
}

int lt_blas_begin(void) {
  const int now = enter();
  if (blas.threads() != 1) blas.set_threads(1);  // others in the process may set all OpenBLASes
  int before = atomic_load(&served);
  if (now <= before) return 1;
  if (!has_room(kOwn)) return atomic_fetch_sub(&running, 1), 0;
  while (before < now && !atomic_compare_exchange_weak(&served, &before, now)) continue;
  return 1;
}

void lt_blas_end(void) { atomic_fetch_sub(&running, 1); }

extern char **environ;

// OpenBLAS reads only its environment for the number of threads, which others may read and change
// concurrently: they have the program's environment, or the modified one.
static char **before, **with;  // with stays, for those who have begun to read it

int lt_blas_open(void) {
  static char alone[] = "OPENBLAS_NUM_THREADS=1";
  size_t variables = 0;
  before = environ;
  while (before && before[variables]) variables++;
  with = malloc((variables + 2) * sizeof *with);
  if (!with || !has_room(kFile + kOwn)) return free(with), 0;
  with[0] = alone;
  for (size_t i = 0; i < variables; i++) with[i + 1] = before[i];
  with[variables + 1] = NULL;
  environ = with;
  return 1;
}

void lt_blas_opened(void) {
  if (environ == with) environ = before;
}

int lt_blas_integer_bytes(void) { return strstr(blas.config(), "USE64BITINT") ? 8 : 4; }

static int form(int transposed, int conjugated) {
  if (!transposed) return kNoTrans;
  return conjugated ? kConjTrans : kTrans;
}

static void gemm(const lt_blas_product *p) {
  const int ta = form(p->a_transposed, p->a_conjugated),
            tb = form(p->b_transposed, p->b_conjugated);
  void *fn = blas.gemm[p->type];
  switch (p->type) {
    case 0:
      ((sgemm_fn)fn)(kRowMajor, ta, tb, p->m, p->n, p->k, (float)p->alpha[0], (const float *)p->a,
                     p->lda, (const float *)p->b, p->ldb, (float)p->beta[0], (float *)p->c, p->ldc);
      return;
    case 1:
      ((dgemm_fn)fn)(kRowMajor, ta, tb, p->m, p->n, p->k, p->alpha[0], (const double *)p->a, p->lda,
                     (const double *)p->b, p->ldb, p->beta[0], (double *)p->c, p->ldc);
      return;
    case 2: {
      const float alpha[2] = {(float)p->alpha[0], (float)p->alpha[1]},
                  beta[2] = {(float)p->beta[0], (float)p->beta[1]};
      ((zgemm_fn)fn)(kRowMajor, ta, tb, p->m, p->n, p->k, alpha, (const void *)p->a, p->lda,
                     (const void *)p->b, p->ldb, beta, (void *)p->c, p->ldc);
      return;
    }
    default:
      ((zgemm_fn)fn)(kRowMajor, ta, tb, p->m, p->n, p->k, p->alpha, (const void *)p->a, p->lda,
                     (const void *)p->b, p->ldb, p->beta, (void *)p->c, p->ldc);
  }
}

static void gemv(const lt_blas_product *p) {
  const int ta = form(p->a_transposed, p->a_conjugated);
  // BLAS describes the matrix as it is stored, before the transposition.
  const int64_t rows = p->a_transposed ? p->k : p->m, cols = p->a_transposed ? p->m : p->k;
  void *fn = blas.gemv[p->type];
  if (p->beta[0] == 0 && p->beta[1] == 0) {
    // Some versions scale by 0, which keeps the NaN that uninitialised memory may hold.
    static const int64_t sizes[4] = {4, 8, 8, 16};
    const int64_t size = sizes[p->type];
    for (int64_t i = 0; i < p->m; i++) memset((char *)p->c + i * p->ldc * size, 0, size);
  }
  switch (p->type) {
    case 0:
      ((sgemv_fn)fn)(kRowMajor, ta, rows, cols, (float)p->alpha[0], (const float *)p->a, p->lda,
                     (const float *)p->b, p->ldb, (float)p->beta[0], (float *)p->c, p->ldc);
      return;
    case 1:
      ((dgemv_fn)fn)(kRowMajor, ta, rows, cols, p->alpha[0], (const double *)p->a, p->lda,
                     (const double *)p->b, p->ldb, p->beta[0], (double *)p->c, p->ldc);
      return;
    case 2: {
      const float alpha[2] = {(float)p->alpha[0], (float)p->alpha[1]},
                  beta[2] = {(float)p->beta[0], (float)p->beta[1]};
      ((zgemv_fn)fn)(kRowMajor, ta, rows, cols, alpha, (const void *)p->a, p->lda,
                     (const void *)p->b, p->ldb, beta, (void *)p->c, p->ldc);
      return;
    }
    default:
      ((zgemv_fn)fn)(kRowMajor, ta, rows, cols, p->alpha, (const void *)p->a, p->lda,
                     (const void *)p->b, p->ldb, p->beta, (void *)p->c, p->ldc);
  }
}

int lt_blas_gemm(const lt_blas_product *p) {
  if (!lt_blas_begin()) return 0;
  gemm(p);
  lt_blas_end();
  return 1;
}

int lt_blas_gemv(const lt_blas_product *p) {
  if (!lt_blas_begin()) return 0;
  gemv(p);
  lt_blas_end();
  return 1;
}
