// A cuBLAS for tests: products on the simulated device, in the order of its streams. It is stricter
// than NVIDIA's: it multiplies only with a workspace that was given to it since the stream was, and
// spoils the workspace.
#include "calls.h"
// Comes after it.
#include "../kernels/device.h"

#include <complex>

namespace {

using lt::Bool;

enum Status {
  SUCCESS = 0,
  NOT_INITIALIZED = 1,
  ALLOC_FAILED = 3,
  INVALID_VALUE = 7,
  EXECUTION_FAILED = 13,
  NOT_SUPPORTED = 15
};
enum Type { R_32F = 0, R_64F = 1, R_16F = 2, C_32F = 4, C_64F = 5, R_16BF = 14 };
enum Compute { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_TF32 = 77 };
enum { NO_REDUCED_PRECISION = 16 };

constexpr size_t kLeastWorkspace = 4 << 20, kSpoiled = 1 << 12;

struct Handle {
  int device, math = 0;
  CUstream stream = nullptr;
  uint64_t workspace = 0;
  size_t size = 0;
};

std::map<Handle *, std::unique_ptr<Handle>> handles;

struct Matrix {
  uint64_t data;
  int64_t lead, step;
  bool turned;

  uint64_t at(int64_t batch, int64_t i, int64_t j, int64_t size) const {
    return data + (batch * step + (turned ? j + i * lead : i + j * lead)) * size;
  }
};

struct Product {
  Matrix a, b, c;
  int64_t m, n, k, batch;
  alignas(16) char alpha[16], beta[16];
  uint64_t workspace;
  size_t workspace_size;
};

// Rounds towards 0 to 11 significant bits.
float tf32(float x) { return lt::same_bits<float>(lt::same_bits<uint32_t>(x) & ~0x1fffu); }
lt::Complex64 tf32(lt::Complex64 x) { return {tf32(x.re), tf32(x.im)}; }

// Elements are added up from the last one on, as nothing promises an order.
template <class T, class S, bool TF32 = false>
void multiply(const Product &p) {
  const auto number = [](uint64_t at) {
    return lt::convert<S>(*(const T *)lt_sim_place(at, sizeof(T), false));
  };
  const auto factor = [=](uint64_t at) {
    if constexpr (TF32) return tf32(number(at));
    return number(at);
  };
  const S alpha = *(const S *)p.alpha, beta = *(const S *)p.beta;
  for (int64_t batch = 0; batch < p.batch; batch++) {
    for (int64_t i = 0; i < p.m; i++) {
      for (int64_t j = 0; j < p.n; j++) {
        S sum = S(0);
        for (int64_t k = p.k; k-- > 0;)
          sum =
              sum + factor(p.a.at(batch, i, k, sizeof(T))) * factor(p.b.at(batch, k, j, sizeof(T)));
        const uint64_t to = p.c.at(batch, i, j, sizeof(T));
        sum = alpha * sum;
        if (beta != S(0)) sum = sum + beta * number(to);
        *(T *)lt_sim_place(to, sizeof(T), true) = lt::convert<T>(sum);
      }
    }
  }
}

void spoil(const Product &p) {
  char *at = lt_sim_place(p.workspace, (int64_t)p.workspace_size, true);
  if (sim::machine().lost) return;
  memset(at, 0xcb, kSpoiled);
  memset(at + p.workspace_size - kSpoiled, 0xcb, kSpoiled);
}

using Run = void (*)(const Product &);

Run run_of(int type, int compute) {
  if (compute == COMPUTE_TF32)
    return type == R_32F   ? multiply<float, float, true>
           : type == C_32F ? multiply<lt::Complex64, lt::Complex64, true>
                           : nullptr;
  switch (compute == COMPUTE_64F ? -type : type) {
    case R_16F:
      return multiply<lt::Float16, float>;
    case R_16BF:
      return multiply<lt::BFloat16, float>;
    case R_32F:
      return multiply<float, float>;
    case C_32F:
      return multiply<lt::Complex64, lt::Complex64>;
    case -R_64F:
      return multiply<double, double>;
    case -C_64F:
      return multiply<lt::Complex128, lt::Complex128>;
    default:
      return nullptr;
  }
}

Status entered(const char *name, bool frees = false) {
  const int failed = sim::entered(name, frees);
  return failed >= 700 ? EXECUTION_FAILED : (Status)failed;
}

#define ENTER                                  \
  std::lock_guard<std::mutex> held(sim::lock); \
  if (Status failed = entered(__func__)) return failed;
#define NEEDS_HANDLE \
  if (!handles.count(h) || h->device != sim::current) return NOT_INITIALIZED;
#define REQUIRE(condition) \
  if (!(condition)) return INVALID_VALUE;

// Checks that matrices and batches have the layout that BLAS requires.
Status give(Handle *h, Product p, int type, int compute, const void *alpha, const void *beta) {
  REQUIRE(p.m >= 0 && p.n >= 0 && p.k >= 0 && p.batch >= 0 && alpha && beta)
  REQUIRE(p.a.lead >= std::max<int64_t>(1, p.a.turned ? p.k : p.m))
  REQUIRE(p.b.lead >= std::max<int64_t>(1, p.b.turned ? p.n : p.k))
  REQUIRE(p.c.lead >= std::max<int64_t>(1, p.m) && (p.batch < 2 || p.c.step > 0))
  REQUIRE(p.a.data && p.b.data && p.c.data)
  const Run run = run_of(type, compute);
  if (!run || h->math != NO_REDUCED_PRECISION || h->size < kLeastWorkspace) return NOT_SUPPORTED;
  const size_t scale = (compute == COMPUTE_64F ? 8 : 4) * (type == C_32F || type == C_64F ? 2 : 1);
  memcpy(p.alpha, alpha, scale);
  memcpy(p.beta, beta, scale);
  p.workspace = h->workspace, p.workspace_size = h->size;
  const CUresult failed = sim::enqueue(h->stream, [=] {
    spoil(p);
    run(p);
    spoil(p);
  });
  return failed ? EXECUTION_FAILED : SUCCESS;
}

struct Triangle {
  bool right, upper, unit;
  int turned;  // 0, 1 transposed, or 2 conjugated, too
  int64_t m, n, lda, ldb;
  uint64_t a, b;
};

float conjugate(float x) { return x; }
double conjugate(double x) { return x; }
template <class T>
std::complex<T> conjugate(std::complex<T> x) {
  return std::conj(x);
}

template <class T>
T &number_at(uint64_t data, int64_t i, int64_t j, int64_t lead) {
  return *(T *)lt_sim_place(data + (i + j * lead) * sizeof(T), sizeof(T), true);
}

// Substitutes forwards or backwards, for each column of b or, on the right, for each row.
template <class T>
void substitute(const Triangle &t) {
  const int64_t size = t.right ? t.n : t.m, lines = t.right ? t.m : t.n;
  const bool turn = (t.turned != 0) != t.right;  // whether the lines meet columns of a
  const bool upper = t.upper != turn;
  const auto factor = [&](int64_t i, int64_t j) {
    const T x = turn ? number_at<T>(t.a, j, i, t.lda) : number_at<T>(t.a, i, j, t.lda);
    return t.turned == 2 ? conjugate(x) : x;
  };
  const auto element = [&](int64_t line, int64_t i) -> T & {
    return t.right ? number_at<T>(t.b, line, i, t.ldb) : number_at<T>(t.b, i, line, t.ldb);
  };
  for (int64_t line = 0; line < lines; line++)
    for (int64_t k = 0; k < size; k++) {
      const int64_t i = upper ? size - 1 - k : k;
      T sum = element(line, i);
      for (int64_t j = upper ? i + 1 : 0; j < (upper ? size : i); j++)
        sum = sum - factor(i, j) * element(line, j);
      element(line, i) = t.unit ? sum : sum / factor(i, i);
    }
}

template <class T>
Status solve(Handle *h, const char *name, int side, int uplo, int trans, int diagonal, int m, int n,
             const T *alpha, const void *a, int lda, void *b, int ldb) {
  std::lock_guard<std::mutex> held(sim::lock);
  if (Status failed = entered(name)) return failed;
  NEEDS_HANDLE
  const Triangle t = {side == 1, uplo == 1, diagonal == 1, trans,       m,
                      n,         lda,       ldb,           (uint64_t)a, (uint64_t)b};
  REQUIRE(m > 0 && n > 0 && lda >= (t.right ? n : m) && ldb >= m && *alpha == T(1) && h->size)
  return sim::enqueue(h->stream, [=] { substitute<T>(t); }) ? EXECUTION_FAILED : SUCCESS;
}

}  // namespace

extern "C" {

#define TRSM(NAME, ...)                                                               \
  Status NAME(Handle *h, int side, int uplo, int trans, int diagonal, int m, int n,   \
              const __VA_ARGS__ *alpha, const void *a, int lda, void *b, int ldb) {   \
    return solve(h, #NAME, side, uplo, trans, diagonal, m, n, alpha, a, lda, b, ldb); \
  }
TRSM(cublasStrsm_v2, float)
TRSM(cublasDtrsm_v2, double)
TRSM(cublasCtrsm_v2, std::complex<float>)
TRSM(cublasZtrsm_v2, std::complex<double>)

Status cublasCreate_v2(Handle **out) {
  ENTER
  if (sim::current < 0) return NOT_INITIALIZED;
  auto made = std::make_unique<Handle>();
  made->device = sim::current;
  *out = made.get();
  handles[*out] = std::move(made);
  return SUCCESS;
}
Status cublasDestroy_v2(Handle *h) {
  std::lock_guard<std::mutex> held(sim::lock);
  if (Status failed = entered(__func__, true)) return failed;
  return handles.erase(h) ? SUCCESS : NOT_INITIALIZED;
}
Status cublasSetMathMode(Handle *h, int mode) {
  ENTER NEEDS_HANDLE h->math = mode;
  return SUCCESS;
}
Status cublasSetStream_v2(Handle *h, CUstream stream) {
  ENTER NEEDS_HANDLE const sim::Stream *s = sim::stream_of(stream);
  REQUIRE(s && s->device == h->device)
  h->stream = stream, h->workspace = 0, h->size = 0;
  return SUCCESS;
}
Status cublasSetWorkspace_v2(Handle *h, void *at, size_t n) {
  ENTER NEEDS_HANDLE REQUIRE((uint64_t)at % 256 == 0 && sim::machine().memory.find((uint64_t)at, n))
      h->workspace = (uint64_t)at;
  h->size = n;
  return SUCCESS;
}

Status cublasGemmEx_64(Handle *h, int ta, int tb, int64_t m, int64_t n, int64_t k,
                       const void *alpha, const void *a, int at, int64_t lda, const void *b, int bt,
                       int64_t ldb, const void *beta, void *c, int ct, int64_t ldc, int compute,
                       int algorithm) {
  ENTER NEEDS_HANDLE REQUIRE(ta >= 0 && ta < 2 && tb >= 0 && tb < 2 && at == ct && bt == ct &&
                             algorithm == -1) Product p = {};
  p.a = {(uint64_t)a, lda, 0, ta == 1}, p.b = {(uint64_t)b, ldb, 0, tb == 1};
  p.c = {(uint64_t)c, ldc, 0, false};
  p.m = m, p.n = n, p.k = k, p.batch = 1;
  return give(h, p, ct, compute, alpha, beta);
}

Status cublasGemmStridedBatchedEx_64(Handle *h, int ta, int tb, int64_t m, int64_t n, int64_t k,
                                     const void *alpha, const void *a, int at, int64_t lda,
                                     long long a_step, const void *b, int bt, int64_t ldb,
                                     long long b_step, const void *beta, void *c, int ct,
                                     int64_t ldc, long long c_step, int64_t batch, int compute,
                                     int algorithm) {
  ENTER NEEDS_HANDLE REQUIRE(ta >= 0 && ta < 2 && tb >= 0 && tb < 2 && at == ct && bt == ct &&
                             algorithm == -1) Product p = {};
  p.a = {(uint64_t)a, lda, a_step, ta == 1}, p.b = {(uint64_t)b, ldb, b_step, tb == 1};
  p.c = {(uint64_t)c, ldc, c_step, false};
  p.m = m, p.n = n, p.k = k, p.batch = batch;
  return give(h, p, ct, compute, alpha, beta);
}

static const struct {
  int code;
  const char *name, *text;
} errors[] = {
    {0, "CUBLAS_STATUS_SUCCESS", "success"},
    {1, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {3, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {7, "CUBLAS_STATUS_INVALID_VALUE",
     "an unsupported value or parameter was passed to the function"},
    {13, "CUBLAS_STATUS_EXECUTION_FAILED", "the function failed to launch on the GPU"},
    {15, "CUBLAS_STATUS_NOT_SUPPORTED", "the functionality requested is not supported"},
};

const char *cublasGetStatusName(int code) {
  for (const auto &e : errors)
    if (e.code == code) return e.name;
  return "unknown";
}
const char *cublasGetStatusString(int code) {
  for (const auto &e : errors)
    if (e.code == code) return e.text;
  return "unknown";
}

}  // extern "C"
