// Products of matrices of integers that stand for numbers, and what becomes of their sums.
#ifndef LIBTENSOR_KERNEL_SRC_GEMM_QUANTIZED_H
#define LIBTENSOR_KERNEL_SRC_GEMM_QUANTIZED_H

#include "gemm.h"

namespace lt {
namespace {

// A panel whose columns' sums start with what the zero point of a takes away from them.
template <class P>
struct Shifted {
  using Unit = typename P::Unit;
  const Unit *at;
  const typename P::Sum *starts;
  LT_INLINE Vec<typename P::Sum> start(int v) const { return load(starts + v * Vec<Unit>::N); }
  LT_INLINE Vec<Unit> units(int v, int64_t) const { return load(at + v * Vec<Unit>::N); }
  LT_INLINE void next() { at += kPanel<Unit>; }
};

template <class P>
struct Requantized {
  using Unit = typename P::Unit;
  static constexpr int W = kPanel<Unit>;
  static constexpr bool kMayBeSums = false, kFromZero = false;
  const lt_gemm_quantized *q;

  Shifted<P> source(const Unit *panel, int64_t depth, int32_t *starts) const {
    typename P::Left values[P::kSteps];
    for (int s = 0; s < P::kSteps; s++) values[s] = 1;
    const Vec<Unit> ones = unit_at<P>(values);
    Vec<int32_t> sums[2] = {int32_t(0), int32_t(0)};
    const Unit *at = panel;
    for (int64_t p = 0; p < depth && q->a_zero != 0; p += P::kSteps, at += W)
      for (int v = 0; v < 2; v++) sums[v] = P::add(sums[v], ones, load(at + v * Vec<Unit>::N));
    for (int v = 0; v < 2; v++)
      store(starts + v * Vec<Unit>::N, -(sums[v] * Vec<int32_t>(q->a_zero)));
    return {panel, starts};
  }

  void row(const int32_t *sums, int64_t, int64_t i, int64_t j, int64_t w) const {
    const int64_t size =
        q->dtype == Traits<int32_t>::number || q->dtype == Traits<float>::number ? 4 : 1;
    char *c = (char *)q->g.c + (i * q->g.c_row + j * q->g.c_col) * size;
    if (w == W && q->g.c_col == 1) return write(sums, i, j, c);
    alignas(64) char elements[W * sizeof(int32_t)];
    write(sums, i, j, elements);
    for (int64_t k = 0; k < w; k++)
      memcpy(c + k * q->g.c_col * size, elements + k * size, size_t(size));
  }

 private:
  // Writes the elements of row i from column j on, one after the other.
  void write(const int32_t *sums, int64_t i, int64_t j, char *to) const {
    constexpr int N = Vec<int32_t>::N;
    const int32_t sum_of_a = q->row_sums ? ((const int32_t *)q->row_sums)[i] : 0;
    for (int v = 0; v < W; v += N) {
      Vec<int32_t> sum = load(sums + v) + load((const int32_t *)q->offsets + j + v);
      if (sum_of_a != 0) sum = sum - load((const int32_t *)q->zeros + j + v) * Vec(sum_of_a);
      const Vec<float> x = (convert<float>(sum) + load((const float *)q->bias + j + v)) *
                           load((const float *)q->scales + j + v);
      switch (q->dtype) {
        case Traits<int32_t>::number:
          store((int32_t *)to + v, sum);
          break;
        case Traits<float>::number:
          store((float *)to + v, x);
          break;
        default:
          const Narrow bytes = __builtin_convertvector(rounded(x).v, Narrow);
          memcpy(to + v, &bytes, N);
      }
    }
  }
  typedef uint8_t Narrow __attribute__((vector_size(W / 2)));
  // Adding 1.5 * 2^23 leaves no bits for fractions, and the integer in the low ones.
  Vec<int32_t> rounded(Vec<float> x) const {
    const Vec<float> turn(12582912);
    return bit_cast<int32_t>(min(max(x, Vec(q->low)), Vec(q->high)) + turn) -
           bit_cast<int32_t>(turn) + Vec(q->zero);
  }
};

template <class P>
void multiply_quantized(const lt_gemm_quantized *q) {
  multiply<P, int8_t>(&q->g, Requantized<P>{q});
}

}  // namespace
}  // namespace lt
#endif
