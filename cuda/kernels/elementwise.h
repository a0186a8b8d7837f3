// Elementwise kernels over operands with any strides and of any dtypes, by the rows of
// engine/kernel/src/units, of length 1.
#ifndef LIBTENSOR_CUDA_ELEMENTWISE_H
#define LIBTENSOR_CUDA_ELEMENTWISE_H

#include "batches.h"
#include "../../engine/kernel/src/chunks.h"

namespace lt {
namespace {

constexpr int kOperands = 4, kDims = 16;
constexpr int kAtOnce = 4;  // elements of a line that a thread loads before it stores the first

// Which operands in memory are of other dtypes than they are computed with: none, halves that are
// computed as floats, or any.
enum Conversion : uint8_t { kNothing, kHalves, kAnything };

// The arguments of a launch. Operands are outputs first, dimension 0 the
// innermost, strides in bytes.
struct Loop {
  uint64_t data[kOperands];
  int64_t strides[kOperands][kDims];
  int64_t sizes[kDims];
  int64_t numel;
  uint32_t multipliers[kDims];  // with shifts, the divisors of sizes
  uint8_t shifts[kDims];
  uint32_t vectors;  // of contiguous operands
  int32_t ndim;
  uint8_t memory[kOperands], compute[kOperands];
  uint8_t converts;   // a Conversion
  uint8_t constants;  // of contiguous operands
  uint8_t reserved[6];
  alignas(16) char params[64];
  alignas(16) char numbers[kOperands][16];  // operands without an address
};

// i / sizes[d], for i below 2^31.
LT_INLINE uint32_t divide(const Loop &l, int d, uint32_t i) {
  return ((uint32_t)((uint64_t)i * l.multipliers[d] >> 32) + i) >> l.shifts[d];
}
LT_INLINE int64_t divide(const Loop &l, int d, int64_t i) { return i / l.sizes[d]; }

// The byte offset of element i of every operand, in more than one dimension.
template <class Index>
LT_INLINE void locate_by(const Loop &l, Index i, int64_t *offsets) {
  for (int k = 0; k < kOperands; k++) offsets[k] = 0;
#pragma unroll 1
  for (int d = 0; d < l.ndim; d++) {
    const Index size = Index(l.sizes[d]), rest = divide(l, d, i);
    for (int k = 0; k < kOperands; k++) offsets[k] += int64_t(i - rest * size) * l.strides[k][d];
    i = rest;
  }
}
[[maybe_unused]] LT_NOINLINE void locate(const Loop &l, int64_t i, int64_t *offsets) {
  if (l.numel < ((int64_t)1 << 31))
    locate_by<uint32_t>(l, (uint32_t)i, offsets);
  else
    locate_by<int64_t>(l, i, offsets);
}

// The address of element i of every operand.
template <int OUTPUTS, int OPERANDS>
LT_INLINE void places(const Loop &l, int64_t i, char **data) {
  const auto place = [&](int k, int64_t offset) {
    data[k] = l.data[k] ? LT_PLACE(l.data[k] + offset, dtype_size(l.memory[k]), k < OUTPUTS)
                        : (char *)l.numbers[k];
  };
  if (l.ndim == 1) {
    for (int k = 0; k < OPERANDS; k++) place(k, i * l.strides[k][0]);
    return;
  }
  int64_t offsets[kOperands];
  locate(l, i, offsets);
  for (int k = 0; k < OPERANDS; k++) place(k, offsets[k]);
}

// Whether rows of a kernel look for operands that are the same all along, as those with a member
// kConstants do.
template <class OP, class = void>
struct Constants : std::false_type {};
template <class OP>
struct Constants<OP, std::enable_if_t<OP::kConstants>> : std::true_type {};

LT_INLINE bool is_line(const Loop &l) { return l.ndim == 1 && l.converts != kAnything; }

LT_INLINE bool is_converted(const Loop &l, int k) {
  return l.converts != kNothing && l.memory[k] != l.compute[k];
}

template <class E>
LT_INLINE void load_input(const Loop &l, int k, int64_t i, int64_t step, int n, char *to) {
  E(&x)[kAtOnce] = *(E(*)[kAtOnce])to;
  if (l.data[k])
    return load_batch(l.memory[k], l.data[k] + i * l.strides[k][0], step * l.strides[k][0], n, x);
  for (int j = 0; j < kAtOnce; j++) x[j] = *(const E *)l.numbers[k];
}

template <class E>
LT_INLINE void find_input(const Loop &l, int k, const char *from, char *to) {
  if (!is_converted(l, k)) {
    *(E *)to = *(const E *)from;
    return;
  }
  E converted;
  convert_value(l.memory[k], l.compute[k], from, (char *)&converted);
  *(E *)to = converted;
}

template <class E>
LT_INLINE void store_output(const Loop &l, int k, char *to, E x) {
  if (!is_converted(l, k)) return (void)(*(E *)to = x);
  if constexpr (std::is_same_v<E, float>) {
    if (l.memory[k] == Traits<Float16>::number)
      return (void)(*(Float16 *)to = convert_element<Float16>(x));
    if (l.memory[k] == Traits<BFloat16>::number)
      return (void)(*(BFloat16 *)to = convert_element<BFloat16>(x));
  }
  E made = x;
  convert_value(l.compute[k], l.memory[k], (const char *)&made, to);
}

template <class E>
LT_INLINE void next_input(char *of) {
  E(&x)[kAtOnce] = *(E(*)[kAtOnce])of;
  for (int j = 0; j + 1 < kAtOnce; j++) x[j] = x[j + 1];
}

// Elements i, i + step, ... of a line, all loaded first, or element i of any other loop. E are the
// types of operands; rows that are not WHOLE write only some elements.
template <class OP, class T, bool WHOLE, int OUTPUTS, class... E, size_t... K>
LT_INLINE void elements(const Loop &l, int64_t i, int64_t step, std::index_sequence<K...>) {
  constexpr int OPERANDS = sizeof...(E);
  alignas(16) char held[OPERANDS][16 * kAtOnce];  // of an output, the element that is made
  char *at[OPERANDS];
  int64_t strides[OPERANDS];
  for (int k = 0; k < OPERANDS; k++)  // otherwise no row takes it for dense or constant
    strides[k] = !(Constants<OP>::value && (!l.data[k] || l.strides[k][0] == 0));
  const bool line = is_line(l);
  int n = 1;
  if (line) {
    for (int j = 1; j < kAtOnce; j++) n += i + j * step < l.numel;
    ((K < OUTPUTS ? void() : load_input<E>(l, K, i, step, n, held[K])), ...);
  } else {
    places<OUTPUTS, OPERANDS>(l, i, at);
    ((K < OUTPUTS ? void() : find_input<E>(l, K, at[K], held[K])), ...);
  }
#pragma unroll 1
  for (int j = 0; j < n; j++, i += step) {
    for (int k = 0; k < OUTPUTS && line; k++)
      at[k] = LT_PLACE(l.data[k] + i * l.strides[k][0], dtype_size(l.memory[k]), true);
    char *data[] = {(WHOLE || K >= OUTPUTS ? held[K] : at[K])...};
    OP::template row<T>(data, strides, 1, l.params);
    ((K >= OUTPUTS ? next_input<E>(held[K])
      : WHOLE      ? store_output<E>(l, K, at[K], *(E *)held[K])
                   : void()),
     ...);
  }
}

template <class OP, class T, bool WHOLE, int OUTPUTS, class... E>
LT_INLINE void all_elements(const Loop &l, int64_t thread, int64_t threads) {
  for (int64_t i = thread; i < l.numel; i += threads * (is_line(l) ? kAtOnce : 1))
    elements<OP, T, WHOLE, OUTPUTS, E...>(l, i, threads, std::make_index_sequence<sizeof...(E)>());
}

}  // namespace
}  // namespace lt

// The types behind T are those of the operands, outputs first.
#define LT_ELEMENTWISE(NAME, OUTPUTS, WHOLE, OP, T, ...)                                   \
  LT_KERNEL(NAME, lt::Loop) {                                                              \
    lt::all_elements<lt::OP, T, WHOLE, OUTPUTS, __VA_ARGS__>(args, LT_THREAD, LT_THREADS); \
  }

#endif
