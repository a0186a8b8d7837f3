// Elementwise kernels over contiguous operands in memory of one dtype: each thread loads vectors of
// up to 16 bytes of every operand before it computes their elements. Operands may also be constant,
// and have outer dimensions whose rows consist of whole vectors.
#ifndef LIBTENSOR_CUDA_CONTIGUOUS_H
#define LIBTENSOR_CUDA_CONTIGUOUS_H

#include "elementwise.h"
#include "halves.h"

namespace lt {
namespace {

// The dtype in memory of an operand that is computed in E, if that of floats is S.
template <class E, class S>
using Stored = std::conditional_t<std::is_same_v<E, float>, S, E>;

template <class... M>
constexpr int largest_size() {
  size_t most = 1;
  const size_t sizes[] = {sizeof(M)...};
  for (size_t n : sizes) most = n > most ? n : most;
  return (int)most;
}

// N adjacent elements in memory, as words: in 16-bit registers each would have to be moved there.
template <class M, int N>
struct Packet {
  static constexpr int kBytes = sizeof(M) * N, kWords = (kBytes + 3) / 4;
  uint32_t words[kWords];

  LT_INLINE M get(int j) const {
    if constexpr (sizeof(M) >= 4) {
      M x;
      memcpy(&x, words + j * sizeof(M) / 4, sizeof x);
      return x;
    } else {
      constexpr int kEach = 4 / sizeof(M);
      return same_bits<M>(
          (std::make_unsigned_t<IntOf<M>>)(words[j / kEach] >> j % kEach * 8 * sizeof(M)));
    }
  }
  LT_INLINE void set(int j, M x) {
    if constexpr (sizeof(M) >= 4) {
      memcpy(words + j * sizeof(M) / 4, &x, sizeof x);
    } else {
      constexpr int kEach = 4 / sizeof(M);
      const uint32_t bits = same_bits<std::make_unsigned_t<IntOf<M>>>(x);
      uint32_t &word = words[j / kEach];
      word = j % kEach ? word | bits << j % kEach * 8 * sizeof(M) : bits;
    }
  }

  LT_INLINE void load(uint64_t at) {
    words[0] = 0;
#ifdef LT_SIMULATED
    memcpy(words, LT_PLACE(at, kBytes, false), kBytes);
#else
    if constexpr (kBytes == 16)
      asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                   : "l"(at));
    else if constexpr (kBytes == 8)
      asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(words[0]), "=r"(words[1]) : "l"(at));
    else if constexpr (kBytes == 4)
      asm volatile("ld.global.u32 %0, [%1];" : "=r"(words[0]) : "l"(at));
    else if constexpr (kBytes == 2)
      asm volatile("ld.global.u16 %0, [%1];" : "=r"(words[0]) : "l"(at));
    else
      asm volatile("ld.global.u8 %0, [%1];" : "=r"(words[0]) : "l"(at));
#endif
  }

  LT_INLINE void store(uint64_t at) const {
#ifdef LT_SIMULATED
    memcpy(LT_PLACE(at, kBytes, true), words, kBytes);
#else
    if constexpr (kBytes == 16)
      asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(words[0]),
                   "r"(words[1]), "r"(words[2]), "r"(words[3])
                   : "memory");
    else if constexpr (kBytes == 8)
      asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(at), "r"(words[0]), "r"(words[1])
                   : "memory");
    else if constexpr (kBytes == 4)
      asm volatile("st.global.u32 [%0], %1;" ::"l"(at), "r"(words[0]) : "memory");
    else if constexpr (kBytes == 2)
      asm volatile("st.global.u16 [%0], %1;" ::"l"(at), "r"(words[0]) : "memory");
    else
      asm volatile("st.global.u8 [%0], %1;" ::"l"(at), "r"(words[0]) : "memory");
#endif
  }
};

// The loop of a kernel over operands of types E, outputs first. Of the Loop, sizes[0] and
// strides[][0] are those of vectors, and bits of `constants` are set for operands whose stride is
// 0. A loop in one dimension may have elements behind its vectors.
template <class OP, class T, class S, int OUTPUTS, class... E>
struct Contiguous {
  static constexpr int OPERANDS = sizeof...(E);
  static constexpr int N = 16 / largest_size<Stored<E, S>...>();  // elements of a vector
  using Sequence = std::make_index_sequence<sizeof...(E)>;
  // A vector of every operand.
  struct Group {
    alignas(16) char packets[OPERANDS][16];

    template <class P>
    LT_INLINE P &as(int k) {
      return *(P *)packets[k];
    }
  };

  const Loop &l;

  LT_INLINE bool has_constants() const { return OPERANDS - OUTPUTS > 1 && l.constants; }
  LT_INLINE bool is_constant(int k) const { return has_constants() && l.constants >> k & 1; }

  // The addresses of vector v.
  template <size_t... K>
  LT_INLINE void find_vector(uint32_t v, uint64_t (&at)[OPERANDS],
                             std::index_sequence<K...>) const {
    if (l.ndim == 1) {
      if (!has_constants())
        ((at[K] = l.data[K] + (uint64_t)v * (N * sizeof(Stored<E, S>))), ...);
      else
        for (int k = 0; k < OPERANDS; k++)
          at[k] = l.data[k] + (uint64_t)v * (uint32_t)l.strides[k][0];
      return;
    }
    for (int k = 0; k < OPERANDS; k++) at[k] = l.data[k];
#pragma unroll 1
    for (int d = 0; d < l.ndim; d++) {
      const uint32_t rest = divide(l, d, v), index = v - rest * (uint32_t)l.sizes[d];
      for (int k = 0; k < OPERANDS; k++) at[k] += index * l.strides[k][d];
      v = rest;
    }
  }

  template <class P, class M>
  LT_INLINE void load_operand(int k, uint64_t at, Group &g) const {
    if (!is_constant(k))
      g.template as<P>(k).load(at);
    else if (l.data[k])
      g.template as<Packet<M, 1>>(k).load(at);
  }

  // The inputs, of which constants are single elements, or numbers of the host.
  template <int W, size_t... K>
  LT_INLINE void load_group(const uint64_t (&at)[OPERANDS], Group &g,
                            std::index_sequence<K...>) const {
    if (!has_constants())
      ((K < OUTPUTS ? void() : g.template as<Packet<Stored<E, S>, W>>(K).load(at[K])), ...);
    else
      ((K < OUTPUTS ? void() : load_operand<Packet<Stored<E, S>, W>, Stored<E, S>>(K, at[K], g)),
       ...);
  }

  template <class M, int W, class E1>
  LT_INLINE void convert_operand(const Packet<M, W> &packet, E1 (&x)[W]) const {
#pragma unroll
    for (int j = 0; j < W; j++) x[j] = convert_element<E1>(packet.get(j));
  }

  template <class M, int W, class E1>
  LT_INLINE void repeat_constant(int k, Group &g, E1 (&x)[W]) const {
    if (!is_constant(k)) return convert_operand(g.template as<Packet<M, W>>(k), x);
    const E1 constant = l.data[k] ? convert_element<E1>(g.template as<Packet<M, 1>>(k).get(0))
                                  : *(const E1 *)l.numbers[k];
#pragma unroll
    for (int j = 0; j < W; j++) x[j] = constant;
  }

  template <class M, int W, class E1>
  LT_INLINE void collect(const E1 (&x)[W], Packet<M, W> &packet) const {
    if constexpr (W % 2 == 0 && sizeof(M) == 2 && !std::is_same_v<M, E1>) {
#pragma unroll
      for (int j = 0; j < W; j += 2) packet.words[j / 2] = convert_pair<M>(x[j], x[j + 1]);
    } else {
#pragma unroll
      for (int j = 0; j < W; j++) packet.set(j, convert_element<M>(x[j]));
    }
  }

  template <int W, size_t... K>
  LT_INLINE void compute_group(Group &g, std::index_sequence<K...>) const {
    alignas(16) char values[OPERANDS][W * 16];
    if (!has_constants())
      ((K < OUTPUTS
            ? void()
            : convert_operand(g.template as<Packet<Stored<E, S>, W>>(K), *(E(*)[W])values[K])),
       ...);
    else
      ((K < OUTPUTS ? void() : repeat_constant<Stored<E, S>>(K, g, *(E(*)[W])values[K])), ...);
    int64_t strides[OPERANDS];  // for which no row takes an operand for contiguous
    for (int k = 0; k < OPERANDS; k++) strides[k] = !(Constants<OP>::value && is_constant(k));
#pragma unroll
    for (int j = 0; j < W; j++) {
      char *data[] = {values[K] + j * sizeof(E)...};
      OP::template row<T>(data, strides, 1, l.params);
    }
    ((K < OUTPUTS ? collect(*(E(*)[W])values[K], g.template as<Packet<Stored<E, S>, W>>(K))
                  : void()),
     ...);
  }

  template <int W, size_t... K>
  LT_INLINE void store_group(const uint64_t (&at)[OPERANDS], Group &g,
                             std::index_sequence<K...>) const {
    ((K < OUTPUTS ? g.template as<Packet<Stored<E, S>, W>>(K).store(at[K]) : void()), ...);
  }

  LT_INLINE void run_vectors(uint32_t thread, uint32_t threads) const {
#pragma unroll 1
    for (uint32_t v = thread; v < l.vectors; v += threads) {
      Group g;
      uint64_t at[OPERANDS];
      find_vector(v, at, Sequence());
      load_group<N>(at, g, Sequence());
      compute_group<N>(g, Sequence());
      store_group<N>(at, g, Sequence());
    }
  }

  template <size_t... K>
  LT_INLINE void run_rest(int64_t thread, int64_t threads, std::index_sequence<K...>) const {
#pragma unroll 1
    for (int64_t i = (int64_t)l.vectors * N + thread; i < l.numel; i += threads) {
      Group g;
      uint64_t at[OPERANDS];
      ((at[K] = l.data[K] + (is_constant(K) ? 0 : i * sizeof(Stored<E, S>))), ...);
      load_group<1>(at, g, Sequence());
      compute_group<1>(g, Sequence());
      store_group<1>(at, g, Sequence());
    }
  }
};

}  // namespace
}  // namespace lt

// S is the dtype of floats in memory. The types behind it are those of the operands, outputs first.
#define LT_CONTIGUOUS(NAME, OUTPUTS, OP, T, S, ...)                            \
  LT_KERNEL(NAME, lt::Loop) {                                                  \
    const lt::Contiguous<lt::OP, T, S, OUTPUTS, __VA_ARGS__> loop{args};       \
    loop.run_vectors((uint32_t)(LT_THREAD), (uint32_t)(LT_THREADS));           \
    loop.run_rest(LT_THREAD, LT_THREADS, typename decltype(loop)::Sequence()); \
  }

#endif
