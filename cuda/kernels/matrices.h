// Products of matrices, and the zeros beside a diagonal.
#include "device.h"

namespace lt {
namespace {

// What products of a dtype are added up in.
template <class T>
struct Sum {
  using Type = T;
};
template <>
struct Sum<Bool> {
  using Type = int64_t;
};
template <>
struct Sum<Float16> {
  using Type = float;
};
template <>
struct Sum<BFloat16> {
  using Type = float;
};

// One launch; product of matrices.go mirrors it. Strides are in bytes: of batch, row and column.
struct Product {
  uint64_t to, self, a, b;
  int64_t batch, rows, columns, inner;
  int64_t to_strides[3], self_strides[3], a_strides[3], b_strides[3];
  alignas(16) char alpha[16];
  alignas(16) char beta[16];
};

template <class T>
LT_INLINE T at(uint64_t begin, const int64_t *strides, int64_t batch, int64_t i, int64_t j) {
  return *(const T *)LT_PLACE(begin + batch * strides[0] + i * strides[1] + j * strides[2],
                              sizeof(T), false);
}

template <class T>
LT_INLINE void product_element(const Product &p, int64_t thread) {
  using S = typename Sum<T>::Type;
  const int64_t j = thread % p.columns, i = thread / p.columns % p.rows,
                batch = thread / p.columns / p.rows;
  S sum = S(0);
  for (int64_t k = 0; k < p.inner; k++) {
    const S a = convert<S>(at<T>(p.a, p.a_strides, batch, i, k));
    const S b = convert<S>(at<T>(p.b, p.b_strides, batch, k, j));
    sum = S(sum + a * b);
  }
  sum = S(sum * *(const S *)p.alpha);
  if (p.self)
    sum = S(sum + *(const S *)p.beta * convert<S>(at<T>(p.self, p.self_strides, batch, i, j)));
  const uint64_t to = p.to + batch * p.to_strides[0] + i * p.to_strides[1] + j * p.to_strides[2];
  *(T *)LT_PLACE(to, sizeof(T), true) = convert<T>(sum);
}

// One launch; triangle of matrices.go mirrors it. Elements have a size in bytes.
struct Triangle {
  uint64_t to;
  int64_t numel, rows, columns, diagonal, size, below;
};

}  // namespace
}  // namespace lt

#define LT_PRODUCT(NAME, ...)                                                                      \
  LT_KERNEL(NAME, lt::Product) {                                                                   \
    const int64_t n = args.batch * args.rows * args.columns;                                       \
    for (int64_t i = LT_THREAD; i < n; i += LT_THREADS) lt::product_element<__VA_ARGS__>(args, i); \
  }

LT_PRODUCT(product_bool, lt::Bool)
LT_PRODUCT(product_uint8, uint8_t)
LT_PRODUCT(product_int8, int8_t)
LT_PRODUCT(product_int16, int16_t)
LT_PRODUCT(product_int32, int32_t)
LT_PRODUCT(product_int64, int64_t)
LT_PRODUCT(product_float16, lt::Float16)
LT_PRODUCT(product_bfloat16, lt::BFloat16)
LT_PRODUCT(product_float32, float)
LT_PRODUCT(product_float64, double)
LT_PRODUCT(product_complex64, lt::Complex64)
LT_PRODUCT(product_complex128, lt::Complex128)

LT_KERNEL(triangle, lt::Triangle) {
  for (int64_t i = LT_THREAD; i < args.numel; i += LT_THREADS) {
    const int64_t column = i % args.columns, row = i / args.columns % args.rows;
    const bool clears = args.below ? column < row + args.diagonal : column > row + args.diagonal;
    if (!clears) continue;
    char *at = LT_PLACE(args.to + i * args.size, args.size, true);
    for (int64_t k = 0; k < args.size; k++) at[k] = 0;
  }
}
