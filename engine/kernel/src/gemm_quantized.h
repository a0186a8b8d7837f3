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

  void row(int32_t *sums, int64_t, int64_t i, int64_t j, int64_t w) const {
    const int32_t *offsets = (const int32_t *)q->offsets + j;
    for (int k = 0; k < W; k++) sums[k] += offsets[k];
    if (q->row_sums) {
      const int32_t *zeros = (const int32_t *)q->zeros + j, sum = ((const int32_t *)q->row_sums)[i];
      for (int k = 0; k < W; k++) sums[k] -= zeros[k] * sum;
    }
    const int64_t at = i * q->g.c_row + j * q->g.c_col;
    if (q->dtype == Traits<int32_t>::number) return write(sums, (int32_t *)q->g.c + at, w);
    alignas(64) float scaled[W];
    const float *bias = (const float *)q->bias + j, *scales = (const float *)q->scales + j;
    for (int k = 0; k < W; k++) scaled[k] = (float(sums[k]) + bias[k]) * scales[k];
    if (q->dtype == Traits<float>::number) return write(scaled, (float *)q->g.c + at, w);
    // Adding 1.5 * 2^23 leaves no bits for fractions, and the integer in the low ones.
    const float turn = 12582912;
    int32_t turned, bits;
    memcpy(&turned, &turn, sizeof turned);
    uint8_t bytes[W];
    for (int k = 0; k < W; k++) {
      const float above = scaled[k] > q->low ? scaled[k] : q->low;
      const float x = (above < q->high ? above : q->high) + turn;
      memcpy(&bits, &x, sizeof bits);
      bytes[k] = uint8_t(bits - turned + q->zero);
    }
    write(bytes, (uint8_t *)q->g.c + at, w);
  }

 private:
  template <class E>
  void write(const E *from, E *c, int64_t w) const {
    if (w == W && q->g.c_col == 1)
      memcpy(c, from, W * sizeof(E));
    else
      for (int64_t k = 0; k < w; k++) c[k * q->g.c_col] = from[k];
  }
};

template <class P>
void multiply_quantized(const lt_gemm_quantized *q) {
  multiply<P, int8_t>(&q->g, Requantized<P>{q});
}

}  // namespace
}  // namespace lt
#endif
