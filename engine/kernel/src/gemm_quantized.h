// Products of quantized matrices, and the conversion of their sums.
#ifndef LIBTENSOR_KERNEL_SRC_GEMM_QUANTIZED_H
#define LIBTENSOR_KERNEL_SRC_GEMM_QUANTIZED_H

#include "gemm.h"

namespace lt {
namespace {

// A packed panel that begins with the sums of its columns, which the zero point of a is multiplied
// with.
template <class P>
struct Shifted {
  using Unit = typename P::Unit;
  const Unit *at;
  Vec<typename P::Sum> starts[2];
  LT_INLINE Vec<typename P::Sum> start(int v) const { return starts[v]; }
  LT_INLINE Vec<Unit> units(int v, int64_t) const { return load(at + v * Vec<Unit>::N); }
  LT_INLINE void next() { at += kPanel<Unit>; }
};

// Packs depth rows of w columns, and their sums before them.
template <class P>
void pack_summed(const int8_t *b, int64_t row, int64_t col, int64_t depth, int64_t w,
                 typename P::Unit *panel) {
  using Unit = typename P::Unit;
  constexpr int N = Vec<Unit>::N;
  const Unit *at = panel + kPanel<Unit>;
  pack<P>(b, row, col, depth, w, panel + kPanel<Unit>);
  typename P::Left values[P::kSteps];
  for (int s = 0; s < P::kSteps; s++) values[s] = 1;
  const Vec<Unit> ones = unit_at<P>(values);
  Vec<int32_t> sums[2] = {int32_t(0), int32_t(0)};
  for (int64_t p = 0; p < depth; p += P::kSteps, at += kPanel<Unit>)
    for (int v = 0; v < 2; v++) sums[v] = P::add(sums[v], ones, load(at + v * N));
  for (int v = 0; v < 2; v++) store(panel + v * N, sums[v]);
}

// Units of all parts of k of a packed panel's columns, and their sums.
template <class P>
int64_t packed_units(int64_t k) {
  return ((k + P::kSteps - 1) / P::kSteps + parts_of<P>(k)) * kPanel<typename P::Unit>;
}

template <class P>
struct Requantized {
  using Unit = typename P::Unit;
  static constexpr int W = kPanel<Unit>, N = Vec<int32_t>::N, kHead = 1;
  static constexpr bool kWhole = true, kFromZero = false;
  const lt_gemm_quantized *q;

  Shifted<P> source(const int8_t *b, int64_t p, int64_t depth, const Target<P, Requantized> &to,
                    Unit *room) const {
    const Unit *panel = room;
    if (q->packed) {
      const int64_t k = q->g.k, parts = p > 0 ? p / part_of<P>(k) : 0;  // before this one
      panel = (const Unit *)q->packed + (q->column + to.j) / W * packed_units<P>(k) +
              (p / P::kSteps + parts) * W;
    } else {
      pack_summed<P>(b, q->g.b_row, q->g.b_col, depth, to.w, room);
    }
    Shifted<P> source{panel + W, {int32_t(0), int32_t(0)}};
    for (int v = 0; v < 2; v++) {
      if (to.first) source.starts[v] = load((const int32_t *)q->offsets + to.j + v * N);
      source.starts[v] = source.starts[v] - load(panel + v * N) * Vec<int32_t>(q->a_zero);
    }
    return source;
  }

  int32_t *partial_sums(int64_t, int64_t, int64_t) const { return nullptr; }
  bool direct(int64_t w) const { return w == W && q->g.c_col == 1; }
  template <int kRows>
  LT_INLINE void soon(int64_t, int64_t i, int64_t j) const {
    unrolled<kRows>([&](int r)
                        __attribute__((always_inline)) { __builtin_prefetch(at(i + r, j), 1); });
  }
  template <int kRows>
  LT_INLINE void whole(const Vec<int32_t> (&sums)[kRows][2], int64_t, int64_t i, int64_t j) const {
    write(sums, i, j, at(i, j), q->g.c_row * size());
  }
  void row(const int32_t *sums, int64_t, int64_t i, int64_t j, int64_t w) const {
    alignas(64) char elements[W * sizeof(int32_t)];
    const Vec<int32_t> vectors[1][2] = {{load(sums), load(sums + N)}};
    write(vectors, i, j, elements, 0);
    for (int64_t k = 0; k < w; k++) memcpy(at(i, j + k), elements + k * size(), size_t(size()));
  }

 private:
  int64_t size() const {
    return q->dtype == Traits<int32_t>::number || q->dtype == Traits<float>::number ? 4 : 1;
  }
  char *at(int64_t i, int64_t j) const {
    return (char *)q->g.c + (i * q->g.c_row + j * q->g.c_col) * size();
  }

  // Writes contiguous elements of rows, with stride step in bytes, from column j on.
  template <int kRows>
  LT_INLINE void write(const Vec<int32_t> (&sums)[kRows][2], int64_t i, int64_t j, char *to,
                       int64_t step) const {
    Vec<int32_t> x[kRows][2];
    unrolled<kRows>([&](int r) __attribute__((always_inline)) {
      for (int v = 0; v < 2; v++) x[r][v] = sums[r][v];
    });
    if (q->row_sums) {
      const Vec<int32_t> zeros[2] = {load((const int32_t *)q->zeros + j),
                                     load((const int32_t *)q->zeros + j + N)};
      unrolled<kRows>([&](int r) __attribute__((always_inline)) {
        const Vec sum_of_a(((const int32_t *)q->row_sums)[i + r]);
        for (int v = 0; v < 2; v++) x[r][v] = x[r][v] - zeros[v] * sum_of_a;
      });
    }
    if (q->dtype == Traits<int32_t>::number) {
      unrolled<kRows>([&](int r) __attribute__((always_inline)) {
        for (int v = 0; v < 2; v++) store((int32_t *)(to + r * step) + v * N, x[r][v]);
      });
      return;
    }
    Vec<float> bias[2] = {0.f, 0.f}, scales[2] = {0.f, 0.f};
    for (int v = 0; v < 2; v++) {
      bias[v] = load((const float *)q->bias + j + v * N);
      scales[v] = load((const float *)q->scales + j + v * N);
    }
    const auto number = [&](int r, int v) __attribute__((always_inline)) {
      return (convert<float>(x[r][v]) + bias[v]) * scales[v];
    };
    if (q->dtype == Traits<float>::number) {
      unrolled<kRows>([&](int r) __attribute__((always_inline)) {
        for (int v = 0; v < 2; v++) store((float *)(to + r * step) + v * N, number(r, v));
      });
      return;
    }
    // A NaN is the highest of 8-bit integers. Adding 1.5 * 2^23 leaves no bits for fractions, and
    // the integer in the low ones.
    typedef uint8_t Bytes __attribute__((vector_size(W)));
    const Vec<float> turn(12582912), low(q->low), high(q->high);
    const Bytes zero = Bytes{} + uint8_t(q->zero);
    unrolled<kRows>([&](int r) __attribute__((always_inline)) {
      const auto bits = [&](int v) __attribute__((always_inline)) {
        return bit_cast<int16_t>(max(min(number(r, v), high), low) + turn).v;
      };
      const auto halves = even(bits(0), bits(1), std::make_index_sequence<W>());
      const Bytes integers = __builtin_convertvector(halves, Bytes) + zero;
      memcpy(to + r * step, &integers, W);
    });
  }

  // Every other element of a and b, which are the low halves of numbers.
  template <class V, size_t... I>
  static LT_INLINE V even(const V &a, const V &b, std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b, int(2 * I)...);
  }
};

template <class P>
void multiply_quantized(const lt_gemm_quantized *q) {
  multiply<P, int8_t>(&q->g, Requantized<P>{q});
}

// Packs b for products of any number of rows, or returns the size of the packed matrix in bytes.
template <class P>
void pack_quantized(lt_gemm_packing *w) {
  using Unit = typename P::Unit;
  constexpr int W = kPanel<Unit>;
  w->bytes = (w->n + W - 1) / W * packed_units<P>(w->k) * int64_t(sizeof(Unit));
  if (!w->packed) return;
  Unit *panel = (Unit *)w->packed;
  const int64_t part = part_of<P>(w->k);
  for (int64_t j = 0; j < w->n; j += W) {
    for (int64_t k = 0; k < parts_of<P>(w->k); k++) {
      const int64_t p = k * part, depth = w->k - p < part ? w->k - p : part;
      pack_summed<P>((const int8_t *)w->b + p * w->b_row + j * w->b_col, w->b_row, w->b_col, depth,
                     w->n - j < W ? w->n - j : W, panel);
      panel += ((depth + P::kSteps - 1) / P::kSteps + 1) * W;
    }
  }
}

}  // namespace
}  // namespace lt
#endif
