// Complex numbers from their parts.
#include "../chunks.h"
#include "../vmath_trig.h"

namespace lt {
namespace {

struct FromParts {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *) {
    binary_row<Complex<T>, T, T>(data, strides, n, [](T re, T im) { return Complex<T>(re, im); });
  }
};

// From the absolute value and the angle.
struct Polar {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *) {
    chunked<Complex<T>, T, T>(
        data, strides, n, [](Complex<T> *out, int64_t m, const T *r, const T *angle) {
          for (int64_t i = 0; i < m; i += Vec<T>::N) {
            const int k = (int)(m - i < Vec<T>::N ? m - i : Vec<T>::N);
            const Vec<T> a = load_partial(angle + i, k), c = vcos(a), s = vsin(a);
            for (int j = 0; j < k; j++) out[i + j] = {r[i + j] * c[j], r[i + j] * s[j]};
          }
        });
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(complex){
    {"complex", "C>TT", LT_FLOATING(FromParts)},
    {"polar", "C>TT", LT_FLOATING(Polar)},
    LT_END,
};
