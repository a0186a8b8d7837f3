// The functions of cuBLAS that are called, as cublas_api.h of CUDA 12.0 and later declares them.
#include "library.h"

#include <string.h>

enum { N = 0, T = 1, C = 2, DEFAULT_ALGORITHM = -1 };
// TF32 is used only for products that allow it, and 16-bit floats are accumulated in 32 bits.
enum { MATH = 0 | 16 };

typedef int status;

// In the order of their names.
static struct {
  status (*create)(void **handle);
  status (*destroy)(void *handle);
  status (*set_math)(void *handle, int mode);
  status (*set_stream)(void *handle, void *stream);
  status (*set_workspace)(void *handle, void *at, size_t n);
  status (*gemm)(void *handle, int, int, int64_t m, int64_t n, int64_t k, const void *alpha,
                 const void *a, int a_type, int64_t lda, const void *b, int b_type, int64_t ldb,
                 const void *beta, void *c, int c_type, int64_t ldc, int compute, int algorithm);
  status (*gemms)(void *handle, int, int, int64_t m, int64_t n, int64_t k, const void *alpha,
                  const void *a, int a_type, int64_t lda, long long a_step, const void *b,
                  int b_type, int64_t ldb, long long b_step, const void *beta, void *c, int c_type,
                  int64_t ldc, long long c_step, int64_t batch, int compute, int algorithm);
  status (*trsm[4])(void *handle, int side, int uplo, int trans, int diag, int m, int n,
                    const void *alpha, const void *a, int lda, void *b, int ldb);
  const char *(*name)(status);
  const char *(*text)(status);
} cublas;

const char *const lt_cublas_names[LT_CUBLAS_NAMES] = {
    "cublasCreate_v2",
    "cublasDestroy_v2",
    "cublasSetMathMode",
    "cublasSetStream_v2",
    "cublasSetWorkspace_v2",
    "cublasGemmEx_64",
    "cublasGemmStridedBatchedEx_64",
    "cublasStrsm_v2",
    "cublasDtrsm_v2",
    "cublasCtrsm_v2",
    "cublasZtrsm_v2",
    "cublasGetStatusName",
    "cublasGetStatusString",
};
void *const lt_cublas_slots = &cublas;
_Static_assert(sizeof lt_cublas_names == sizeof cublas &&
                   sizeof cublas / sizeof(void *) == LT_CUBLAS_NAMES,
               "each function has a name");

static int failed(status code, const char *name, const char **function) {
  if (code) *function = name;
  return code;
}

int lt_cublas_create(void **handle, const char **function) {
  status code = failed(cublas.create(handle), "cublasCreate", function);
  if (code) return code;
  code = failed(cublas.set_math(*handle, MATH), "cublasSetMathMode", function);
  if (code) cublas.destroy(*handle);
  return code;
}

// Gives a handle a stream and then, because it forgets the former one, a workspace.
static status prepare(void *handle, uintptr_t stream, uint64_t workspace, size_t size,
                      const char **function) {
  status code = failed(cublas.set_stream(handle, (void *)stream), "cublasSetStream", function);
  if (code) return code;
  return failed(cublas.set_workspace(handle, (void *)workspace, size), "cublasSetWorkspace",
                function);
}

int lt_cublas_solve(void *handle, uintptr_t stream, uint64_t workspace, size_t size,
                    const lt_cublas_triangle *t, const char **function) {
  static const char *const names[] = {"cublasStrsm", "cublasDtrsm", "cublasCtrsm", "cublasZtrsm"};
  static const float one[] = {1, 0};
  static const double one_wide[] = {1, 0};
  status code = prepare(handle, stream, workspace, size, function);
  if (code) return code;
  const void *alpha = t->kind % 2 ? (const void *)one_wide : (const void *)one;
  const int turned = !t->adjoint ? N : t->kind < 2 ? T : C;
  return failed(cublas.trsm[t->kind](handle, t->right, t->upper, turned, t->unit, (int)t->m,
                                     (int)t->n, alpha, (const void *)t->a,
                                     (int)(t->right ? t->n : t->m), (void *)t->b, (int)t->m),
                names[t->kind], function);
}

int lt_cublas_multiply(void *handle, uintptr_t stream, uint64_t workspace, size_t size,
                       const lt_cublas_product *p, const char **function) {
  _Alignas(16) char alpha[16], beta[16];
  memcpy(alpha, p->alpha, sizeof alpha);
  memcpy(beta, p->beta, sizeof beta);
  const int turn_a = p->a_turned ? T : N, turn_b = p->b_turned ? T : N;
  const void *a = (const void *)p->a, *b = (const void *)p->b;
  void *c = (void *)p->c;
  const status code = prepare(handle, stream, workspace, size, function);
  if (code) return code;
  if (p->batch == 1)
    return failed(
        cublas.gemm(handle, turn_a, turn_b, p->m, p->n, p->k, alpha, a, p->type, p->lda, b, p->type,
                    p->ldb, beta, c, p->type, p->ldc, p->compute, DEFAULT_ALGORITHM),
        "cublasGemmEx", function);
  return failed(cublas.gemms(handle, turn_a, turn_b, p->m, p->n, p->k, alpha, a, p->type, p->lda,
                             p->a_step, b, p->type, p->ldb, p->b_step, beta, c, p->type, p->ldc,
                             p->c_step, p->batch, p->compute, DEFAULT_ALGORITHM),
                "cublasGemmStridedBatchedEx", function);
}

const char *lt_cublas_name(int code) { return cublas.name(code); }
const char *lt_cublas_text(int code) { return cublas.text(code); }
