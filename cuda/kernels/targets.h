// The targets of sources, whose positions an index selects (combining.h), in order: a block of
// threads sorts a tile of them in shared memory, and further launches merge many runs at a time.
#include "blocks.h"
#include "combining.h"
#include "merging.h"

namespace lt {
namespace {

constexpr int64_t kTile = int64_t(1) << kTileBits;
static_assert(kTile == kBlock * kRun, "a thread has a run of each tile");
constexpr int64_t kMergedRuns = 32;

// Targets in the high bits, and in the low bits the number of the source in the tile.
struct TargetTile {
  uint64_t items[kTile];
};
struct TargetRun {
  uint64_t items[kRun];
};

LT_INLINE uint64_t target_of(const Combination &c, int64_t i) {
  int64_t offsets[kOperands];
  locate(c.loop, i, offsets);
  const auto &p = *(const lt_place_params *)c.loop.params;
  // Another thread may write to the index: it is loaded once.
  const int64_t index = *(const volatile int64_t *)LT_PLACE(c.loop.data[1] + offsets[1], 8, false);
  const int64_t at = index + (index < 0 ? p.wrap : 0);
  if ((uint64_t)at < (uint64_t)p.size) return offsets[0] + at * p.step;
  report_index(c.fault, c.check, index);
  return kNowhere;
}

LT_INLINE void sort_tile(const Combination &c, TargetTile &tile, int64_t begin) {
  const int64_t rest = c.loop.numel - begin, n = rest < kTile ? rest : kTile;
  const auto before = [](uint64_t a, uint64_t b) { return a < b; };
  const auto store = [&](const TargetRun &run, int thread) {
    const int64_t first = thread * kRun;
    for (int64_t i = 0; i < kRun && first + i < n; i++) tile.items[first + i] = run.items[i];
  };
  phase([&](int thread) {
    const int64_t first = thread * kRun;
    TargetRun run;
    int64_t m = 0;
    for (; m < kRun && first + m < n; m++)
      run.items[m] = target_of(c, begin + first + m) << kTileBits | uint64_t(first + m);
    insertion(run.items, m, before);
    store(run, thread);
  });
  Each<TargetRun> merged;
  for (int64_t run = kRun; run < n; run *= 2) {
    phase([&](int thread) {
      if (thread * kRun < n)
        merge_piece(tile.items, merged[thread].items, n, run, thread * kRun, before);
    });
    phase([&](int thread) { store(merged[thread], thread); });
  }
  phase([&](int thread) {
    for (int64_t i = thread; i < n; i += kBlock) {
      const uint64_t item = tile.items[i];
      *(Target *)LT_PLACE(c.to + (begin + i) * sizeof(Target), sizeof(Target), true) = {
          item >> kTileBits, uint32_t(begin + (item & (kTile - 1)))};
    }
  });
}

// Moves a target to its place among those of kMergedRuns adjacent runs. Equal targets keep their
// order.
LT_INLINE void merge_target(const Combination &c, int64_t i) {
  const int64_t n = c.loop.numel, own = i / c.run * c.run;
  const int64_t first = i / (c.run * kMergedRuns) * (c.run * kMergedRuns);
  const auto *from = (const Target *)LT_PLACE(c.from, n * sizeof(Target), false);
  const Target target = from[i];
  int64_t at = first + i - own;
  for (int64_t begin = first; begin < first + c.run * kMergedRuns && begin < n; begin += c.run) {
    if (begin == own) continue;
    const Target *run = from + begin;
    const uint64_t end = target.key + (begin < own);
    at += partition_point(n - begin < c.run ? n - begin : c.run,
                          [=](int64_t j) { return run[j].key < end; });
  }
  *(Target *)LT_PLACE(c.to + at * sizeof(Target), sizeof(Target), true) = target;
}

}  // namespace
}  // namespace lt

LT_BLOCK_KERNEL(target_tiles, lt::Combination, lt::TargetTile) {
  for (int64_t at = LT_GROUP * lt::kTile; at < args.loop.numel; at += LT_GROUPS * lt::kTile)
    lt::sort_tile(args, shared, at);
}

LT_KERNEL(target_merge, lt::Combination) {
  for (int64_t i = LT_THREAD; i < args.loop.numel; i += LT_THREADS) lt::merge_target(args, i);
}
