// The targets of sources, whose positions an index selects (combining.h).
#include "combining.h"

LT_KERNEL(target_runs, lt::Combination) {
  const int64_t runs = (args.loop.numel + lt::kRun - 1) / lt::kRun;
  for (int64_t i = LT_THREAD; i < runs; i += LT_THREADS) lt::target_run(args, i);
}
