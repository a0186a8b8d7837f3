// Matrix products, and zeroing of triangles.
#include "blocks.h"

namespace lt {
namespace {

// The accumulator type of products of a dtype.
template <class T>
struct Sum {
  using Type = T;
};
template <>
struct Sum<Float16> {
  using Type = float;
};
template <>
struct Sum<BFloat16> {
  using Type = float;
};

// The arguments of a launch. Strides are in bytes: of batch, row and column.
// The sum along `inner` is split into blocks of `length`; if there are several, their sums are
// stored at `sums`.
struct Product {
  uint64_t to, self, a, b, sums;
  int64_t batch, rows, columns, inner, pieces, length;
  int64_t to_strides[3], self_strides[3], a_strides[3], b_strides[3], reserved;
  alignas(16) char alpha[16];
  alignas(16) char beta[16];
};

// A block computes kTile by kTile elements, and reads kDepth columns of a and rows of b at a time;
// a thread computes kOwn by kOwn of them, with a stride of kStep.
constexpr int kTile = 64, kDepth = 16, kStep = 16, kOwn = kTile / kStep;
static_assert(kStep * kStep == kBlock);

template <class S>
struct Operands {
  Tile<S, kDepth, kTile> a, b;
};

template <class S>
struct Sums {
  S of[kOwn][kOwn];
};

template <class S>
LT_INLINE S add_product(S sum, S a, S b) {
  return S(sum + a * b);
}
LT_INLINE float add_product(float sum, float a, float b) { return ::fmaf(a, b, sum); }
LT_INLINE double add_product(double sum, double a, double b) { return ::fma(a, b, sum); }
template <class T>
LT_INLINE Complex<T> add_product(Complex<T> sum, Complex<T> a, Complex<T> b) {
  return {add_product(add_product(sum.re, a.re, b.re), -a.im, b.im),
          add_product(add_product(sum.im, a.re, b.im), a.im, b.re)};
}

template <class T>
LT_INLINE T at(uint64_t begin, const int64_t *strides, int64_t batch, int64_t i, int64_t j) {
  return *(const T *)LT_PLACE(begin + batch * strides[0] + i * strides[1] + j * strides[2],
                              sizeof(T), false);
}

// Stores the sum, scaled and added to the given element.
template <class T, class S>
LT_INLINE void finish(const Product &p, S sum, int64_t batch, int64_t i, int64_t j) {
  sum = S(sum * *(const S *)p.alpha);
  if (p.self)
    sum = S(sum + *(const S *)p.beta * convert<S>(at<T>(p.self, p.self_strides, batch, i, j)));
  const uint64_t to = p.to + batch * p.to_strides[0] + i * p.to_strides[1] + j * p.to_strides[2];
  *(T *)LT_PLACE(to, sizeof(T), true) = convert<T>(sum);
}

// Where a block is: its matrix, its first row and column, and its part of `inner`.
struct TilePlace {
  int64_t batch, row, column, piece, begin, end;
};

LT_INLINE TilePlace tile_place(const Product &p, int64_t tile) {
  const int64_t across = (p.columns + kTile - 1) / kTile, down = (p.rows + kTile - 1) / kTile;
  TilePlace w;
  w.column = tile % across * kTile, tile /= across;
  w.row = tile % down * kTile, tile /= down;
  w.batch = tile % p.batch, w.piece = tile / p.batch;
  w.begin = w.piece * p.length;
  w.end = w.begin + p.length < p.inner ? w.begin + p.length : p.inner;
  return w;
}

// Copies the k-th to (k + kDepth)-th elements of kTile lines to shared memory, with zeros beyond
// the end of the lines and after the last line. Adjacent threads read adjacent elements.
template <class T, class S>
LT_INLINE void read_lines(Tile<S, kDepth, kTile> &to, int thread, uint64_t begin, int64_t line,
                          int64_t lines, int64_t line_stride, int64_t k, int64_t end,
                          int64_t stride) {
  const bool along = stride < line_stride;
#pragma unroll
  for (int r = 0; r < kDepth * kTile / kBlock; r++) {
    const int n = thread + r * kBlock;
    const int d = along ? n % kDepth : n / kTile, l = along ? n / kDepth : n % kTile;
    S value = S(0);
    if (line + l < lines && k + d < end)
      value = convert<S>(*(const T *)LT_PLACE(begin + (line + l) * line_stride + (k + d) * stride,
                                              sizeof(T), false));
    to.at(d, l) = value;
  }
}

template <class T, class S = typename Sum<T>::Type>
LT_INLINE void product_tile(const Product &p, Operands<S> &shared, int64_t tile) {
  const TilePlace w = tile_place(p, tile);
  const uint64_t a = p.a + w.batch * p.a_strides[0], b = p.b + w.batch * p.b_strides[0];
  Each<Sums<S>> sums;
  phase([&](int thread) {
#pragma unroll
    for (int i = 0; i < kOwn * kOwn; i++) sums[thread].of[i / kOwn][i % kOwn] = S(0);
  });
  for (int64_t k = w.begin; k < w.end; k += kDepth) {
    phase([&](int thread) {
      read_lines<T>(shared.a, thread, a, w.row, p.rows, p.a_strides[1], k, w.end, p.a_strides[2]);
      read_lines<T>(shared.b, thread, b, w.column, p.columns, p.b_strides[2], k, w.end,
                    p.b_strides[1]);
    });
    phase([&](int thread) {
      const int row = thread / kStep, column = thread % kStep;
#pragma unroll 4
      for (int d = 0; d < kDepth; d++) {
        S left[kOwn], right[kOwn];
#pragma unroll
        for (int i = 0; i < kOwn; i++) {
          left[i] = shared.a.at(d, row + i * kStep);
          right[i] = shared.b.at(d, column + i * kStep);
        }
#pragma unroll
        for (int i = 0; i < kOwn * kOwn; i++) {
          S &sum = sums[thread].of[i / kOwn][i % kOwn];
          sum = add_product(sum, left[i / kOwn], right[i % kOwn]);
        }
      }
    });
  }
  phase([&](int thread) {
#pragma unroll
    for (int n = 0; n < kOwn * kOwn; n++) {
      const int64_t i = w.row + thread / kStep + n / kOwn * kStep;
      const int64_t j = w.column + thread % kStep + n % kOwn * kStep;
      if (i >= p.rows || j >= p.columns) continue;
      const S sum = sums[thread].of[n / kOwn][n % kOwn];
      if (p.pieces == 1) {
        finish<T>(p, sum, w.batch, i, j);
        continue;
      }
      const int64_t to = ((w.piece * p.batch + w.batch) * p.rows + i) * p.columns + j;
      *(S *)LT_PLACE(p.sums + to * sizeof(S), sizeof(S), true) = sum;
    }
  });
}

// The sums of the blocks of one element, in order.
template <class T, class S = typename Sum<T>::Type>
LT_INLINE void product_pieces(const Product &p, int64_t element) {
  const int64_t n = p.batch * p.rows * p.columns;
  S sum = S(0);
  for (int64_t piece = 0; piece < p.pieces; piece++)
    sum =
        S(sum + *(const S *)LT_PLACE(p.sums + (piece * n + element) * sizeof(S), sizeof(S), false));
  const int64_t j = element % p.columns, i = element / p.columns % p.rows;
  finish<T>(p, sum, element / p.columns / p.rows, i, j);
}

// The arguments of a launch. Elements have a size in bytes.
struct Triangle {
  uint64_t to;
  int64_t numel, rows, columns, diagonal, size, below;
};

}  // namespace
}  // namespace lt

#define LT_PRODUCT(DTYPE, ...)                                                                    \
  LT_BLOCK_KERNEL(product_##DTYPE, lt::Product, lt::Operands<lt::Sum<__VA_ARGS__>::Type>) {       \
    const int64_t across = (args.columns + lt::kTile - 1) / lt::kTile;                            \
    const int64_t down = (args.rows + lt::kTile - 1) / lt::kTile;                                 \
    const int64_t n = args.pieces * args.batch * down * across;                                   \
    for (int64_t i = LT_GROUP; i < n; i += LT_GROUPS)                                             \
      lt::product_tile<__VA_ARGS__>(args, shared, i);                                             \
  }                                                                                               \
  LT_KERNEL(product_pieces_##DTYPE, lt::Product) {                                                \
    const int64_t n = args.batch * args.rows * args.columns;                                      \
    for (int64_t i = LT_THREAD; i < n; i += LT_THREADS) lt::product_pieces<__VA_ARGS__>(args, i); \
  }

LT_PRODUCT(uint8, uint8_t)
LT_PRODUCT(int8, int8_t)
LT_PRODUCT(int16, int16_t)
LT_PRODUCT(int32, int32_t)
LT_PRODUCT(int64, int64_t)
LT_PRODUCT(uint16, uint16_t)
LT_PRODUCT(uint32, uint32_t)
LT_PRODUCT(uint64, uint64_t)
LT_PRODUCT(float16, lt::Float16)
LT_PRODUCT(bfloat16, lt::BFloat16)
LT_PRODUCT(float32, float)
LT_PRODUCT(float64, double)
LT_PRODUCT(complex64, lt::Complex64)
LT_PRODUCT(complex128, lt::Complex128)

LT_KERNEL(triangle, lt::Triangle) {
  for (int64_t i = LT_THREAD; i < args.numel; i += LT_THREADS) {
    const int64_t column = i % args.columns, row = i / args.columns % args.rows;
    const bool clears = args.below ? column < row + args.diagonal : column > row + args.diagonal;
    if (!clears) continue;
    char *at = LT_PLACE(args.to + i * args.size, args.size, true);
    for (int64_t k = 0; k < args.size; k++) at[k] = 0;
  }
}
