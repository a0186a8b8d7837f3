// The functions of cuFFT that are called, as cufft.h of CUDA 12.0 and later declares them.
#include "library.h"

typedef int status;
typedef status complex_transform(int plan, void *from, void *to, int direction);
typedef status real_transform(int plan, void *from, void *to);

// In the order of their names.
static struct {
  status (*create)(int *plan);
  status (*destroy)(int plan);
  status (*allocate)(int plan, int automatic);
  status (*make)(int plan, int rank, long long *n, long long *in_sizes, long long in_step,
                 long long in_batch, long long *out_sizes, long long out_step, long long out_batch,
                 int type, long long batch, size_t *bytes);
  status (*set_stream)(int plan, void *stream);
  status (*set_room)(int plan, void *room);
  complex_transform *c2c, *z2z;
  real_transform *r2c, *d2z, *c2r, *z2d;
} cufft;

const char *const lt_cufft_names[LT_CUFFT_NAMES] = {
    "cufftCreate",    "cufftDestroy",     "cufftSetAutoAllocation", "cufftMakePlanMany64",
    "cufftSetStream", "cufftSetWorkArea", "cufftExecC2C",           "cufftExecZ2Z",
    "cufftExecR2C",   "cufftExecD2Z",     "cufftExecC2R",           "cufftExecZ2D",
};
void *const lt_cufft_slots = &cufft;
_Static_assert(sizeof lt_cufft_names == sizeof cufft &&
                   sizeof cufft / sizeof(void *) == LT_CUFFT_NAMES,
               "each function has a name");

static int failed(status code, const char *name, const char **function) {
  if (code) *function = name;
  return code;
}

int lt_cufft_plan(int *plan, int rank, const int64_t *sizes, int type, int64_t batch, size_t *bytes,
                  const char **function) {
  long long n[LT_CUFFT_RANK];
  for (int d = 0; d < rank; d++) n[d] = sizes[d];
  status code = failed(cufft.create(plan), "cufftCreate", function);
  if (code) return code;
  code = failed(cufft.allocate(*plan, 0), "cufftSetAutoAllocation", function);
  if (!code)
    code = failed(cufft.make(*plan, rank, n, NULL, 1, 1, NULL, 1, 1, type, batch, bytes),
                  "cufftMakePlanMany64", function);
  if (code) cufft.destroy(*plan);
  return code;
}

int lt_cufft_transform(int plan, int type, bool inverse, uintptr_t stream, uint64_t room,
                       uint64_t from, uint64_t to, const char **function) {
  status code = failed(cufft.set_stream(plan, (void *)stream), "cufftSetStream", function);
  if (!code) code = failed(cufft.set_room(plan, (void *)room), "cufftSetWorkArea", function);
  if (code) return code;
  void *a = (void *)from, *b = (void *)to;
  const int direction = inverse ? 1 : -1;
  switch (type) {
    case LT_C2C:
      return failed(cufft.c2c(plan, a, b, direction), "cufftExecC2C", function);
    case LT_Z2Z:
      return failed(cufft.z2z(plan, a, b, direction), "cufftExecZ2Z", function);
    case LT_R2C:
      return failed(cufft.r2c(plan, a, b), "cufftExecR2C", function);
    case LT_D2Z:
      return failed(cufft.d2z(plan, a, b), "cufftExecD2Z", function);
    case LT_C2R:
      return failed(cufft.c2r(plan, a, b), "cufftExecC2R", function);
    default:
      return failed(cufft.z2d(plan, a, b), "cufftExecZ2D", function);
  }
}

int lt_cufft_forget(int plan, const char **function) {
  return failed(cufft.destroy(plan), "cufftDestroy", function);
}
