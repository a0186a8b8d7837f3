// Rows whose body needs contiguous operands: strided and constant ones are copied to small buffers.
#ifndef LIBTENSOR_KERNEL_CHUNKS_H
#define LIBTENSOR_KERNEL_CHUNKS_H

#include "rows.h"
#include "vmath_core.h"

namespace lt {
namespace {

// Elements per block: 4 KB of results.
template <class R>
constexpr int64_t chunk_of = 4096 / (int64_t)sizeof(R);

// Presents an operand as contiguous chunks of at most kChunk elements; a constant is filled in
// once.
template <class T, int64_t kChunk>
struct Input {
  const char *at;
  int64_t stride;
  alignas(64) T buffer[kChunk];

  LT_INLINE Input(const char *data, int64_t s, int64_t n) : at(data), stride(s) {
    if (s == 0) fill(n < kChunk ? n : kChunk);
  }
  LT_INLINE void fill(int64_t m) {
    const T v = *(const T *)at;
    for (int64_t i = 0; i < m; i++) buffer[i] = v;
  }
  LT_INLINE const T *next(int64_t m) {
    const char *from = at;
    at += m * stride;
    if (stride == (int64_t)sizeof(T)) return (const T *)from;
    if (stride != 0)
      for (int64_t i = 0; i < m; i++) buffer[i] = *(const T *)(from + i * stride);
    return buffer;
  }
};

template <class T>
struct Result {
  static constexpr int64_t kChunk = chunk_of<T>;
  char *at;
  int64_t stride;
  alignas(64) T buffer[kChunk];

  LT_INLINE Result(char *data, int64_t s) : at(data), stride(s) {}
  LT_INLINE T *begin() { return stride == (int64_t)sizeof(T) ? (T *)at : buffer; }
  LT_INLINE void end(int64_t m) {
    if (stride != (int64_t)sizeof(T))
      for (int64_t i = 0; i < m; i++) *(T *)(at + i * stride) = buffer[i];
    at += m * stride;
  }
};

template <class R, class F, class... In>
LT_INLINE void run_chunks(Result<R> &&out, int64_t n, F body, In &&...in) {
  constexpr int64_t kChunk = chunk_of<R>;
  for (; n > 0; n -= kChunk) {
    const int64_t m = n < kChunk ? n : kChunk;
    body(out.begin(), m, in.next(m)...);
    out.end(m);
  }
}

// body(R *out, int64_t n, const A *a, ...) over contiguous runs.
template <class R, class A, class F>
LT_INLINE void chunked(char *const *data, const int64_t *s, int64_t n, F body) {
  run_chunks(Result<R>(data[0], s[0]), n, body, Input<A, chunk_of<R>>(data[1], s[1], n));
}
template <class R, class A, class B, class F>
LT_INLINE void chunked(char *const *data, const int64_t *s, int64_t n, F body) {
  run_chunks(Result<R>(data[0], s[0]), n, body, Input<A, chunk_of<R>>(data[1], s[1], n),
             Input<B, chunk_of<R>>(data[2], s[2], n));
}
template <class R, class A, class B, class C, class F>
LT_INLINE void chunked(char *const *data, const int64_t *s, int64_t n, F body) {
  run_chunks(Result<R>(data[0], s[0]), n, body, Input<A, chunk_of<R>>(data[1], s[1], n),
             Input<B, chunk_of<R>>(data[2], s[2], n), Input<C, chunk_of<R>>(data[3], s[3], n));
}

// f on vectors of T, for one and two operands.
template <class T, class F>
LT_INLINE void vector_unary(char *const *data, const int64_t *s, int64_t n, F f) {
  chunked<T, T>(data, s, n, [&](T *out, int64_t m, const T *a) {
    for (int64_t i = 0; i < m; i += Vec<T>::N) {
      const int k = (int)(m - i < Vec<T>::N ? m - i : Vec<T>::N);
      const bool whole = k == Vec<T>::N;
      const Vec<T> y = f(whole ? load(a + i) : load_partial(a + i, k));
      if (whole)
        store(out + i, y);
      else
        store_partial(out + i, y, k);
    }
  });
}
template <class T, class F>
LT_INLINE void vector_binary(char *const *data, const int64_t *s, int64_t n, F f) {
  chunked<T, T, T>(data, s, n, [&](T *out, int64_t m, const T *a, const T *b) {
    for (int64_t i = 0; i < m; i += Vec<T>::N) {
      const int k = (int)(m - i < Vec<T>::N ? m - i : Vec<T>::N);
      const bool whole = k == Vec<T>::N;
      const Vec<T> x = whole ? load(a + i) : load_partial(a + i, k);
      const Vec<T> z = f(x, whole ? load(b + i) : load_partial(b + i, k));
      if (whole)
        store(out + i, z);
      else
        store_partial(out + i, z, k);
    }
  });
}

// Applies f to the real and to the imaginary parts of complex numbers.
template <class T, class F>
LT_INLINE void parts_unary(char *const *data, const int64_t *s, int64_t n, F f) {
  chunked<T, T>(data, s, n, [&](T *out, int64_t m, const T *a) {
    RealOf<T> *z = (RealOf<T> *)out;
    const RealOf<T> *x = (const RealOf<T> *)a;
#pragma GCC ivdep
    for (int64_t i = 0; i < 2 * m; i++) z[i] = f(x[i]);
  });
}
template <class T, class F>
LT_INLINE void parts_binary(char *const *data, const int64_t *s, int64_t n, F f) {
  chunked<T, T, T>(data, s, n, [&](T *out, int64_t m, const T *a, const T *b) {
    RealOf<T> *z = (RealOf<T> *)out;
    const RealOf<T> *x = (const RealOf<T> *)a, *y = (const RealOf<T> *)b;
#pragma GCC ivdep
    for (int64_t i = 0; i < 2 * m; i++) z[i] = f(x[i], y[i]);
  });
}

// f on elements, for three operands.
template <class R, class A, class B, class C, class F>
LT_INLINE void ternary_chunks(char *const *data, const int64_t *s, int64_t n, F f) {
  chunked<R, A, B, C>(data, s, n, [&](R *out, int64_t m, const A *a, const B *b, const C *c) {
#pragma GCC ivdep
    for (int64_t i = 0; i < m; i++) out[i] = f(a[i], b[i], c[i]);
  });
}

}  // namespace
}  // namespace lt

// A kernel of an expression in a vector a.
#define LT_VECTOR(NAME, ...)                                                              \
  struct NAME {                                                                           \
    template <class T>                                                                    \
    static void row(char *const *data, const int64_t *strides, int64_t n, const void *) { \
      vector_unary<T>(data, strides, n, [](Vec<T> a) { return __VA_ARGS__; });            \
    }                                                                                     \
  };

#endif
