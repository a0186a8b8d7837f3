// The tile registers of AMX: eight matrices of up to 16 rows of 64 bytes. With LT_EMULATED_AMX,
// which is for tests, they are memory, and the operations are C++ code with the same results.
#ifndef LIBTENSOR_KERNEL_SRC_AMX_H
#define LIBTENSOR_KERNEL_SRC_AMX_H

#include "prelude.h"
#include "vec.h"

#if defined(__x86_64__) && (defined(LT_EMULATED_AMX) || defined(__AVX512BW__))
#define LT_AMX 1

namespace lt {
namespace {

// Rows of a register, the bytes of a row, and its units: 4 bytes that are multiplied together.
constexpr int64_t kAmxRows = 16, kAmxBytes = 64, kAmxUnits = 16;

// The operand of ldtilecfg: bytes per row, and rows, of each register.
struct alignas(64) AmxShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(AmxShapes) == 64, "the format of ldtilecfg");

// Products of the elements of a unit: of bfloat16, or of bytes by the signs of both operands.
enum AmxDot {
  kDotBFloat16,
  kDotSignedSigned,
  kDotSignedUnsigned,
  kDotUnsignedSigned,
  kDotUnsignedUnsigned
};

// The registers of the current thread, for the lifetime of the object: context switches save 8 KiB
// more until it ends. Not more than one object may exist per thread.
class AmxRegisters {
 public:
  AmxRegisters() = default;
  AmxRegisters(const AmxRegisters &) = delete;
  AmxRegisters &operator=(const AmxRegisters &) = delete;

#ifndef LT_EMULATED_AMX
  ~AmxRegisters() { __asm__ volatile("tilerelease"); }
  // Sets the shapes, and all registers to zero.
  LT_INLINE void configure(const AmxShapes &shapes) {
    __asm__ volatile("ldtilecfg %0" ::"m"(shapes));
  }
  template <int t>
  LT_INLINE void zero() {
    __asm__ volatile("tilezero %%tmm%c0" ::"i"(t));
  }
  // Reads rows with a stride in bytes.
  template <int t>
  LT_INLINE void load(const void *from, int64_t stride) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(t) : "memory");
  }
  template <int t>
  LT_INLINE void store(void *to, int64_t stride) const {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(t) : "memory");
  }
  // Adds the products of the rows of register a and the columns of register b to register c. b has
  // a row for each unit of a row of a.
  template <AmxDot kDot, int c, int a, int b>
  LT_INLINE void dot() {
    if constexpr (kDot == kDotBFloat16)
      __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(c), "i"(a), "i"(b));
    else if constexpr (kDot == kDotSignedSigned)
      __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(c), "i"(a), "i"(b));
    else if constexpr (kDot == kDotSignedUnsigned)
      __asm__ volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(c), "i"(a), "i"(b));
    else if constexpr (kDot == kDotUnsignedSigned)
      __asm__ volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(c), "i"(a), "i"(b));
    else
      __asm__ volatile("tdpbuud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(c), "i"(a), "i"(b));
  }
#else
  void configure(const AmxShapes &to) {
    shapes = to;
    memset(rows, 0, sizeof rows);
    for (int t = 0; t < kCount; t++)
      require(to.palette == 1 && to.rows[t] <= kAmxRows && to.bytes[t] <= kAmxBytes &&
              to.bytes[t] % 4 == 0 && (to.rows[t] == 0) == (to.bytes[t] == 0));
  }
  template <int t>
  void zero() {
    require(shapes.rows[t] > 0);
    memset(rows[t], 0, sizeof rows[t]);
  }
  template <int t>
  void load(const void *from, int64_t stride) {
    zero<t>();
    for (int r = 0; r < shapes.rows[t]; r++)
      memcpy(rows[t][r], (const char *)from + r * stride, shapes.bytes[t]);
  }
  template <int t>
  void store(void *to, int64_t stride) const {
    require(shapes.rows[t] > 0);
    for (int r = 0; r < shapes.rows[t]; r++)
      memcpy((char *)to + r * stride, rows[t][r], shapes.bytes[t]);
  }
  template <AmxDot kDot, int c, int a, int b>
  void dot() {
    require(shapes.rows[c] > 0 && shapes.rows[a] == shapes.rows[c] &&
            shapes.bytes[b] == shapes.bytes[c] && shapes.bytes[a] == 4 * shapes.rows[b]);
    const int depth = shapes.rows[b];
    if constexpr (kDot == kDotBFloat16) {
      const Flushing flushing;
      for (int r = 0; r < shapes.rows[c]; r++)
        add_pairs(rows[a][r], rows[b], depth, (float *)rows[c][r]);
    } else {
      using Left = std::conditional_t<kDot == kDotSignedSigned || kDot == kDotSignedUnsigned,
                                      int8_t, uint8_t>;
      using Right = std::conditional_t<kDot == kDotSignedSigned || kDot == kDotUnsignedSigned,
                                       int8_t, uint8_t>;
      for (int r = 0; r < shapes.rows[c]; r++)
        add_quads<Left, Right>(rows[a][r], rows[b], depth, (int32_t *)rows[c][r]);
    }
  }

 private:
  static constexpr int kCount = 8;
  using Row = char[kAmxBytes];
  AmxShapes shapes;
  alignas(64) Row rows[kCount][kAmxRows];

  // Where the CPU would raise an exception, the test ends.
  static void require(bool valid) {
    if (!valid) __builtin_trap();
  }

  // Sets the CPU to what tdpbf16ps does in any case: it rounds to nearest even, reads subnormal
  // numbers as zeros, and writes zeros instead of them.
  struct Flushing {
    uint32_t before;
    Flushing() {
      const uint32_t flushing = 0x9fc0;
      __asm__ volatile("stmxcsr %0\n\tldmxcsr %1" : "=m"(before) : "m"(flushing) : "memory");
    }
    ~Flushing() { __asm__ volatile("ldmxcsr %0" ::"m"(before) : "memory"); }
  };

  // A multiplication and an addition, rounded once.
  static LT_INLINE Vec<float> fused(Vec<float> x, Vec<float> y, Vec<float> sum) {
#if LT_FMA
    return fma(x, y, sum);
#else
    for (int i = 0; i < Vec<float>::N; i++) sum.v[i] = __builtin_fmaf(x.v[i], y.v[i], sum.v[i]);
    return sum;
#endif
  }

  // Even and odd elements are summed separately, in the order of units, then both sums are added,
  // and the result is added to c.
  static __attribute__((noinline)) void add_pairs(const char *x, const Row *y, int depth,
                                                  float *c) {
    constexpr int N = Vec<float>::N, V = kAmxUnits / N;
    Vec<float> even[V], odd[V];
    for (int v = 0; v < V; v++) even[v] = odd[v] = 0.f;
    const Vec<int32_t> high = int32_t(0xffff0000);
    for (int k = 0; k < depth; k++) {
      int32_t pair;
      memcpy(&pair, x + 4 * k, 4);
      const Vec<int32_t> a = pair;
      for (int v = 0; v < V; v++) {
        const Vec<int32_t> b = lt::load((const int32_t *)y[k] + v * N);
        even[v] = fused(bit_cast<float>(a << 16), bit_cast<float>(b << 16), even[v]);
        odd[v] = fused(bit_cast<float>(a & high), bit_cast<float>(b & high), odd[v]);
      }
    }
    for (int v = 0; v < V; v++) lt::store(c + v * N, lt::load(c + v * N) + (even[v] + odd[v]));
  }

  // Sums wrap around.
  template <class Left, class Right>
  static void add_quads(const char *x, const Row *y, int depth, int32_t *c) {
    for (int k = 0; k < depth; k++)
      for (int n = 0; n < kAmxUnits; n++)
        for (int s = 0; s < 4; s++) c[n] += Left(x[4 * k + s]) * Right(y[k][4 * n + s]);
  }
#endif
};

}  // namespace
}  // namespace lt
#endif
#endif
