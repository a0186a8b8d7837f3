// The functions of cuSOLVER that are called, as cusolverDn.h of CUDA 12.0 and later declares them.
// Those of the four dtypes differ in their names alone: the types of matrices are void here.
#include "library.h"

enum { KINDS = 4 };

typedef int status;
typedef void *handle;

// In the order of their names.
static struct {
  status (*create)(handle *);
  status (*destroy)(handle);
  status (*set_stream)(handle, void *stream);
  status (*getrf_room[KINDS])(handle, int m, int n, void *a, int lda, int *size);
  status (*getrf[KINDS])(handle, int m, int n, void *a, int lda, void *room, int *pivots,
                         int *info);
  status (*getrs[KINDS])(handle, int trans, int n, int right, const void *a, int lda,
                         const int *pivots, void *b, int ldb, int *info);
  status (*potrf_room[KINDS])(handle, int uplo, int n, void *a, int lda, int *size);
  status (*potrf[KINDS])(handle, int uplo, int n, void *a, int lda, void *room, int size,
                         int *info);
  status (*geqrf_room[KINDS])(handle, int m, int n, void *a, int lda, int *size);
  status (*geqrf[KINDS])(handle, int m, int n, void *a, int lda, void *tau, void *room, int size,
                         int *info);
  status (*orgqr_room[KINDS])(handle, int m, int n, int k, const void *a, int lda, const void *tau,
                              int *size);
  status (*orgqr[KINDS])(handle, int m, int n, int k, void *a, int lda, const void *tau, void *room,
                         int size, int *info);
  status (*ormqr_room[KINDS])(handle, int side, int trans, int m, int n, int k, const void *a,
                              int lda, const void *tau, const void *c, int ldc, int *size);
  status (*ormqr[KINDS])(handle, int side, int trans, int m, int n, int k, const void *a, int lda,
                         const void *tau, void *c, int ldc, void *room, int size, int *info);
  status (*syevd_room[KINDS])(handle, int vectors, int uplo, int n, const void *a, int lda,
                              const void *w, int *size);
  status (*syevd[KINDS])(handle, int vectors, int uplo, int n, void *a, int lda, void *w,
                         void *room, int size, int *info);
  status (*gesvd_room[KINDS])(handle, int m, int n, int *size);
  status (*gesvd[KINDS])(handle, signed char u_job, signed char v_job, int m, int n, void *a,
                         int lda, void *s, void *u, int ldu, void *v, int ldv, void *room, int size,
                         void *more, int *info);
  status (*sytrf_room[KINDS])(handle, int n, void *a, int lda, int *size);
  status (*sytrf[KINDS])(handle, int uplo, int n, void *a, int lda, int *pivots, void *room,
                         int size, int *info);
  status (*sytrs_room)(handle, int uplo, int64_t n, int64_t right, int a_type, const void *a,
                       int64_t lda, const int64_t *pivots, int b_type, void *b, int64_t ldb,
                       size_t *device, size_t *host);
  status (*sytrs)(handle, int uplo, int64_t n, int64_t right, int a_type, const void *a,
                  int64_t lda, const int64_t *pivots, int b_type, void *b, int64_t ldb,
                  void *device, size_t device_size, void *host, size_t host_size, int *info);
} cusolver;

static struct {
  status (*create)(void **params);
  status (*destroy)(void *params);
  status (*geev_room)(handle, void *params, int left, int right, int64_t n, int a_type,
                      const void *a, int64_t lda, int w_type, const void *w, int l_type,
                      const void *l, int64_t ldl, int r_type, const void *r, int64_t ldr,
                      int compute, size_t *device, size_t *host);
  status (*geev)(handle, void *params, int left, int right, int64_t n, int a_type, void *a,
                 int64_t lda, int w_type, void *w, int l_type, void *l, int64_t ldl, int r_type,
                 void *r, int64_t ldr, int compute, void *device, size_t device_size, void *host,
                 size_t host_size, int *info);
} eigen;

#define EACH(REAL, COMPLEX) \
  "cusolverDnS" REAL, "cusolverDnD" REAL, "cusolverDnC" COMPLEX, "cusolverDnZ" COMPLEX
#define WITH_ROOM(REAL, COMPLEX) \
  EACH(REAL "_bufferSize", COMPLEX "_bufferSize"), EACH(REAL, COMPLEX)

const char *const lt_cusolver_names[LT_CUSOLVER_NAMES] = {
    "cusolverDnCreate",
    "cusolverDnDestroy",
    "cusolverDnSetStream",
    WITH_ROOM("getrf", "getrf"),
    EACH("getrs", "getrs"),
    WITH_ROOM("potrf", "potrf"),
    WITH_ROOM("geqrf", "geqrf"),
    WITH_ROOM("orgqr", "ungqr"),
    WITH_ROOM("ormqr", "unmqr"),
    WITH_ROOM("syevd", "heevd"),
    WITH_ROOM("gesvd", "gesvd"),
    WITH_ROOM("sytrf", "sytrf"),
    "cusolverDnXsytrs_bufferSize",
    "cusolverDnXsytrs",
};
void *const lt_cusolver_slots = &cusolver;
const char *const lt_cusolver_eigen_names[LT_CUSOLVER_EIGEN_NAMES] = {
    "cusolverDnCreateParams", "cusolverDnDestroyParams", "cusolverDnXgeev_bufferSize",
    "cusolverDnXgeev"};
void *const lt_cusolver_eigen_slots = &eigen;
_Static_assert(sizeof lt_cusolver_names == sizeof cusolver &&
                   sizeof lt_cusolver_eigen_names == sizeof eigen,
               "each function has a name");

static const char *const functions[] = {"getrf", "potrf", "geqrf", "orgqr",  "ormqr", "syevd",
                                        "gesvd", "sytrf", "getrs", "Xsytrs", "Xgeev"};

// CUDA's numbers for the dtypes, and those of their sizes.
static const int types[KINDS] = {0, 1, 4, 5}, sizes[KINDS] = {4, 8, 8, 16};

static int failed(status code, const char *name, const char **function) {
  if (code) *function = name;
  return code;
}

int lt_cusolver_create(void **made, const char **function) {
  return failed(cusolver.create(made), "cusolverDnCreate", function);
}

// cuBLAS's numbers for triangles and transposes.
static int uplo(const lt_cusolver_call *c) { return c->upper ? 1 : 0; }
static int turned(const lt_cusolver_call *c) { return !c->adjoint ? 0 : c->kind < 2 ? 1 : 2; }

static status measure_eigen(void *h, const lt_cusolver_call *c, lt_cusolver_room *room) {
  const int type = types[c->kind];
  const int64_t n = c->n;
  void *params = NULL;
  status code = eigen.create(&params);
  if (code) return code;
  code =
      eigen.geev_room(h, params, 0, c->vectors, n, type, (void *)c->a, n, type, (void *)c->values,
                      type, NULL, n, type, (void *)c->v, n, type, &room->device, &room->host);
  eigen.destroy(params);
  return code;
}

static status run_eigen(void *h, const lt_cusolver_call *c, void *device, void *host,
                        const lt_cusolver_room *room) {
  const int type = types[c->kind];
  const int64_t n = c->n;
  void *params = NULL;
  status code = eigen.create(&params);
  if (code) return code;
  code = eigen.geev(h, params, 0, c->vectors, n, type, (void *)c->a, n, type, (void *)c->values,
                    type, NULL, n, type, (void *)c->v, n, type, device, room->device, host,
                    room->host, (int *)c->info);
  eigen.destroy(params);
  return code;
}

int lt_cusolver_measure(void *h, const lt_cusolver_call *c, lt_cusolver_room *room,
                        const char **function) {
  const int m = (int)c->m, n = (int)c->n, k = (int)c->k, kind = c->kind, type = types[kind];
  const int rows = (int)c->b_rows, columns = (int)c->b_columns;
  void *a = (void *)c->a, *b = (void *)c->b, *values = (void *)c->values;
  int size = 0;
  status code = 0;
  *room = (lt_cusolver_room){0, 0};
  switch (c->function) {
    case LT_GETRF:
      code = cusolver.getrf_room[kind](h, m, n, a, m, &size);
      break;
    case LT_POTRF:
      code = cusolver.potrf_room[kind](h, uplo(c), n, a, m, &size);
      break;
    case LT_GEQRF:
      code = cusolver.geqrf_room[kind](h, m, n, a, m, &size);
      break;
    case LT_ORGQR:
      code = cusolver.orgqr_room[kind](h, m, n, k, a, m, values, &size);
      break;
    case LT_ORMQR:
      code = cusolver.ormqr_room[kind](h, c->right, turned(c), rows, columns, k, a, m, values, b,
                                       rows, &size);
      break;
    case LT_SYEVD:
      code = cusolver.syevd_room[kind](h, c->vectors, uplo(c), n, a, m, values, &size);
      break;
    case LT_GESVD:
      code = cusolver.gesvd_room[kind](h, m, n, &size);
      break;
    case LT_SYTRF:
      code = cusolver.sytrf_room[kind](h, n, a, m, &size);
      break;
    case LT_SYTRS:
      code = cusolver.sytrs_room(h, uplo(c), n, columns, type, a, m, (const int64_t *)c->pivots,
                                 type, b, rows, &room->device, &room->host);
      break;
    case LT_GEEV:
      code = measure_eigen(h, c, room);
      break;
    default:
      break;
  }
  if (c->function < LT_GETRS) room->device = (size_t)size * (size_t)sizes[kind];
  return failed(code, functions[c->function], function);
}

int lt_cusolver_run(void *h, uintptr_t stream, const lt_cusolver_call *c, uint64_t device_room,
                    void *host_room, const lt_cusolver_room *room, const char **function) {
  const int m = (int)c->m, n = (int)c->n, k = (int)c->k, kind = c->kind, type = types[kind];
  const int rows = (int)c->b_rows, columns = (int)c->b_columns;
  const int size = (int)(room->device / (size_t)sizes[kind]);
  void *a = (void *)c->a, *b = (void *)c->b, *values = (void *)c->values;
  void *at = (void *)device_room, *u = (void *)c->u, *v = (void *)c->v;
  int *pivots = (int *)c->pivots, *info = (int *)c->info;
  status code = failed(cusolver.set_stream(h, (void *)stream), "cusolverDnSetStream", function);
  if (code) return code;
  const signed char job = !c->vectors ? 'N' : c->whole ? 'A' : 'S';
  switch (c->function) {
    case LT_GETRF:
      code = cusolver.getrf[kind](h, m, n, a, m, at, pivots, info);
      break;
    case LT_POTRF:
      code = cusolver.potrf[kind](h, uplo(c), n, a, m, at, size, info);
      break;
    case LT_GEQRF:
      code = cusolver.geqrf[kind](h, m, n, a, m, values, at, size, info);
      break;
    case LT_ORGQR:
      code = cusolver.orgqr[kind](h, m, n, k, a, m, values, at, size, info);
      break;
    case LT_ORMQR:
      code = cusolver.ormqr[kind](h, c->right, turned(c), rows, columns, k, a, m, values, b, rows,
                                  at, size, info);
      break;
    case LT_SYEVD:
      code = cusolver.syevd[kind](h, c->vectors, uplo(c), n, a, m, values, at, size, info);
      break;
    case LT_GESVD:
      code =
          cusolver.gesvd[kind](h, job, job, m, n, a, m, values, u, m, v, n, at, size, NULL, info);
      break;
    case LT_SYTRF:
      code = cusolver.sytrf[kind](h, uplo(c), n, a, m, pivots, at, size, info);
      break;
    case LT_GETRS:
      code = cusolver.getrs[kind](h, turned(c), n, columns, a, m, pivots, b, rows, info);
      break;
    case LT_SYTRS:
      code = cusolver.sytrs(h, uplo(c), n, columns, type, a, m, (const int64_t *)c->pivots, type, b,
                            rows, at, room->device, host_room, room->host, info);
      break;
    default:
      code = run_eigen(h, c, at, host_room, room);
  }
  return failed(code, functions[c->function], function);
}
