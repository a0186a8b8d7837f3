// One element of an elementwise kernel for each thread, from operands with any strides and of any
// dtypes: the rows of engine/kernel/src/units, of length 1.
#ifndef LIBTENSOR_CUDA_ELEMENTWISE_H
#define LIBTENSOR_CUDA_ELEMENTWISE_H

#include "device.h"
#include "../../engine/kernel/src/chunks.h"

namespace lt {
namespace {

constexpr int kOperands = 4, kDims = 16;

// One launch; loop of elementwise.go mirrors it. Operands are outputs first, dimension 0 the
// innermost, strides in bytes.
struct Loop {
  uint64_t data[kOperands];
  int64_t strides[kOperands][kDims];
  int64_t sizes[kDims];
  int64_t numel;
  int32_t ndim;
  uint8_t memory[kOperands], compute[kOperands];
  uint8_t converts, reserved[11];
  alignas(16) char params[64];
  alignas(16) char numbers[kOperands][16];  // operands without an address
};

// Where element i of every operand lies, in bytes from the first, in more than one dimension.
template <class Index>
LT_INLINE void locate_by(const Loop &l, Index i, int64_t *offsets) {
  for (int k = 0; k < kOperands; k++) offsets[k] = 0;
#pragma unroll 1
  for (int d = 0; d < l.ndim; d++) {
    const Index size = Index(l.sizes[d]), rest = i / size;
    for (int k = 0; k < kOperands; k++) offsets[k] += int64_t(i - rest * size) * l.strides[k][d];
    i = rest;
  }
}
[[maybe_unused]] LT_NOINLINE void locate(const Loop &l, int64_t i, int64_t *offsets) {
  if (l.numel < ((int64_t)1 << 31))
    locate_by<uint32_t>(l, (uint32_t)i, offsets);  // divides faster
  else
    locate_by<int64_t>(l, i, offsets);
}

// Where element i of every operand lies.
template <int OUTPUTS, int OPERANDS>
LT_INLINE void places(const Loop &l, int64_t i, char **data) {
  int64_t offsets[kOperands];
  if (l.ndim == 1)
    for (int k = 0; k < OPERANDS; k++) offsets[k] = i * l.strides[k][0];
  else
    locate(l, i, offsets);
  for (int k = 0; k < OPERANDS; k++)
    data[k] = l.data[k] ? LT_PLACE(l.data[k] + offsets[k], dtype_size(l.memory[k]), k < OUTPUTS)
                        : (char *)l.numbers[k];
}

// Whether rows of a kernel look for operands that are the same all along, as those with a member
// kConstants do.
template <class OP, class = void>
struct Constants : std::false_type {};
template <class OP>
struct Constants<OP, std::enable_if_t<OP::kConstants>> : std::true_type {};

template <class OP, class T, int OUTPUTS, int OPERANDS>
LT_INLINE void element(const Loop &l, int64_t i) {
  char *data[OPERANDS];
  places<OUTPUTS, OPERANDS>(l, i, data);
  int64_t strides[OPERANDS];
  for (int k = 0; k < OPERANDS; k++)  // otherwise no row takes it for dense or constant
    strides[k] = !(Constants<OP>::value && (!l.data[k] || l.strides[k][0] == 0));
  if (!l.converts) {
    OP::template row<T>(data, strides, 1, l.params);
    return;
  }
  alignas(16) char blocks[OPERANDS][16];
  char *where[OPERANDS];
  for (int k = 0; k < OPERANDS; k++) {
    where[k] = blocks[k];
    if (k >= OUTPUTS) convert_value(l.memory[k], l.compute[k], data[k], blocks[k]);
  }
  OP::template row<T>(where, strides, 1, l.params);
  for (int k = 0; k < OUTPUTS; k++) convert_value(l.compute[k], l.memory[k], blocks[k], data[k]);
}

}  // namespace
}  // namespace lt

#define LT_ELEMENTWISE(NAME, OUTPUTS, OPERANDS, OP, ...)            \
  LT_KERNEL(NAME, lt::Loop) {                                       \
    for (int64_t i = LT_THREAD; i < args.numel; i += LT_THREADS)    \
      lt::element<lt::OP, __VA_ARGS__, OUTPUTS, OPERANDS>(args, i); \
  }

#endif
