// Dot products of two vectors: each thread block sums a block of the elements, and a second launch
// adds up their sums.
#include "blocks.h"

namespace lt {
namespace {

// The accumulator type of products, as on the CPU.
template <class T>
struct Sum {
  using Type = T;
};
#define LT_SUM(T, S) \
  template <>        \
  struct Sum<T> {    \
    using Type = S;  \
  };
LT_SUM(Float16, double)
LT_SUM(BFloat16, double)
LT_SUM(float, double)
LT_SUM(Complex64, Complex128)
#undef LT_SUM

// The arguments of a launch. A block has `length` elements; if there are several,
// their sums are stored at `sums`. Strides are in bytes.
struct Dots {
  uint64_t to, a, b, sums;
  int64_t n, length, pieces, a_stride, b_stride, conjugate;
};

template <class S>
struct Totals {
  Tile<S, 1, kBlock> of;
};

template <class T>
LT_INLINE T conjugated(T x) {
  return x;
}
template <class T>
LT_INLINE Complex<T> conjugated(Complex<T> x) {
  return {x.re, -x.im};
}

// The sum of f at every kBlock-th index from a thread's on, over all threads, in thread 0; sums are
// combined in pairs.
template <class S, class F>
LT_INLINE S block_sum(Totals<S> &shared, int64_t begin, int64_t end, F f) {
  phase([&](int thread) {
    S sum = S(0);
    for (int64_t i = begin + thread; i < end; i += kBlock) sum = S(sum + f(i));
    shared.of.at(0, thread) = sum;
  });
  for (int half = kBlock / 2; half > 0; half /= 2) {
    phase([&](int thread) {
      if (thread < half)
        shared.of.at(0, thread) = S(shared.of.at(0, thread) + shared.of.at(0, thread + half));
    });
  }
  return shared.of.at(0, 0);
}

template <class T, class S = typename Sum<T>::Type>
LT_INLINE void dot_piece(const Dots &d, Totals<S> &shared, int64_t piece) {
  const int64_t begin = piece * d.length, end = begin + d.length < d.n ? begin + d.length : d.n;
  const S sum = block_sum(shared, begin, end, [&](int64_t i) {
    const S a = convert<S>(*(const T *)LT_PLACE(d.a + i * d.a_stride, sizeof(T), false));
    const S b = convert<S>(*(const T *)LT_PLACE(d.b + i * d.b_stride, sizeof(T), false));
    return S((d.conjugate ? conjugated(a) : a) * b);
  });
  phase([&](int thread) {
    if (thread) return;
    if (d.pieces == 1)
      *(T *)LT_PLACE(d.to, sizeof(T), true) = convert<T>(sum);
    else
      *(S *)LT_PLACE(d.sums + piece * sizeof(S), sizeof(S), true) = sum;
  });
}

template <class T, class S = typename Sum<T>::Type>
LT_INLINE void dot_merge(const Dots &d, Totals<S> &shared) {
  const S sum = block_sum(shared, 0, d.pieces, [&](int64_t i) {
    return *(const S *)LT_PLACE(d.sums + i * sizeof(S), sizeof(S), false);
  });
  phase([&](int thread) {
    if (!thread) *(T *)LT_PLACE(d.to, sizeof(T), true) = convert<T>(sum);
  });
}

}  // namespace
}  // namespace lt

#define LT_DOT(DTYPE, ...)                                                                \
  LT_BLOCK_KERNEL(dot_##DTYPE, lt::Dots, lt::Totals<lt::Sum<__VA_ARGS__>::Type>) {        \
    for (int64_t i = LT_GROUP; i < args.pieces; i += LT_GROUPS)                           \
      lt::dot_piece<__VA_ARGS__>(args, shared, i);                                        \
  }                                                                                       \
  LT_BLOCK_KERNEL(dot_pieces_##DTYPE, lt::Dots, lt::Totals<lt::Sum<__VA_ARGS__>::Type>) { \
    if (LT_GROUP == 0) lt::dot_merge<__VA_ARGS__>(args, shared);                          \
  }

LT_DOT(uint8, uint8_t)
LT_DOT(int8, int8_t)
LT_DOT(int16, int16_t)
LT_DOT(int32, int32_t)
LT_DOT(int64, int64_t)
LT_DOT(uint16, uint16_t)
LT_DOT(uint32, uint32_t)
LT_DOT(uint64, uint64_t)
LT_DOT(float16, lt::Float16)
LT_DOT(bfloat16, lt::BFloat16)
LT_DOT(float32, float)
LT_DOT(float64, double)
LT_DOT(complex64, lt::Complex64)
LT_DOT(complex128, lt::Complex128)
