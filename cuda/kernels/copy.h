// Copies and fills: elements move as the bytes that they are, or are converted.
#include "contiguous.h"

namespace lt {
namespace {

struct Pair {
  uint64_t low, high;
};

struct Move {
  template <class T>
  static LT_INLINE void row(char *const *data, const int64_t *, int64_t, const void *) {
    *(T *)data[0] = *(const T *)data[1];
  }
};

struct Fill {
  template <class T>
  static LT_INLINE void row(char *const *data, const int64_t *, int64_t, const void *params) {
    *(T *)data[0] = *(const T *)params;
  }
};

}  // namespace
}  // namespace lt

LT_ELEMENTWISE(move_1, 1, true, Move, uint8_t, uint8_t, uint8_t)
LT_ELEMENTWISE(move_2, 1, true, Move, uint16_t, uint16_t, uint16_t)
LT_ELEMENTWISE(move_4, 1, true, Move, uint32_t, uint32_t, uint32_t)
LT_ELEMENTWISE(move_8, 1, true, Move, uint64_t, uint64_t, uint64_t)
LT_ELEMENTWISE(move_16, 1, true, Move, lt::Pair, lt::Pair, lt::Pair)
LT_ELEMENTWISE(fill_1, 1, true, Fill, uint8_t, uint8_t)
LT_ELEMENTWISE(fill_2, 1, true, Fill, uint16_t, uint16_t)
LT_ELEMENTWISE(fill_4, 1, true, Fill, uint32_t, uint32_t)
LT_ELEMENTWISE(fill_8, 1, true, Fill, uint64_t, uint64_t)
LT_ELEMENTWISE(fill_16, 1, true, Fill, lt::Pair, lt::Pair)
LT_CONTIGUOUS(move_contiguous_1, 1, Move, uint8_t, uint8_t, uint8_t, uint8_t)
LT_CONTIGUOUS(move_contiguous_2, 1, Move, uint16_t, uint16_t, uint16_t, uint16_t)
LT_CONTIGUOUS(move_contiguous_4, 1, Move, uint32_t, uint32_t, uint32_t, uint32_t)
LT_CONTIGUOUS(move_contiguous_8, 1, Move, uint64_t, uint64_t, uint64_t, uint64_t)
LT_CONTIGUOUS(move_contiguous_16, 1, Move, lt::Pair, lt::Pair, lt::Pair, lt::Pair)
LT_CONTIGUOUS(fill_contiguous_1, 1, Fill, uint8_t, uint8_t, uint8_t)
LT_CONTIGUOUS(fill_contiguous_2, 1, Fill, uint16_t, uint16_t, uint16_t)
LT_CONTIGUOUS(fill_contiguous_4, 1, Fill, uint32_t, uint32_t, uint32_t)
LT_CONTIGUOUS(fill_contiguous_8, 1, Fill, uint64_t, uint64_t, uint64_t)
LT_CONTIGUOUS(fill_contiguous_16, 1, Fill, lt::Pair, lt::Pair, lt::Pair)
LT_KERNEL(convert, lt::Loop) {
  for (int64_t i = LT_THREAD; i < args.numel; i += LT_THREADS) {
    char *data[2];
    lt::places<1, 2>(args, i, data);
    lt::convert_value(args.memory[1], args.memory[0], data[1], data[0]);
  }
}
