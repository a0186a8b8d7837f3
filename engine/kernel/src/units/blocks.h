// Linear layers of weights in GGUF's blocks. Activations are rounded to 8 bits, and the products of
// a group are summed as integers.
#include "../blocks.h"
#include "../gemm.h"

namespace lt {
namespace {

// Activations below this are rounded to zero: the reciprocal of their scale would overflow.
constexpr float kLeastActivation = 0x1p-100f;

// Rounds n <= LT_GROUP values to group g. Without an infinity or a NaN the scale is finite.
void round_group(const float *x, int64_t n, int g, lt_activations *to) {
  alignas(64) float values[LT_GROUP] = {};
  memcpy(values, x, size_t(n) * sizeof(float));
  int32_t most_bits = 0;
  for (int i = 0; i < LT_GROUP; i++) {
    int32_t bits;
    memcpy(&bits, values + i, sizeof bits);
    bits &= 0x7fffffff;
    most_bits = bits > most_bits ? bits : most_bits;
  }
  float most;
  memcpy(&most, &most_bits, sizeof most);
  const bool finite = most_bits < 0x7f800000, some = finite && most >= kLeastActivation;
  const float inverse = some ? 127 / most : 0;
  // Adding 1.5 * 2^23 leaves no bits for fractions, and the integer in the low ones.
  int32_t sums[2] = {};
  for (int i = 0; i < LT_GROUP; i++) {
    const float turned = (some ? values[i] : 0) * inverse + 12582912.f;
    int32_t bits;
    memcpy(&bits, &turned, sizeof bits);
    const int8_t integer = int8_t(bits);
    to->values[LT_GROUP * g + i] = integer;
    to->pairs[64 * (g % 4) + 32 * (i / 16) + 16 * (g / 4) + i % 16] = integer;
    sums[i / 16] += integer;
  }
  to->scales[g] = finite ? (some ? most / 127 : 0) : __builtin_nanf("");
  to->sums[g] = to->scales[g] * float(sums[0] + sums[1]);
  for (int h = 0; h < 2; h++) to->halves[2 * g + h] = int16_t(sums[h]);
}

void round_input(const lt_block_input *w) {
  const float *x = (const float *)w->values;
  lt_activations *to = (lt_activations *)w->activations;
  for (int64_t i = 0; i < w->rows; i++, x += w->k) {
    for (int64_t j = 0; j < w->k; j += LT_BLOCK, to++) {
      for (int g = 0; g < LT_GROUPS; g++) {
        const int64_t from = j + LT_GROUP * g, left = w->k - from;
        round_group(left > 0 ? x + from : x,
                    left < 0                   ? 0
                    : left < int64_t(LT_GROUP) ? left
                                               : int64_t(LT_GROUP),
                    g, to);
      }
    }
  }
}

void dequantize_blocks(const lt_block_values *w) {
  const uint8_t *p = (const uint8_t *)w->blocks;
  float *to = (float *)w->out;
  Decoded d;
  for (int64_t at = 0; at < w->count; at += LT_BLOCK, p += bytes_of_block(w->type)) {
    const int64_t groups = (w->count - at) / LT_GROUP;
    const int n = groups < LT_GROUPS ? int(groups) : LT_GROUPS;
    d.read(w->type, p, n);
    for (int i = 0; i < LT_GROUP * n; i++)
      *to++ = d.scales[i / 16] * float(d.integers[i]) - d.offsets[i / LT_GROUP];
  }
}

#if defined(__AVX2__)

LT_INLINE __m256i bytes_at(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }

LT_INLINE __m256i pairs(__m256i unsigned_bytes, __m256i bytes) {
  return _mm256_maddubs_epi16(unsigned_bytes, bytes);
}

LT_INLINE __m256i fours(__m256i pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }

// The products of signed bytes, of which those of a are not -128.
LT_INLINE __m256i signed_fours(__m256i w, __m256i a) {
  return fours(pairs(_mm256_sign_epi8(w, w), _mm256_sign_epi8(a, w)));
}

// Halves of eight blocks of so many bytes.
template <int kBytes>
LT_INLINE __m256 halves_of(const uint8_t *p) {
  const auto h = [&](int g) __attribute__((always_inline)) {
    int16_t v;
    memcpy(&v, p + g * kBytes, sizeof v);
    return v;
  };
  return _mm256_cvtph_ps(_mm_set_epi16(h(7), h(6), h(5), h(4), h(3), h(2), h(1), h(0)));
}

LT_INLINE __m256 floats_of(uint64_t bytes) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)bytes)));
}

LT_INLINE __m256i halves_at(const uint8_t *low, const uint8_t *high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low)),
                                 _mm_loadu_si128((const __m128i *)high), 1);
}

// Structures of LT_BLOCK weights at p: scales of groups; the integers of a group, without its
// offset, and their products with activations, in sums of four, or with kPaired the first and the
// second halves of the integers of groups g and g + 4, each in half a register; and the products of
// offsets with activations, added to a sum. f are the products of the scales of weights and
// activations.
template <int32_t kNumber>
struct Nibbles {
  static constexpr int32_t kType = kNumber;
  static constexpr bool kOffset = kType == LT_Q4_1 || kType == LT_Q5_1;
  static constexpr bool kFifth = kType == LT_Q5_0 || kType == LT_Q5_1;
  static constexpr bool kPaired = true;
  static constexpr int kHead = kOffset ? 4 : 2, kBytes = kHead + (kFifth ? 4 : 0) + 16;
  const uint8_t *p;
  __m256 scales;
  LT_INLINE Nibbles(const uint8_t *at) : p(at), scales(halves_of<kBytes>(at)) {}
  LT_INLINE void pair(int g, __m256i *first, __m256i *second) const {
    const uint8_t *q = p + (g + 1) * kBytes - 16;
    const __m256i both = halves_at(q, q + 4 * kBytes), mask = _mm256_set1_epi8(15);
    *first = _mm256_and_si256(both, mask);
    *second = _mm256_and_si256(_mm256_srli_epi16(both, 4), mask);
    if constexpr (!kFifth) return;
    const __m256i bits = _mm256_set1_epi64x((long long)0x8040201008040201);
    const __m256i words =
        _mm256_inserti128_si256(_mm256_set1_epi32(int32_t(word_at(q - 4))),
                                _mm_set1_epi32(int32_t(word_at(q + 4 * kBytes - 4))), 1);
    const auto fifths = [&](long long low, long long high) __attribute__((always_inline)) {
      const __m256i bytes = _mm256_shuffle_epi8(words, _mm256_set_epi64x(high, low, high, low));
      const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bits), bits);
      return _mm256_and_si256(set, _mm256_set1_epi8(16));
    };
    *first = _mm256_or_si256(*first, fifths(0, 0x0101010101010101));
    *second = _mm256_or_si256(*second, fifths(0x0202020202020202, 0x0303030303030303));
  }
  LT_INLINE __m256 lack(const lt_activations *a, __m256, __m256 sum) const {
    const __m256 offsets = kOffset ? halves_of<kBytes>(p + 2)
                                   : _mm256_mul_ps(scales, _mm256_set1_ps(kFifth ? -16 : -8));
    return _mm256_fmadd_ps(offsets, _mm256_loadu_ps(a->sums), sum);
  }
};

struct EightBits {
  static constexpr bool kPaired = false;
  static constexpr int kType = LT_Q8_0;
  const uint8_t *p;
  __m256 scales;
  LT_INLINE EightBits(const uint8_t *at) : p(at), scales(halves_of<34>(at)) {}
  LT_INLINE __m256i integers(int g) const { return bytes_at(p + 34 * g + 2); }
  LT_INLINE __m256i products(int, __m256i w, __m256i a) const { return signed_fours(w, a); }
  LT_INLINE __m256 lack(const lt_activations *, __m256, __m256 sum) const { return sum; }
};

template <int32_t kNumber>
struct Nested {
  static constexpr bool kPaired = true;
  static constexpr int32_t kType = kNumber;
  const uint8_t *p;
  __m256 scales, offsets;
  LT_INLINE Nested(const uint8_t *at) : p(at) {
    uint64_t scale_bytes, offset_bytes;
    unpack_six_bits(at + 4, &scale_bytes, &offset_bytes);
    scales = _mm256_mul_ps(floats_of(scale_bytes), _mm256_set1_ps(half_at(at)));
    offsets = _mm256_mul_ps(floats_of(offset_bytes), _mm256_set1_ps(half_at(at + 2)));
  }
  LT_INLINE void pair(int g, __m256i *first, __m256i *second) const {
    const uint8_t *q = p + (kType == LT_Q5_K ? 48 : 16) + LT_GROUP * (g / 2);
    *first = half(g, q, p + 16);
    *second = half(g, q + 16, p + 32);
  }
  // Half of the integers of each of groups g and g + 4: of the bytes at q, and of those after the
  // groups between. The fifth bits of all groups are in the bytes at `fifths`.
  LT_INLINE __m256i half(int g, const uint8_t *q, const uint8_t *fifths) const {
    const __m256i both = halves_at(q, q + 2 * LT_GROUP);
    const __m256i four =
        _mm256_and_si256(g & 1 ? _mm256_srli_epi16(both, 4) : both, _mm256_set1_epi8(15));
    if constexpr (kType != LT_Q5_K) return four;
    const __m256i bits =
        _mm256_srlv_epi64(halves_at(fifths, fifths), _mm256_set_epi64x(4, 4, 0, 0));
    return _mm256_or_si256(four,
                           _mm256_and_si256(_mm256_slli_epi16(bits, 4 - g), _mm256_set1_epi8(16)));
  }
  LT_INLINE __m256 lack(const lt_activations *a, __m256, __m256 sum) const {
    return _mm256_fnmadd_ps(offsets, _mm256_loadu_ps(a->sums), sum);
  }
};

struct SixBits {
  static constexpr bool kPaired = false;
  static constexpr int kType = LT_Q6_K;
  const uint8_t *p;
  __m256 scales;
  __m256i halves;
  alignas(32) int16_t pairs_of_halves[2 * LT_GROUPS];
  LT_INLINE SixBits(const uint8_t *at) : p(at), scales(_mm256_set1_ps(half_at(at + 208))) {
    halves = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(at + 192)));
    _mm256_store_si256((__m256i *)pairs_of_halves, halves);
  }
  LT_INLINE __m256i integers(int g) const {
    const __m256i low = bytes_at(p + 64 * (g / 4) + 32 * (g & 1)),
                  high = bytes_at(p + 128 + 32 * (g / 4));
    const __m256i four =
        _mm256_and_si256(g & 2 ? _mm256_srli_epi16(low, 4) : low, _mm256_set1_epi8(15));
    const int k = g & 3;
    const __m256i turned = k == 0   ? _mm256_slli_epi16(high, 4)
                           : k == 1 ? _mm256_slli_epi16(high, 2)
                           : k == 2 ? high
                                    : _mm256_srli_epi16(high, 2);
    return _mm256_or_si256(four, _mm256_and_si256(turned, _mm256_set1_epi8(48)));
  }
  LT_INLINE __m256i products(int g, __m256i w, __m256i a) const {
    int32_t both;
    memcpy(&both, pairs_of_halves + 2 * g, sizeof both);
    const __m256i each = _mm256_shuffle_epi8(
        _mm256_set1_epi32(both), _mm256_set_epi64x(0x0302030203020302, 0x0302030203020302,
                                                   0x0100010001000100, 0x0100010001000100));
    return _mm256_madd_epi16(pairs(w, a), each);
  }
  LT_INLINE __m256 lack(const lt_activations *a, __m256 f, __m256 sum) const {
    const __m256 sums = _mm256_cvtepi32_ps(_mm256_madd_epi16(halves, bytes_at(a->halves)));
    return _mm256_fmadd_ps(_mm256_mul_ps(f, _mm256_set1_ps(-32)), sums, sum);
  }
};

LT_INLINE float sum_of(__m256 v) {
  const __m128 a = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 b = _mm_add_ps(a, _mm_movehl_ps(a, a));
  return _mm_cvtss_f32(_mm_add_ss(b, _mm_shuffle_ps(b, b, 1)));
}

// Sums of a row of weights times R rows of activations, which are `step` items apart.
template <class W, int R>
struct Sums {
  __m256 even[R], odd[R], rest[R];
  LT_INLINE Sums() {
    for (int r = 0; r < R; r++) even[r] = odd[r] = rest[r] = _mm256_setzero_ps();
  }
  LT_INLINE void add(const uint8_t *p, const lt_activations *a, int64_t step) {
    const W w(p);
    __m256 factors[R];
    unrolled<R>([&](int r) __attribute__((always_inline)) {
      factors[r] = _mm256_mul_ps(w.scales, _mm256_loadu_ps(a[r * step].scales));
      rest[r] = w.lack(a + r * step, factors[r], rest[r]);
    });
    if constexpr (W::kPaired)
      add_pairs(w, a, step, factors);
    else
      add_groups(w, a, step, factors);
  }

  LT_INLINE float total(int r) const {
    return sum_of(_mm256_add_ps(_mm256_add_ps(even[r], odd[r]), rest[r]));
  }

 private:
  // A group at a time.
  LT_INLINE void add_groups(const W &w, const lt_activations *a, int64_t step,
                            const __m256 *factors) {
    alignas(32) float each[R][LT_GROUPS];
    unrolled<R>([&](int r)
                    __attribute__((always_inline)) { _mm256_store_ps(each[r], factors[r]); });
    unrolled<LT_GROUPS>([&](int g) __attribute__((always_inline)) {
      const __m256i integers = w.integers(g);
      unrolled<R>([&](int r) __attribute__((always_inline)) {
        const __m256i sums = w.products(g, integers, bytes_at(a[r * step].values + LT_GROUP * g));
        __m256 &to = g & 1 ? odd[r] : even[r];
        to = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums), _mm256_broadcast_ss(&each[r][g]), to);
      });
    });
  }

  // Groups g and g + 4, each in half a register, at a time.
  LT_INLINE void add_pairs(const W &w, const lt_activations *a, int64_t step,
                           const __m256 *factors) {
    unrolled<LT_GROUPS / 2>([&](int g) __attribute__((always_inline)) {
      __m256i first, second;
      w.pair(g, &first, &second);
      unrolled<R>([&](int r) __attribute__((always_inline)) {
        const int8_t *x = a[r * step].pairs + 2 * LT_GROUP * g;
        const __m256i sums = fours(
            _mm256_add_epi16(pairs(first, bytes_at(x)), pairs(second, bytes_at(x + LT_GROUP))));
        const __m256 factor = _mm256_permutevar_ps(factors[r], _mm256_set1_epi32(g));
        __m256 &to = g & 1 ? odd[r] : even[r];
        to = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums), factor, to);
      });
    });
  }
};

// Rows of k values of a type that has a structure above.
template <class W, int R>
void multiply_row(const lt_block_linear *w, const uint8_t *p, const lt_activations *a,
                  float *sums) {
  const int64_t bytes = bytes_of_block(W::kType), step = (w->k + LT_BLOCK - 1) / LT_BLOCK;
  Sums<W, R> s;
  int64_t k = w->k;
  for (; k >= LT_BLOCK; k -= LT_BLOCK, p += bytes, a++) s.add(p, a, step);
  if (k > 0) {
    uint8_t last[8 * 34] = {};
    memcpy(last, p, size_t(bytes / LT_GROUPS * (k / LT_GROUP)));
    s.add(last, a, step);
  }
  for (int r = 0; r < R; r++) sums[r] = s.total(r);
}

#else

// Rows of k values of any type.
template <int R>
void multiply_decoded(const lt_block_linear *w, const uint8_t *p, const lt_activations *a,
                      float *sums) {
  const int64_t step = (w->k + LT_BLOCK - 1) / LT_BLOCK;
  for (int r = 0; r < R; r++) sums[r] = 0;
  Decoded d;
  for (int64_t k = w->k; k > 0; k -= LT_BLOCK, p += bytes_of_block(w->type), a++) {
    const int groups = k < LT_BLOCK ? int(k / LT_GROUP) : LT_GROUPS;
    d.read(w->type, p, groups);
    for (int r = 0; r < R; r++) {
      const lt_activations *b = a + r * step;
      for (int g = 0; g < groups; g++) {
        float products = 0;
        for (int h = 0; h < 2; h++) {
          int32_t sum = 0;
          const int8_t *x = d.integers + LT_GROUP * g + 16 * h,
                       *y = b->values + LT_GROUP * g + 16 * h;
          for (int i = 0; i < 16; i++) sum += int32_t(x[i]) * y[i];
          products += d.scales[2 * g + h] * float(sum);
        }
        sums[r] += products * b->scales[g] - d.offsets[g] * b->sums[g];
      }
    }
  }
}

#endif

typedef void (*MultiplyRow)(const lt_block_linear *, const uint8_t *, const lt_activations *,
                            float *);

template <int R>
MultiplyRow row_of(int32_t type) {
#if defined(__AVX2__)
  switch (type) {
    case LT_Q4_0:
      return multiply_row<Nibbles<LT_Q4_0>, R>;
    case LT_Q4_1:
      return multiply_row<Nibbles<LT_Q4_1>, R>;
    case LT_Q5_0:
      return multiply_row<Nibbles<LT_Q5_0>, R>;
    case LT_Q5_1:
      return multiply_row<Nibbles<LT_Q5_1>, R>;
    case LT_Q8_0:
      return multiply_row<EightBits, R>;
    case LT_Q4_K:
      return multiply_row<Nested<LT_Q4_K>, R>;
    case LT_Q5_K:
      return multiply_row<Nested<LT_Q5_K>, R>;
    default:
      return multiply_row<SixBits, R>;
  }
#else
  (void)type;
  return multiply_decoded<R>;
#endif
}

// So many rows of activations are multiplied with a row of weights at a time, and so many bytes of
// weights with all activations before the next.
constexpr int kActivationRows = 4;
constexpr int64_t kWeightBytes = 1 << 18;

void multiply_blocks(const lt_block_linear *w) {
  const MultiplyRow one = row_of<1>(w->type), several = row_of<kActivationRows>(w->type);
  const int64_t step = (w->k + LT_BLOCK - 1) / LT_BLOCK;
  const int64_t tile = w->m == 1 || w->row == 0    ? w->n
                       : kWeightBytes / w->row < 1 ? 1
                                                   : kWeightBytes / w->row;
  const float *bias = (const float *)w->bias;
  for (int64_t j = 0; j < w->n; j += tile) {
    const int64_t end = j + tile < w->n ? j + tile : w->n;
    for (int64_t i = 0; i < w->m;) {
      const int rows = w->m - i >= kActivationRows ? kActivationRows : 1;
      const lt_activations *a = (const lt_activations *)w->activations + i * step;
      for (int64_t n = j; n < end; n++) {
        float sums[kActivationRows];
        (rows == 1 ? one : several)(w, (const uint8_t *)w->weight + n * w->row, a, sums);
        for (int r = 0; r < rows; r++)
          ((float *)w->out)[(i + r) * w->out_row + n] = bias ? sums[r] + bias[n] : sums[r];
      }
      i += rows;
    }
  }
}

}  // namespace
}  // namespace lt

LT_UNIT(blocks){
    LT_SINGLE("blocks_input", lt::round_input),
    LT_SINGLE("blocks_linear", lt::multiply_blocks),
    LT_SINGLE("blocks_values", lt::dequantize_blocks),
    LT_END,
};
