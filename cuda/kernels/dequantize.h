// Values of the blocks of GGUF files, of which a thread decodes LT_BLOCK, as the CPU does.
#include "device.h"
#include "../../engine/kernel/src/blocks.h"

LT_KERNEL(dequantize, lt_block_values) {
  const int64_t blocks = (args.count + LT_BLOCK - 1) / LT_BLOCK;
  const int64_t bytes = lt::bytes_of_block(args.type);
  for (int64_t b = LT_THREAD; b < blocks; b += LT_THREADS) {
    const int64_t left = (args.count - b * LT_BLOCK) / LT_GROUP;
    const int groups = left < LT_GROUPS ? int(left) : int(LT_GROUPS);
    const int64_t n = groups * int64_t(LT_GROUP);
    const auto *from =
        (const uint8_t *)LT_PLACE(args.blocks + b * bytes, bytes * groups / LT_GROUPS, false);
    float *to = (float *)LT_PLACE(args.out + b * LT_BLOCK * 4, n * 4, true);
    lt::Decoded d;
    d.read(args.type, from, groups);
    for (int64_t i = 0; i < n; i++)
      to[i] = d.scales[i / 16] * float(d.integers[i]) - d.offsets[i / LT_GROUP];
  }
}
