// Selection by a mask, and the prefix sums that determine the positions of the results. Every
// thread processes a block.
#include "device.h"

namespace lt {
namespace {

constexpr int64_t kPiece = 128;

// The arguments of a launch. sums has a number for each piece of data.
struct Prefix {
  uint64_t data, sums;
  int64_t n;
};

LT_INLINE int64_t pieces_of(int64_t n) { return (n + kPiece - 1) / kPiece; }

LT_INLINE int64_t piece_length(int64_t n, int64_t p) {
  return n - p * kPiece < kPiece ? n - p * kPiece : kPiece;
}

// The arguments of a launch. starts has for every piece of the mask the number of
// elements that are selected before it, and then that of all.
struct Masks {
  uint64_t mask, from, to, starts;
  int64_t n;
};

// Calls f(i, k) for the selected elements i of a block, where k is their number among these.
template <class F>
LT_INLINE void each_selected(const Masks &m, int64_t p, F f) {
  const int64_t n = piece_length(m.n, p);
  const char *mask = LT_PLACE(m.mask + p * kPiece, n, false);
  for (int64_t i = 0, k = 0; i < n; i++)
    if (mask[i]) f(i, k++);
}

struct Selected {
  int64_t before, count;
};
LT_INLINE Selected selected(const Masks &m, int64_t p) {
  const int64_t *starts = (const int64_t *)LT_PLACE(m.starts + p * 8, 16, false);
  return {starts[0], starts[1] - starts[0]};
}

template <class T>
LT_INLINE void take_piece(const Masks &m, int64_t p) {
  const Selected s = selected(m, p);
  if (s.count == 0) return;
  T *to = (T *)LT_PLACE(m.to + s.before * sizeof(T), s.count * sizeof(T), true);
  const T *from =
      (const T *)LT_PLACE(m.from + p * kPiece * sizeof(T), piece_length(m.n, p) * sizeof(T), false);
  each_selected(m, p, [=](int64_t i, int64_t k) { to[k] = from[i]; });
}

template <class T>
LT_INLINE void give_piece(const Masks &m, int64_t p) {
  const Selected s = selected(m, p);
  if (s.count == 0) return;
  const T *from = (const T *)LT_PLACE(m.from + s.before * sizeof(T), s.count * sizeof(T), false);
  T *to = (T *)LT_PLACE(m.to + p * kPiece * sizeof(T), piece_length(m.n, p) * sizeof(T), true);
  each_selected(m, p, [=](int64_t i, int64_t k) { to[i] = from[k]; });
}

constexpr int kCoordinates = 64;

// The arguments of a launch. columns are the addresses of the first element's
// coordinates; those of the next are step bytes further.
struct Coordinates {
  uint64_t numbers, columns[kCoordinates];
  int64_t sizes[kCoordinates];
  int64_t n, dims, step, total;
};

}  // namespace
}  // namespace lt

LT_KERNEL(sum_pieces, lt::Prefix) {
  for (int64_t p = LT_THREAD; p < lt::pieces_of(args.n); p += LT_THREADS) {
    const int64_t n = lt::piece_length(args.n, p);
    const int64_t *data = (const int64_t *)LT_PLACE(args.data + p * lt::kPiece * 8, n * 8, false);
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += data[i];
    *(int64_t *)LT_PLACE(args.sums + p * 8, 8, true) = sum;
  }
}

// Replaces each number by the sum of those before it; sums are those of the preceding blocks.
LT_KERNEL(prefix_pieces, lt::Prefix) {
  for (int64_t p = LT_THREAD; p < lt::pieces_of(args.n); p += LT_THREADS) {
    const int64_t n = lt::piece_length(args.n, p);
    int64_t *data = (int64_t *)LT_PLACE(args.data + p * lt::kPiece * 8, n * 8, true);
    int64_t sum = args.sums ? *(const int64_t *)LT_PLACE(args.sums + p * 8, 8, false) : 0;
    for (int64_t i = 0; i < n; i++) {
      const int64_t x = data[i];
      data[i] = sum;
      sum += x;
    }
  }
}

LT_KERNEL(mask_count, lt::Masks) {
  for (int64_t p = LT_THREAD; p < lt::pieces_of(args.n); p += LT_THREADS) {
    int64_t count = 0;
    lt::each_selected(args, p, [&](int64_t, int64_t k) { count = k + 1; });
    *(int64_t *)LT_PLACE(args.starts + p * 8, 8, true) = count;
  }
}

LT_KERNEL(mask_positions, lt::Masks) {
  for (int64_t p = LT_THREAD; p < lt::pieces_of(args.n); p += LT_THREADS) {
    const lt::Selected s = lt::selected(args, p);
    if (s.count == 0) continue;
    int64_t *to = (int64_t *)LT_PLACE(args.to + s.before * 8, s.count * 8, true);
    lt::each_selected(args, p, [=](int64_t i, int64_t k) { to[k] = p * lt::kPiece + i; });
  }
}

#define LT_MASKED(NAME, DOES, ...)                                          \
  LT_KERNEL(NAME, lt::Masks) {                                              \
    for (int64_t p = LT_THREAD; p < lt::pieces_of(args.n); p += LT_THREADS) \
      lt::DOES##_piece<__VA_ARGS__>(args, p);                               \
  }

LT_MASKED(mask_take_1, take, uint8_t)
LT_MASKED(mask_take_2, take, uint16_t)
LT_MASKED(mask_take_4, take, uint32_t)
LT_MASKED(mask_take_8, take, uint64_t)
LT_MASKED(mask_take_16, take, lt::Complex128)
LT_MASKED(mask_give_1, give, uint8_t)
LT_MASKED(mask_give_2, give, uint16_t)
LT_MASKED(mask_give_4, give, uint32_t)
LT_MASKED(mask_give_8, give, uint64_t)
LT_MASKED(mask_give_16, give, lt::Complex128)

LT_KERNEL(unravel, lt::Coordinates) {
  for (int64_t i = LT_THREAD; i < args.n; i += LT_THREADS) {
    int64_t at = *(const int64_t *)LT_PLACE(args.numbers + i * 8, 8, false);
    if (at < 0) at += args.total;
    for (int64_t d = args.dims - 1; d >= 0; d--) {
      const int64_t next = d > 0 ? at / args.sizes[d] : 0;
      *(int64_t *)LT_PLACE(args.columns[d] + i * args.step, 8, true) = at - next * args.sizes[d];
      at = next;
    }
  }
}
