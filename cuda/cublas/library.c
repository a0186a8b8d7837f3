// The functions of cuBLAS that are called, as cublas_api.h of CUDA 12.0 and later declares them.
#define _GNU_SOURCE
#include "library.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 0, T = 1, DEFAULT_ALGORITHM = -1 };
// TF32 is for products that ask for it, and 16-bit floats are added up in 32 bits throughout.
enum { MATH = 0 | 16 };

typedef int status;

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
  const char *(*name)(status);
  const char *(*text)(status);
} cublas;

static const struct {
  const char *name;
  void **function;
} functions[] = {
    {"cublasCreate_v2", (void **)&cublas.create},
    {"cublasDestroy_v2", (void **)&cublas.destroy},
    {"cublasSetMathMode", (void **)&cublas.set_math},
    {"cublasSetStream_v2", (void **)&cublas.set_stream},
    {"cublasSetWorkspace_v2", (void **)&cublas.set_workspace},
    {"cublasGemmEx_64", (void **)&cublas.gemm},
    {"cublasGemmStridedBatchedEx_64", (void **)&cublas.gemms},
    {"cublasGetStatusName", (void **)&cublas.name},
    {"cublasGetStatusString", (void **)&cublas.text},
};

static int opened;
static char absence[1024];  // why the last one that was tried is not used

// Takes the functions of a library.
static int take(void *library, const char *path) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    *functions[i].function = dlsym(library, functions[i].name);
    if (*functions[i].function) continue;
    snprintf(absence, sizeof absence, "%s has no %s: cuBLAS 12.0 or newer is needed", path,
             functions[i].name);
    return 0;
  }
  return 1;
}

static int open_at(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    snprintf(absence, sizeof absence, "%s", why ? why : path);
    return 0;
  }
  if (!take(library, path))
    dlclose(library);
  else
    opened = 1;
  return opened;
}

// The folder that Python's packages lie in, where this library is libtensor/lib/libtensor.so of
// one; 0 where it cannot be.
static size_t packages(char *folder, size_t room) {
  Dl_info here;
  if (!dladdr((void *)packages, &here) || strlen(here.dli_fname) >= room) return 0;
  strcpy(folder, here.dli_fname);
  for (int up = 0; up < 3; up++) {
    char *end = strrchr(folder, '/');
    if (!end) return 0;
    *end = 0;
  }
  return strlen(folder);
}

// Opens what LIBTENSOR_CUBLAS names; or else the first of those that the driver can run, as the
// system finds it or as a wheel has it.
static void open_library(void) {
  const char *named = getenv("LIBTENSOR_CUBLAS");
  if (named && *named) {
    if (strcmp(named, "none") != 0 && !open_at(named)) opened = -1;
    return;
  }
  int version = 0;
  cuDriverGetVersion(&version);
  static const struct {
    int driver;
    const char *name, *wheel;
  } libraries[] = {
      {13000, "libcublas.so.13", "nvidia/cu13/lib"},
      {12000, "libcublas.so.12", "nvidia/cublas/lib"},
  };
  char path[4096];
  const size_t n = packages(path, sizeof path - 64);
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    if (version < libraries[i].driver) continue;
    if (open_at(libraries[i].name)) return;
    if (n == 0) continue;
    snprintf(path + n, sizeof path - n, "/%s/%s", libraries[i].wheel, libraries[i].name);
    if (open_at(path)) return;
  }
}

int lt_cublas_open(const char **why) {
  open_library();
  *why = absence;
  return opened;
}

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

int lt_cublas_multiply(void *handle, uintptr_t stream, uint64_t workspace, size_t size,
                       const lt_cublas_product *p, const char **function) {
  _Alignas(16) char alpha[16], beta[16];
  memcpy(alpha, p->alpha, sizeof alpha);
  memcpy(beta, p->beta, sizeof beta);
  const int turn_a = p->a_turned ? T : N, turn_b = p->b_turned ? T : N;
  const void *a = (const void *)p->a, *b = (const void *)p->b;
  void *c = (void *)p->c;
  status code = failed(cublas.set_stream(handle, (void *)stream), "cublasSetStream", function);
  if (!code)  // after the stream, with which a handle forgets it
    code = failed(cublas.set_workspace(handle, (void *)workspace, size), "cublasSetWorkspace",
                  function);
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
