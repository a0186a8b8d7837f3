// Linear layers of float32 activations and weights of 8 or 4 bits.
#include "../rows.h"
// Comes after rows.h, which sets the compiler up.
#include "../../blocks.h"
#include "../vec.h"

namespace lt {
namespace {

// Vec<float>::N integers of 8 bits.
template <class T>
LT_INLINE Vec<float> floats_at(const T *p) {
  constexpr int N = Vec<float>::N;
  typedef T Bytes __attribute__((vector_size(N)));
  Bytes bytes;
  memcpy(&bytes, p, sizeof bytes);
  return __builtin_convertvector(__builtin_convertvector(bytes, Raw<int32_t>), Raw<float>);
}

LT_INLINE float lanes_sum(Vec<float> v) {
  float sum = 0;
  for (int i = 0; i < Vec<float>::N; i++) sum += v[i];
  return sum;
}

float dot_bytes(const float *x, const int8_t *w, int64_t k) {
  constexpr int N = Vec<float>::N, kVectors = 4;
  Vec<float> sums[kVectors];
  for (int v = 0; v < kVectors; v++) sums[v] = 0.f;
  int64_t p = 0;
  for (; p + kVectors * N <= k; p += kVectors * N)
    for (int v = 0; v < kVectors; v++)
      sums[v] = fma(load(x + p + v * N), floats_at(w + p + v * N), sums[v]);
  float sum = lanes_sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; p < k; p++) sum += x[p] * float(w[p]);
  return sum;
}

void multiply_bytes(const lt_weight_linear *g) {
  const float *scales = (const float *)g->scales;
  for (int64_t j = 0; j < g->n; j++)
    for (int64_t i = 0; i < g->m; i++)
      ((float *)g->out)[i * g->out_row + j] =
          dot_bytes((const float *)g->input + i * g->k, (const int8_t *)g->weight + j * g->k,
                    g->k) *
          scales[j];
}

constexpr int kPanelRows = 32;

// The products of a row of activations and `rows` rows of a packed panel, whose integers of a group
// are summed up by add.
template <class F>
LT_INLINE void multiply_panel(const lt_weight_linear *g, const float *x, const float *scales,
                              float *out, int rows, F &&add) {
  float sums[kPanelRows] = {};
  for (int64_t p = 0; p < g->k; p += g->group, scales += 2 * g->scale_row) {
    const int64_t end = g->k - p < g->group ? g->k : p + g->group;
    float products[kPanelRows], total = 0;
    for (int64_t q = p; q < end; q++) total += x[q];
    add(p, end, products);
    for (int j = 0; j < rows; j++)
      sums[j] += scales[2 * j] * (products[j] - 8 * total) + scales[2 * j + 1] * total;
  }
  memcpy(out, sums, size_t(rows) * sizeof(float));
}

void multiply_whole(const lt_weight_linear *g, const float *x, const uint8_t *w,
                    const float *scales, float *out) {
  constexpr int N = Vec<float>::N, kVectors = kPanelRows / 2 / N;
  multiply_panel(g, x, scales, out, kPanelRows, [&](int64_t p, int64_t end, float *products) {
    Vec<float> low[kVectors], high[kVectors];
    for (int v = 0; v < kVectors; v++) low[v] = high[v] = 0.f;
    typedef uint8_t Bytes __attribute__((vector_size(16)));
    for (; p < end; p++) {
      Bytes both;
      memcpy(&both, w + 16 * p, sizeof both);
      const Bytes halves[2] = {both & 15, both >> 4};
      const Vec<float> each(x[p]);
      for (int v = 0; v < kVectors; v++) {
        low[v] = fma(each, floats_at((const uint8_t *)&halves[0] + v * N), low[v]);
        high[v] = fma(each, floats_at((const uint8_t *)&halves[1] + v * N), high[v]);
      }
    }
    for (int v = 0; v < kVectors; v++) {
      store(products + v * N, low[v]);
      store(products + 16 + v * N, high[v]);
    }
  });
}

void multiply_half(const lt_weight_linear *g, const float *x, const uint8_t *w, const float *scales,
                   float *out) {
  multiply_panel(g, x, scales, out, kPanelRows / 2, [&](int64_t p, int64_t end, float *products) {
    for (int j = 0; j < kPanelRows / 2; j++) products[j] = 0;
    for (; p < end; p++)
      for (int j = 0; j < kPanelRows / 2; j++)
        products[j] += x[p] * float(w[8 * p + j / 2] >> 4 * (j & 1) & 15);
  });
}

void multiply_nibbles(const lt_weight_linear *g) {
  for (int64_t j = 0; j < g->n; j += kPanelRows) {
    const auto multiply = g->n - j < kPanelRows ? multiply_half : multiply_whole;
    for (int64_t i = 0; i < g->m; i++)
      multiply(g, (const float *)g->input + i * g->k, (const uint8_t *)g->weight + j * g->k / 2,
               (const float *)g->scales + 2 * j, (float *)g->out + i * g->out_row + j);
  }
}

}  // namespace
}  // namespace lt

LT_UNIT(weights){
    LT_SINGLE("weights_bytes", lt::multiply_bytes),
    LT_SINGLE("weights_nibbles", lt::multiply_nibbles),
    LT_END,
};
