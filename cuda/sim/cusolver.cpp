// A cuSOLVER for tests: LAPACK, from the bundled OpenBLAS, on the memory of the simulated device,
// in the order of its streams. It calls LAPACK only with a workspace on the device, which it
// spoils.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "library.h"

namespace {

enum Status { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 3, EXECUTION_FAILED = 6 };

constexpr int64_t kRoom = 256;  // elements of a workspace
constexpr int kSizes[] = {4, 8, 8, 16}, kTypes[] = {0, 1, 4, 5};

struct Handle {
  int device;
  CUstream stream = nullptr;
};

std::map<Handle *, std::unique_ptr<Handle>> handles;

// A function of LAPACK, for float32, float64, complex64 or complex128.
void *lapack(int kind, const std::string &name) {
  static void *library = [] {
    const char *file = getenv("LIBTENSOR_OPENBLAS");
    if (file && *file)
      if (void *found = dlopen(file, RTLD_NOW | RTLD_LOCAL)) return found;
    Dl_info here;
    if (!dladdr((void *)&handles, &here)) return (void *)nullptr;
    std::string folder = here.dli_fname;
    folder.resize(folder.rfind('/') + 1);
    return dlopen((folder + "../../openblas/libscipy_openblas64_.so").c_str(),
                  RTLD_NOW | RTLD_LOCAL);
  }();
  if (!library) return nullptr;
  return dlsym(library, ("scipy_" + std::string(1, "sdcz"[kind]) + name + "_64_").c_str());
}

// Arguments are addresses, as Fortran's; strings are followed by their lengths.
using Any = const void *;
template <class... A>
void call(int kind, const std::string &name, A... arguments) {
  void *const f = lapack(kind, name);
  if (!f) return lt_sim_fault();
  ((void (*)(A..., size_t, size_t, size_t))f)(arguments..., 1, 1, 1);
}

// Elements of a kind on the device, as LAPACK reads and writes them.
struct Device {
  int kind;
  char *operator()(const void *at, int64_t n) const {
    return at && n ? sim::elements<char>((uint64_t)at, n * kSizes[kind], true) : nullptr;
  }
  char *real(const void *at, int64_t n) const { return Device{kind % 2}(at, n); }
};

int32_t *integers(int *at, int64_t n) { return sim::elements<int32_t>((uint64_t)at, n, true); }

// Memory of the host for LAPACK's workspace, of which calls ask for the size first.
struct Room {
  int64_t size = -1;
  std::vector<char> memory = std::vector<char>(16);
  void grow(int kind) {
    const double n = kind % 2 ? *(double *)memory.data() : *(float *)memory.data();
    size = (int64_t)n + 1;
    memory.resize((size_t)size * kSizes[kind]);
  }
};

#define ENTER(FREES)                           \
  std::lock_guard<std::mutex> held(sim::lock); \
  if (int failed = sim::status_of(__func__, FREES, EXECUTION_FAILED)) return failed;
#define NEEDS_HANDLE(FUNCTION)                                                       \
  std::lock_guard<std::mutex> held(sim::lock);                                       \
  if (int failed = sim::status_of(FUNCTION, false, EXECUTION_FAILED)) return failed; \
  if (!handles.count(h) || h->device != sim::current) return NOT_INITIALIZED;
#define REQUIRE(condition) \
  if (!(condition)) return INVALID_VALUE;

// Runs f behind the work of the handle's stream; the workspace of n elements is spoiled.
template <class F>
int give(Handle *h, int kind, const void *room, int64_t n, F f) {
  if (n < kRoom || !room) return INVALID_VALUE;
  const CUresult failed = sim::enqueue(h->stream, [=] {
    memset(Device{kind}(room, n), 0xcb, n * kSizes[kind]);
    if (!sim::machine().lost) f(Device{kind});
  });
  return failed ? EXECUTION_FAILED : SUCCESS;
}

int measure(int *size) {
  *size = kRoom;
  return SUCCESS;
}

int getrf(int kind, Handle *h, int rows, int columns, void *at, int lda, void *room, int *pivots,
          int *infos) {
  REQUIRE(rows > 0 && columns > 0 && lda >= rows)
  return give(h, kind, room, kRoom, [=](Device device) {
    const int64_t m = rows, n = columns, ld = lda, least = m < n ? m : n;
    int64_t info = 0;
    std::vector<int64_t> order(least);
    call(kind, "getrf", &m, &n, device(at, ld * n), &ld, order.data(), &info);
    int32_t *to = integers(pivots, least);
    for (int64_t i = 0; i < least; i++) to[i] = (int32_t)order[i];
    *integers(infos, 1) = (int32_t)info;
  });
}

int getrs(int kind, Handle *h, int trans, int size, int columns, const void *at, int lda,
          const int *pivots, void *b, int ldb, int *infos) {
  REQUIRE(size > 0 && columns > 0 && lda >= size && ldb >= size)
  const CUresult failed = sim::enqueue(h->stream, [=] {
    const Device device{kind};
    const int64_t n = size, right = columns, ld = lda, lb = ldb;
    int64_t info = 0;
    const int32_t *from = integers((int *)pivots, n);
    const std::vector<int64_t> order(from, from + n);
    call(kind, "getrs", &"NTC"[trans], &n, &right, device(at, ld * n), &ld, order.data(),
         device(b, lb * right), &lb, &info);
    *integers(infos, 1) = (int32_t)info;
  });
  return failed ? EXECUTION_FAILED : SUCCESS;
}

int potrf(int kind, Handle *h, int uplo, int size, void *at, int lda, void *room, int n_room,
          int *infos) {
  REQUIRE(size > 0 && lda >= size)
  return give(h, kind, room, n_room, [=](Device device) {
    const int64_t n = size, ld = lda;
    int64_t info = 0;
    call(kind, "potrf", &"LU"[uplo], &n, device(at, ld * n), &ld, &info);
    *integers(infos, 1) = (int32_t)info;
  });
}

int geqrf(int kind, Handle *h, int rows, int columns, void *at, int lda, void *tau, void *room,
          int n_room, int *infos) {
  REQUIRE(rows > 0 && columns > 0 && lda >= rows)
  return give(h, kind, room, n_room, [=](Device device) {
    const int64_t m = rows, n = columns, ld = lda;
    int64_t info = 0;
    Room own;
    for (int turn = 0; turn < 2; turn++) {
      call(kind, "geqrf", &m, &n, device(at, ld * n), &ld, device(tau, m < n ? m : n),
           own.memory.data(), &own.size, &info);
      if (!turn) own.grow(kind);
    }
    *integers(infos, 1) = (int32_t)info;
  });
}

int orgqr(int kind, Handle *h, int rows, int columns, int count, void *at, int lda, const void *tau,
          void *room, int n_room, int *infos) {
  REQUIRE(rows >= columns && columns >= count && count > 0 && lda >= rows)
  return give(h, kind, room, n_room, [=](Device device) {
    const int64_t m = rows, n = columns, k = count, ld = lda;
    int64_t info = 0;
    Room own;
    for (int turn = 0; turn < 2; turn++) {
      call(kind, kind < 2 ? "orgqr" : "ungqr", &m, &n, &k, device(at, ld * n), &ld, device(tau, k),
           own.memory.data(), &own.size, &info);
      if (!turn) own.grow(kind);
    }
    *integers(infos, 1) = (int32_t)info;
  });
}

int ormqr(int kind, Handle *h, int side, int trans, int rows, int columns, int count,
          const void *at, int lda, const void *tau, void *c, int ldc, void *room, int n_room,
          int *infos) {
  REQUIRE(rows > 0 && columns > 0 && count > 0 && lda >= (side ? columns : rows) && ldc >= rows)
  REQUIRE(trans == 0 || trans == (kind < 2 ? 1 : 2))
  return give(h, kind, room, n_room, [=](Device device) {
    const int64_t m = rows, n = columns, k = count, ld = lda, lc = ldc;
    int64_t info = 0;
    Room own;
    for (int turn = 0; turn < 2; turn++) {
      call(kind, kind < 2 ? "ormqr" : "unmqr", &"LR"[side], &"NTC"[trans], &m, &n, &k,
           device(at, ld * k), &ld, device(tau, k), device(c, lc * n), &lc, own.memory.data(),
           &own.size, &info);
      if (!turn) own.grow(kind);
    }
    *integers(infos, 1) = (int32_t)info;
  });
}

int syevd(int kind, Handle *h, int vectors, int uplo, int size, void *at, int lda, void *values,
          void *room, int n_room, int *infos) {
  REQUIRE(size > 0 && lda >= size)
  return give(h, kind, room, n_room, [=](Device device) {
    const int64_t n = size, ld = lda;
    int64_t info = 0;
    Room own;
    std::vector<double> more(3 * n + 1);
    for (int turn = 0; turn < 2; turn++) {
      if (kind < 2)
        call(kind, "syev", &"NV"[vectors], &"LU"[uplo], &n, device(at, ld * n), &ld,
             device.real(values, n), own.memory.data(), &own.size, &info);
      else
        call(kind, "heev", &"NV"[vectors], &"LU"[uplo], &n, device(at, ld * n), &ld,
             device.real(values, n), own.memory.data(), &own.size, more.data(), &info);
      if (!turn) own.grow(kind);
    }
    *integers(infos, 1) = (int32_t)info;
  });
}

// As NVIDIA's, for matrices with at least as many rows as columns alone.
int gesvd(int kind, Handle *h, signed char u_job, signed char v_job, int rows, int columns,
          void *at, int lda, void *values, void *u, int ldu, void *v, int ldv, void *room,
          int n_room, int *infos) {
  REQUIRE(columns > 0 && rows >= columns && lda >= rows && ldu >= rows && ldv >= columns)
  return give(h, kind, room, n_room, [=](Device device) {
    const int64_t m = rows, n = columns, ld = lda, lu = ldu, lv = ldv;
    int64_t info = 0;
    Room own;
    std::vector<double> more(5 * n + 1);
    const int64_t left = u_job == 'N' ? 0 : u_job == 'A' ? m : n;
    for (int turn = 0; turn < 2; turn++) {
      char *const a = device(at, ld * n), *const s = device.real(values, n);
      char *const to_u = device(u, lu * left), *const to_v = device(v, left ? lv * n : 0);
      if (kind < 2)
        call(kind, "gesvd", &u_job, &v_job, &m, &n, a, &ld, s, to_u, &lu, to_v, &lv,
             own.memory.data(), &own.size, &info);
      else
        call(kind, "gesvd", &u_job, &v_job, &m, &n, a, &ld, s, to_u, &lu, to_v, &lv,
             own.memory.data(), &own.size, more.data(), &info);
      if (!turn) own.grow(kind);
    }
    *integers(infos, 1) = (int32_t)info;
  });
}

int sytrf(int kind, Handle *h, int uplo, int size, void *at, int lda, int *pivots, void *room,
          int n_room, int *infos) {
  REQUIRE(size > 0 && lda >= size)
  return give(h, kind, room, n_room, [=](Device device) {
    const int64_t n = size, ld = lda;
    int64_t info = 0;
    Room own;
    std::vector<int64_t> order(n);
    for (int turn = 0; turn < 2; turn++) {
      call(kind, "sytrf", &"LU"[uplo], &n, device(at, ld * n), &ld, order.data(), own.memory.data(),
           &own.size, &info);
      if (!turn) own.grow(kind);
    }
    int32_t *to = integers(pivots, n);
    for (int64_t i = 0; i < n; i++) to[i] = (int32_t)order[i];
    *integers(infos, 1) = (int32_t)info;
  });
}

// The kind of a type of CUDA; 4 for none.
int kind_of(int type) {
  int kind = 0;
  while (kind < 4 && kTypes[kind] != type) kind++;
  return kind;
}

}  // namespace

extern "C" {

int cusolverDnCreate(Handle **out) {
  ENTER(false)
  if (sim::current < 0) return NOT_INITIALIZED;
  auto made = std::make_unique<Handle>();
  made->device = sim::current;
  *out = made.get();
  handles[*out] = std::move(made);
  return SUCCESS;
}
int cusolverDnDestroy(Handle *h) {
  ENTER(true)
  return handles.erase(h) ? SUCCESS : NOT_INITIALIZED;
}
int cusolverDnSetStream(Handle *h, CUstream stream) {
  NEEDS_HANDLE(__func__)
  const sim::Stream *s = sim::stream_of(stream);
  REQUIRE(s && s->device == h->device)
  h->stream = stream;
  return SUCCESS;
}

// The four forms of a function: its name for real and for complex numbers.
#define EACH(FORM, REAL, COMPLEX) \
  FORM(cusolverDnS##REAL, 0)      \
  FORM(cusolverDnD##REAL, 1) FORM(cusolverDnC##COMPLEX, 2) FORM(cusolverDnZ##COMPLEX, 3)
#define ENTERED(NAME) NEEDS_HANDLE(#NAME)

#define GETRF(NAME, KIND)                                                                     \
  int NAME##_bufferSize(Handle *, int, int, void *, int, int *size) { return measure(size); } \
  int NAME(Handle *h, int m, int n, void *a, int lda, void *room, int *pivots, int *info) {   \
    ENTERED(NAME) return getrf(KIND, h, m, n, a, lda, room, pivots, info);                    \
  }
#define GETRS(NAME, KIND)                                                                     \
  int NAME(Handle *h, int trans, int n, int right, const void *a, int lda, const int *pivots, \
           void *b, int ldb, int *info) {                                                     \
    ENTERED(NAME) return getrs(KIND, h, trans, n, right, a, lda, pivots, b, ldb, info);       \
  }
#define POTRF(NAME, KIND)                                                                     \
  int NAME##_bufferSize(Handle *, int, int, void *, int, int *size) { return measure(size); } \
  int NAME(Handle *h, int uplo, int n, void *a, int lda, void *room, int size, int *info) {   \
    ENTERED(NAME) return potrf(KIND, h, uplo, n, a, lda, room, size, info);                   \
  }
#define GEQRF(NAME, KIND)                                                                     \
  int NAME##_bufferSize(Handle *, int, int, void *, int, int *size) { return measure(size); } \
  int NAME(Handle *h, int m, int n, void *a, int lda, void *tau, void *room, int size,        \
           int *info) {                                                                       \
    ENTERED(NAME) return geqrf(KIND, h, m, n, a, lda, tau, room, size, info);                 \
  }
#define ORGQR(NAME, KIND)                                                                      \
  int NAME##_bufferSize(Handle *, int, int, int, const void *, int, const void *, int *size) { \
    return measure(size);                                                                      \
  }                                                                                            \
  int NAME(Handle *h, int m, int n, int k, void *a, int lda, const void *tau, void *room,      \
           int size, int *info) {                                                              \
    ENTERED(NAME) return orgqr(KIND, h, m, n, k, a, lda, tau, room, size, info);               \
  }
#define ORMQR(NAME, KIND)                                                                   \
  int NAME##_bufferSize(Handle *, int, int, int, int, int, const void *, int, const void *, \
                        const void *, int, int *size) {                                     \
    return measure(size);                                                                   \
  }                                                                                         \
  int NAME(Handle *h, int side, int trans, int m, int n, int k, const void *a, int lda,     \
           const void *tau, void *c, int ldc, void *room, int size, int *info) {            \
    ENTERED(NAME)                                                                           \
    return ormqr(KIND, h, side, trans, m, n, k, a, lda, tau, c, ldc, room, size, info);     \
  }
#define SYEVD(NAME, KIND)                                                                      \
  int NAME##_bufferSize(Handle *, int, int, int, const void *, int, const void *, int *size) { \
    return measure(size);                                                                      \
  }                                                                                            \
  int NAME(Handle *h, int vectors, int uplo, int n, void *a, int lda, void *w, void *room,     \
           int size, int *info) {                                                              \
    ENTERED(NAME) return syevd(KIND, h, vectors, uplo, n, a, lda, w, room, size, info);        \
  }
#define GESVD(NAME, KIND)                                                                          \
  int NAME##_bufferSize(Handle *, int m, int n, int *size) {                                       \
    REQUIRE(m >= n)                                                                                \
    return measure(size);                                                                          \
  }                                                                                                \
  int NAME(Handle *h, signed char u_job, signed char v_job, int m, int n, void *a, int lda,        \
           void *s, void *u, int ldu, void *v, int ldv, void *room, int size, void *, int *info) { \
    ENTERED(NAME)                                                                                  \
    return gesvd(KIND, h, u_job, v_job, m, n, a, lda, s, u, ldu, v, ldv, room, size, info);        \
  }
#define SYTRF(NAME, KIND)                                                                   \
  int NAME##_bufferSize(Handle *, int, void *, int, int *size) { return measure(size); }    \
  int NAME(Handle *h, int uplo, int n, void *a, int lda, int *pivots, void *room, int size, \
           int *info) {                                                                     \
    ENTERED(NAME) return sytrf(KIND, h, uplo, n, a, lda, pivots, room, size, info);         \
  }

EACH(GETRF, getrf, getrf)
EACH(GETRS, getrs, getrs)
EACH(POTRF, potrf, potrf)
EACH(GEQRF, geqrf, geqrf)
EACH(ORGQR, orgqr, ungqr)
EACH(ORMQR, ormqr, unmqr)
EACH(SYEVD, syevd, heevd)
EACH(GESVD, gesvd, gesvd)
EACH(SYTRF, sytrf, sytrf)

int cusolverDnXsytrs_bufferSize(Handle *, int, int64_t, int64_t, int, const void *, int64_t,
                                const int64_t *, int, void *, int64_t, size_t *device,
                                size_t *host) {
  *device = kRoom * 16, *host = 0;
  return SUCCESS;
}
int cusolverDnXsytrs(Handle *h, int uplo, int64_t n, int64_t right, int a_type, const void *at,
                     int64_t ld, const int64_t *pivots, int b_type, void *b, int64_t lb, void *room,
                     size_t size, void *, size_t, int *infos) {
  NEEDS_HANDLE(__func__)
  const int kind = kind_of(a_type);
  REQUIRE(kind < 4 && a_type == b_type && n > 0 && right > 0 && ld >= n && lb >= n)
  return give(h, kind, room, size / kSizes[kind], [=](Device device) {
    int64_t info = 0;
    const int64_t *order = sim::elements<int64_t>((uint64_t)pivots, n, false);
    call(kind, "sytrs", &"LU"[uplo], &n, &right, device(at, ld * n), &ld, order,
         device(b, lb * right), &lb, &info);
    *integers(infos, 1) = (int32_t)info;
  });
}

int cusolverDnCreateParams(void **params) {
  *params = malloc(1);
  return SUCCESS;
}
int cusolverDnDestroyParams(void *params) {
  free(params);
  return SUCCESS;
}
int cusolverDnXgeev_bufferSize(Handle *, void *params, int left, int, int64_t, int, const void *,
                               int64_t, int, const void *, int, const void *, int64_t, int,
                               const void *, int64_t, int, size_t *device, size_t *host) {
  REQUIRE(params && !left)
  *device = kRoom * 16, *host = 64;
  return SUCCESS;
}
int cusolverDnXgeev(Handle *h, void *params, int left, int right, int64_t n, int a_type, void *at,
                    int64_t ld, int w_type, void *w, int, void *, int64_t, int r_type, void *r,
                    int64_t lr, int compute, void *room, size_t size, void *host, size_t n_host,
                    int *infos) {
  NEEDS_HANDLE(__func__)
  const int kind = kind_of(a_type);
  REQUIRE(params && !left && (kind == 2 || kind == 3) && w_type == a_type && r_type == a_type)
  REQUIRE(compute == a_type && n > 0 && ld >= n && lr >= n && host && n_host == 64)
  return give(h, kind, room, size / kSizes[kind], [=](Device device) {
    int64_t info = 0;
    Room own;
    std::vector<double> more(2 * n);
    for (int turn = 0; turn < 2; turn++) {
      call(kind, "geev", "N", &"NV"[right], &n, device(at, ld * n), &ld, device(w, n), nullptr, &lr,
           device(r, right ? lr * n : 0), &lr, own.memory.data(), &own.size, more.data(), &info);
      if (!turn) own.grow(kind);
    }
    *integers(infos, 1) = (int32_t)info;
  });
}

}  // extern "C"
