// Matrix products in tile registers: b is copied to packed panels of two registers' columns, and
// two registers of rows of a at a time are multiplied with a packed panel. Every element of c is
// summed in the order of k, whatever part of the matrix contains it.
#ifndef LIBTENSOR_KERNEL_SRC_GEMM_AMX_H
#define LIBTENSOR_KERNEL_SRC_GEMM_AMX_H

#include "amx.h"
#include "arena.h"
#include "gemm_quantized.h"

#if LT_AMX
namespace lt {
namespace {

// Rows and columns of the elements that four registers sum.
constexpr int64_t kAmxDown = 2 * kAmxRows, kAmxAcross = 2 * kAmxUnits;

// Pairs of bfloat16, summed in float32.
struct AmxPairs {
  using Left = BFloat16;
  using Unit = int32_t;
  using Sum = float;
  static constexpr int kSteps = 2;
  static constexpr AmxDot kDot = kDotBFloat16;
};

// Four bytes, of the types of both operands. Sums wrap at 32 bits.
template <class L, class R>
struct AmxBytes {
  using Left = L;
  using Unit = int32_t;
  using Sum = int32_t;
  static constexpr int kSteps = 4;
  static constexpr AmxDot kDot = __is_same(L, int8_t)
                                     ? __is_same(R, int8_t) ? kDotSignedSigned : kDotSignedUnsigned
                                 : __is_same(R, int8_t) ? kDotUnsignedSigned
                                                        : kDotUnsignedUnsigned;
};

// Values of k that fill a register, and the values of a packed panel.
template <class P>
constexpr int64_t kAmxDepth = kAmxUnits * P::kSteps;
template <class P>
LT_INLINE int64_t amx_depth(int64_t k) {
  return (k + kAmxDepth<P> - 1) / kAmxDepth<P> * kAmxDepth<P>;
}

// k is split into parts of so many values, of which only the last may be shorter and not fill
// registers.
template <class P>
LT_INLINE int64_t amx_part(int64_t k) {
  return amx_depth<P>(part_of<P>(k));
}

// Packs depth rows of w columns, with zeros up to whole registers. Integers begin with the sums of
// the columns, bfloat16 with a row that is not written.
template <class P, class T>
void pack_amx(const T *b, int64_t row, int64_t col, int64_t depth, int64_t w, int32_t *panel) {
  constexpr int64_t W = kAmxAcross;
  int32_t *const units = panel + W;
  const int64_t whole = (depth + P::kSteps - 1) / P::kSteps, all = amx_depth<P>(depth) / P::kSteps;
  pack<P, T, W>(b, row, col, depth, w, units);
  memset(units + whole * W, 0, size_t((all - whole) * W) * sizeof(int32_t));
  if constexpr (kind_of<T> == kInteger) {
    memset(panel, 0, W * sizeof(int32_t));
    for (int64_t u = 0; u < whole; u++)
      for (int64_t j = 0; j < W; j++) {
        const int32_t x = units[u * W + j];
        panel[j] += T(x) + T(x >> 8) + T(x >> 16) + T(x >> 24);
      }
  }
}

// Units of all parts of k of a packed panel's columns, and the first row of each part.
template <class P>
int64_t packed_amx(int64_t k) {
  const int64_t part = amx_part<P>(k), parts = k > 0 ? (k + part - 1) / part : 1;
  return (amx_depth<P>(k) / P::kSteps + parts) * kAmxAcross;
}

// The sums of up to kDown registers of rows and kAcross of columns, from zero or added to `sums`,
// of the products that `each` calls its argument for: with rows of a, their stride in bytes, and
// the part of a packed panel, both of which fill a register.
template <class P, int kDown, int kAcross, class Each>
void amx_block(AmxRegisters &r, const Each &each, typename P::Sum *sums, bool first) {
  constexpr int64_t kStride = kAmxAcross * 4, kBelow = kAmxRows * kAmxAcross;
  if (first) {
    r.zero<0>();
    if constexpr (kAcross > 1) r.zero<1>();
    if constexpr (kDown > 1) r.zero<2>();
    if constexpr (kDown > 1 && kAcross > 1) r.zero<3>();
  } else {
    r.load<0>(sums, kStride);
    if constexpr (kAcross > 1) r.load<1>(sums + kAmxUnits, kStride);
    if constexpr (kDown > 1) r.load<2>(sums + kBelow, kStride);
    if constexpr (kDown > 1 && kAcross > 1) r.load<3>(sums + kBelow + kAmxUnits, kStride);
  }
  each([&](const void *rows, int64_t stride, const int32_t *panel) __attribute__((always_inline)) {
    const auto *bytes = (const char *)rows;
    r.load<4>(bytes, stride);
    r.load<6>(panel, kStride);
    r.dot<P::kDot, 0, 4, 6>();
    if constexpr (kAcross > 1) {
      r.load<7>(panel + kAmxUnits, kStride);
      r.dot<P::kDot, 1, 4, 7>();
    }
    if constexpr (kDown > 1) {
      r.load<5>(bytes + kAmxRows * stride, stride);
      r.dot<P::kDot, 2, 5, 6>();
    }
    if constexpr (kDown > 1 && kAcross > 1) r.dot<P::kDot, 3, 5, 7>();
  });
  r.store<0>(sums, kStride);
  if constexpr (kAcross > 1) r.store<1>(sums + kAmxUnits, kStride);
  if constexpr (kDown > 1) r.store<2>(sums + kBelow, kStride);
  if constexpr (kDown > 1 && kAcross > 1) r.store<3>(sums + kBelow + kAmxUnits, kStride);
}

// The products of any number of rows of a and a packed panel, of which w columns are used.
template <class P>
struct AmxRows {
  using Left = typename P::Left;
  using Sum = typename P::Sum;
  // Units of a packed panel that fill a register of columns.
  static constexpr int64_t kPanelUnits = kAmxUnits * kAmxAcross;
  AmxRegisters registers;
  int64_t rows = 0;  // that the registers are configured for
  alignas(64) Left tail[kAmxDown * kAmxDepth<P>];

  // The sums of up to kAmxDown rows, which are read unless `first`.
  void multiply(const Left *a, int64_t row, int64_t n, const int32_t *panel, int64_t depth,
                int64_t w, Sum *sums, bool first) {
    if (const int64_t left = depth % kAmxDepth<P>; left > 0) {
      memset((void *)tail, 0, sizeof tail);
      for (int64_t i = 0; i < n; i++)
        memcpy((void *)(tail + i * kAmxDepth<P>), a + i * row + depth - left,
               size_t(left) * sizeof(Left));
    }
    const auto each = [&](auto &&step) __attribute__((always_inline)) {
      const int32_t *units = panel;
      int64_t p = 0;
      for (; p + kAmxDepth<P> <= depth; p += kAmxDepth<P>, units += kPanelUnits)
        step(a + p, row * int64_t(sizeof(Left)), units);
      if (p < depth) step(tail, kAmxBytes, units);
    };
    multiply_each(n, w, each, sums, first);
  }

  // The sums of n rows and w columns of the products of `each` (see amx_block).
  template <class Each>
  void multiply_each(int64_t n, int64_t w, const Each &each, Sum *sums, bool first) {
    configure(n);
    const bool down = n > kAmxRows, across = w > kAmxUnits;
    const auto block = down     ? across ? amx_block<P, 2, 2, Each> : amx_block<P, 2, 1, Each>
                           : across ? amx_block<P, 1, 2, Each>
                                : amx_block<P, 1, 1, Each>;
    block(registers, each, sums, first);
  }

 private:
  void configure(int64_t n) {
    if (n == rows) return;
    rows = n;
    AmxShapes shapes;
    const auto shape = [&](int t, int64_t height) {
      shapes.rows[t] = uint8_t(height);
      shapes.bytes[t] = height > 0 ? kAmxBytes : 0;
    };
    const int64_t upper = n < kAmxRows ? n : kAmxRows;
    for (int t : {0, 1, 4}) shape(t, upper);
    for (int t : {2, 3, 5}) shape(t, n - upper);
    for (int t : {6, 7}) shape(t, kAmxUnits);
    registers.configure(shapes);
  }
};

// Rows that share a packed panel where sums of all of them are kept, the bytes of a that rows may
// take elsewhere, and those of a that is rounded.
constexpr int64_t kAmxRowBlock = 256, kAmxLeftBytes = 1 << 20, kAmxRounded = 1 << 16;

// The products of a, whose elements are of type A, and the packed panels that panel_of returns:
// those of row p and column j of matrix s. k is split into parts of `part`. `write` takes the sums
// of rows from i on, with kAmxAcross sums in each.
template <class P, class A, class Panel, class Write>
void multiply_panels_amx(const lt_gemm *g, int64_t part, Panel &&panel_of, Write &&write) {
  using Left = typename P::Left;
  constexpr int64_t W = kAmxAcross;
  constexpr bool kRounds = !__is_same(A, Left);
  alignas(64) typename P::Sum sums[kAmxRowBlock * W];
  alignas(64) Left rounded[kRounds ? kAmxRounded / sizeof(Left) : 1];
  AmxRows<P> product;
  const int64_t parts = g->k > part ? (g->k + part - 1) / part : 1;
  // A row is rounded once if several fit, and otherwise one part of it at a time.
  constexpr int64_t kValues = (kRounds ? kAmxRounded : kAmxLeftBytes) / int64_t(sizeof(Left));
  const bool at_once = kRounds && amx_depth<P>(g->k) * kAmxRows <= kValues;
  const int64_t stride = at_once ? amx_depth<P>(g->k) : part;
  const auto round = [&](const A *a, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; r++)
      cast_row<A, Left>((const char *)(a + r * g->a_row), g->a_col * int64_t(sizeof(A)),
                        (char *)(rounded + r * stride), sizeof(Left), n);
  };
  int64_t most = stride > 0 ? kValues / stride / kAmxRows * kAmxRows : g->m;
  if (parts > 1 && most > kAmxRowBlock) most = kAmxRowBlock;
  if (most > g->m) most = g->m;
  for (int64_t s = 0; s < g->batch; s++)
    for (int64_t i = 0; i < g->m; i += most) {
      const int64_t rows = g->m - i < most ? g->m - i : most;
      const A *a = (const A *)g->a + s * g->a_batch + i * g->a_row;
      if constexpr (kRounds) {
        if (at_once) round(a, rows, g->k);
      }
      for (int64_t j = 0; j < g->n; j += W) {
        const int64_t w = g->n - j < W ? g->n - j : W;
        for (int64_t k = 0; k < parts; k++) {
          const int64_t p = k * part, depth = g->k - p < part ? g->k - p : part;
          const int32_t *panel = panel_of(s, j, w, p, depth);
          const Left *from;
          int64_t row = g->a_row;
          if constexpr (kRounds) {
            if (!at_once) round(a + p * g->a_col, rows, depth);
            from = rounded + (at_once ? p : 0), row = stride;
          } else {
            from = a + p;
          }
          for (int64_t r = 0; r < rows; r += kAmxDown) {
            const int64_t n = rows - r < kAmxDown ? rows - r : kAmxDown;
            auto *const to = parts > 1 ? sums + r * W : sums;
            product.multiply(from + r * row, row, n, panel, depth, w, to, k == 0);
            if (k == parts - 1) write(to, s, i + r, n, j, w);
          }
        }
      }
    }
}

// Writes rows of sums to `out`, which takes the columns of a packed panel of other products.
template <class P, class Out>
void write_amx(const Out &out, typename P::Sum *sums, int64_t s, int64_t i, int64_t rows, int64_t j,
               int64_t w) {
  constexpr int64_t W = kPanel<typename P::Unit>;
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < w; c += W)
      out.row(sums + r * kAmxAcross + c, s, i + r, j + c, w - c < W ? w - c : W);
}

// The part of a packed matrix that begins with row p and column j: its packed panel, and the first
// row before it.
template <class P>
const int32_t *packed_at(uintptr_t packed, int64_t k, int64_t p, int64_t j) {
  const int64_t parts = p > 0 ? p / amx_part<P>(k) : 0;  // before this one
  return (const int32_t *)packed + j / kAmxAcross * packed_amx<P>(k) +
         (p / P::kSteps + parts) * kAmxAcross;
}

// The blocks of a product: columns are divided into groups whose packed panels fit into the L2
// cache, k into parts, and rows into blocks if sums of several parts are stored. Rows are copied if
// they are not aligned to cache lines, or all map to the same set of the L1 cache.
template <class P>
struct AmxGroups {
  using Left = typename P::Left;
  static constexpr int64_t kGroupBytes = 1 << 20, kDeepest = 4096, kMostRows = 1024, kPage = 4096,
                           kFewColumns = 64, kLine = 64, kSize = sizeof(Left);
  int64_t parts, part, columns, rows;  // parts of k, and values of each; sizes of blocks of c
  int64_t panel, copied_row;           // units of a packed panel, values between copied rows
  bool copies;

  explicit AmxGroups(const lt_gemm *g) {
    parts = g->k * kSize > kDeepest ? (g->k * kSize + kDeepest - 1) / kDeepest : 1;
    part = amx_depth<P>((g->k + parts - 1) / parts);
    const int64_t all = (g->n + kAmxAcross - 1) / kAmxAcross * kAmxAcross;
    columns = kGroupBytes / (part * kSize + 1) / kAmxAcross * kAmxAcross;
    if (columns > all) columns = all;
    rows = parts > 1 && g->m > kMostRows ? kMostRows : g->m;
    // The gap keeps packed panels and rows from beginning in the same lines of the L1 cache.
    panel = (part / P::kSteps + 1) * kAmxAcross;
    copied_row = part + kLine / kSize;
    const int64_t row = g->a_row * kSize;
    copies = g->n > kFewColumns && (g->a % kLine != 0 || row % kLine != 0 || row % kPage == 0);
  }

  struct Room {
    int32_t *packed;
    Left *copied;
    typename P::Sum *sums;
    int64_t bytes;
  };
  Room take(uintptr_t room) const {
    Arena from{(char *)room};
    Room r;
    r.packed = from.take<int32_t>(columns / kAmxAcross * panel);
    r.copied = from.take<Left>(kAmxDown * copied_row);
    const int64_t down = (rows + kAmxDown - 1) / kAmxDown * kAmxDown;
    r.sums = from.take<typename P::Sum>(parts > 1 ? down * columns : kAmxDown * kAmxAcross);
    r.bytes = from.used;
    return r;
  }
};

// Packs depth rows of columns, with zeros up to whole registers. Rows are read as far as the group
// has columns, in the order of memory.
template <class P, class T>
void pack_group(const T *b, int64_t row, int64_t col, int64_t depth, int64_t columns,
                int32_t *panels, int64_t panel) {
  constexpr int64_t W = kAmxAcross;
  constexpr int N = Vec<int32_t>::N;
  const int64_t units = (depth + P::kSteps - 1) / P::kSteps, all = amx_depth<P>(depth) / P::kSteps;
  const int64_t whole = col == 1 ? columns / W : 0;
  for (int64_t u = 0; u < units; u++) {
    const int64_t p = u * P::kSteps, values = depth - p < P::kSteps ? depth - p : P::kSteps;
    for (int64_t q = 0; q < whole; q++)
      for (int v = 0; v < W / N; v++)
        store(panels + q * panel + u * W + v * N,
              across<P>(b + p * row + q * W + v * N, row, values));
  }
  for (int64_t j = whole * W; j < columns; j += W)
    pack<P, T, W>(b + j * col, row, col, depth, columns - j < W ? columns - j : W,
                  panels + j / W * panel);
  for (int64_t q = 0; q * W < columns; q++)
    memset(panels + q * panel + units * W, 0, size_t((all - units) * W) * sizeof(int32_t));
}

// Copies rows of depth values, with zeros up to whole registers.
template <class P, class T>
void copy_padded(const T *a, int64_t row, int64_t rows, int64_t depth, T *to, int64_t to_row) {
  const int64_t rest = amx_depth<P>(depth) - depth;
  for (int64_t r = 0; r < rows; r++, a += row, to += to_row) {
    memcpy((void *)to, a, size_t(depth) * sizeof(T));
    memset((void *)(to + depth), 0, size_t(rest) * sizeof(T));
  }
}

// Operands and result are of type T.
template <class P, class T>
void gemm_amx(lt_gemm_amx *w) {
  using Sum = typename P::Sum;
  using Left = typename P::Left;
  constexpr int64_t W = kAmxAcross;
  const lt_gemm *const g = &w->g;
  const AmxGroups<P> groups(g);
  const auto room = groups.take(w->room);
  w->bytes = room.bytes;
  if (!w->room) return;
  const Scaled<P, T> out{g, factor<Sum, T>(g->alpha), factor<Sum, T>(g->beta)};
  AmxRows<P> product;

  // Multiplies rows of a with the packed panels of a group.
  const auto multiply = [&](const Left *a, int64_t s, int64_t i, int64_t rows, int64_t j,
                            int64_t columns, int64_t k, int64_t depth, Sum *sums) {
    int64_t row = g->a_row;
    if (groups.copies) {
      row = groups.copied_row;
      copy_padded<P>(a, g->a_row, rows, depth, room.copied, row);
      a = room.copied, depth = amx_depth<P>(depth);
    }
    for (int64_t c = 0; c < columns; c += W) {
      const int64_t w = columns - c < W ? columns - c : W;
      Sum *const to = groups.parts > 1 ? sums + c * kAmxDown : sums;
      product.multiply(a, row, rows, room.packed + c / W * groups.panel, depth, w, to, k == 0);
      if (k == groups.parts - 1) write_amx<P>(out, to, s, i, rows, j + c, w);
    }
  };
  const auto each = [](int64_t n, int64_t step, auto &&f) {
    for (int64_t i = 0; i < n; i += step) f(i, n - i < step ? n - i : step);
  };
  for (int64_t s = 0; s < g->batch; s++)
    each(g->m, groups.rows, [&](int64_t i, int64_t rows) {
      each(g->n, groups.columns, [&](int64_t j, int64_t columns) {
        for (int64_t k = 0; k < groups.parts; k++) {
          const int64_t p = k * groups.part, left = g->k - p;
          const int64_t depth = left < groups.part ? left : groups.part;
          const T *b = (const T *)g->b + s * g->b_batch + p * g->b_row + j * g->b_col;
          pack_group<P>(b, g->b_row, g->b_col, depth, columns, room.packed, groups.panel);
          const Left *a = (const Left *)g->a + s * g->a_batch + i * g->a_row + p;
          each(rows, kAmxDown, [&](int64_t r, int64_t n) {
            Sum *const sums = groups.parts > 1 ? room.sums + r * groups.columns : room.sums;
            multiply(a + r * g->a_row, s, i + r, n, j, columns, k, depth, sums);
          });
        }
      });
    });
}

// a and c are of type A, b is bfloat16.
template <class A>
void gemm_rounded_amx(const lt_gemm_rounded *r) {
  using P = AmxPairs;
  alignas(64) int32_t room[(kUnits + 1) * kAmxAcross];
  const lt_gemm *const g = &r->g;
  const Scaled<P, A> out{g, factor<float, A>(g->alpha), factor<float, A>(g->beta)};
  multiply_panels_amx<P, A>(
      g, amx_part<P>(r->packed ? r->packed_k : g->k),
      [&](int64_t s, int64_t j, int64_t w, int64_t p, int64_t depth) -> const int32_t * {
        if (r->packed) return packed_at<P>(r->packed, r->packed_k, p, r->column + j) + kAmxAcross;
        const BFloat16 *b = (const BFloat16 *)g->b + s * g->b_batch + p * g->b_row + j * g->b_col;
        pack_amx<P>(b, g->b_row, g->b_col, depth, w, room);
        return room + kAmxAcross;
      },
      [&](auto... at) { write_amx<P>(out, at...); });
}

template <class L>
void gemm_quantized_amx(const lt_gemm_quantized *q) {
  using P = AmxBytes<L, int8_t>;
  constexpr int64_t W = kAmxAcross;
  alignas(64) int32_t room[(kUnits + 1) * W];
  int32_t starts[W];  // offsets, less the products of the sums of columns and a's zero point
  const lt_gemm *const g = &q->g;
  const Requantized<P> out{q};
  multiply_panels_amx<P, L>(
      g, amx_part<P>(g->k),
      [&](int64_t, int64_t j, int64_t w, int64_t p, int64_t depth) {
        const int32_t *panel = room;
        if (q->packed)
          panel = packed_at<P>(q->packed, g->k, p, q->column + j);
        else
          pack_amx<P>((const int8_t *)g->b + p * g->b_row + j * g->b_col, g->b_row, g->b_col, depth,
                      w, room);
        for (int64_t c = 0; c < W; c++)
          starts[c] =
              (p == 0 ? ((const int32_t *)q->offsets)[j + c] : starts[c]) - panel[c] * q->a_zero;
        return panel + W;
      },
      [&](int32_t *sums, int64_t s, int64_t i, int64_t rows, int64_t j, int64_t w) {
        for (int64_t r = 0; r < rows; r++)
          for (int64_t c = 0; c < W; c++) sums[r * W + c] += starts[c];
        write_amx<P>(out, sums, s, i, rows, j, w);
      });
}

// Packs b, whose elements are of type T, for products of any number of rows, or returns the size of
// the packed matrix in bytes.
template <class P, class T>
void gemm_amx_pack(lt_gemm_packing *m) {
  constexpr int64_t W = kAmxAcross;
  const int64_t size = packed_amx<P>(m->k), part = amx_part<P>(m->k);
  m->bytes = (m->n + W - 1) / W * size * int64_t(sizeof(int32_t));
  if (!m->packed) return;
  for (int64_t j = 0; j < m->n; j += W) {
    int32_t *panel = (int32_t *)m->packed + j / W * size;
    int64_t p = 0;
    do {  // once without rows, for the sums
      const int64_t depth = m->k - p < part ? m->k - p : part;
      pack_amx<P>((const T *)m->b + p * m->b_row + j * m->b_col, m->b_row, m->b_col, depth,
                  m->n - j < W ? m->n - j : W, panel);
      panel += (amx_depth<P>(depth) / P::kSteps + 1) * W;
      p += depth;
    } while (p < m->k);
  }
}

}  // namespace
}  // namespace lt
#endif
#endif
