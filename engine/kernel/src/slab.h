// The im2col tile: the elements of an image that kernel elements read at a box of positions, laid
// out so that one kernel element reads adjacent elements at adjacent positions.
#ifndef LIBTENSOR_KERNEL_SRC_SLAB_H
#define LIBTENSOR_KERNEL_SRC_SLAB_H

#include "../convolution.h"
#include "gemm.h"
#include "windows.h"

namespace lt {
namespace {

// The kernel elements of an im2col tile, from the first one on in every dimension.
struct Taps {
  int64_t first[LT_AXES], count[LT_AXES];
};

// One dimension of an im2col tile. Image elements at a distance of one stride are adjacent in a
// slot; kernel elements with other residues have separate slots, of which there are no more than
// are used.
struct Side {
  int64_t low, stride, step, taps, size, positions, slots, extent;
  bool backward;

  Side() = default;
  Side(const lt_axis &a, int64_t first, int64_t count, int64_t begin, int64_t end)
      : stride(a.stride), taps(count), size(a.size), positions(end - begin), backward(a.step < 0) {
    step = backward ? -a.step : a.step;
    low = begin * stride + (backward ? first + count - 1 : first) * a.step + a.origin;
    int64_t cycle = stride,
            rest = step;  // kernel elements use the same slot every stride / gcd of them
    while (rest != 0) {
      const int64_t next = cycle % rest;
      cycle = rest, rest = next;
    }
    slots = stride / cycle < taps ? stride / cycle : taps;
    extent = positions + (taps - 1) * step / stride;
  }
  int64_t upward(int64_t tap) const { return backward ? taps - 1 - tap : tap; }
  int64_t slot(int64_t tap) const { return upward(tap) % slots; }
  int64_t offset(int64_t tap) const { return upward(tap) * step / stride; }
  // The element of the image that is number e of a slot.
  int64_t element(int64_t slot, int64_t e) const {
    return low + (slot == 0 ? 0 : slot * step % stride) + e * stride;
  }
  // How many strides n elements take.
  int64_t strides(int64_t n) const { return stride == 1 ? n : up(n, stride); }
  // Those of a slot that the image has.
  Range inside(int64_t slot) const {
    const int64_t first = element(slot, 0);
    const int64_t begin = first < 0 ? strides(-first) : 0;
    const int64_t end = first < size ? strides(size - first) : 0;
    return {begin, end < extent ? end : extent};
  }
  // Whether a slot may have others.
  bool padded() const { return low < 0 || low + extent * stride > size; }
};

// The image elements of a channel in the im2col tile of all kernel elements at a box of positions,
// which may be more than integers hold.
LT_INLINE double tile_size(const lt_axis *a, const int64_t *taps, const int64_t *begin,
                           const int64_t *end) {
  double size = 1;
  for (int d = 0; d < LT_AXES; d++) {
    const Side side(a[d], 0, taps[d], begin[d], end[d]);
    size *= double(side.slots) * double(side.extent);
  }
  return size;
}

// n elements with a stride in bytes.
template <class T, class Unit>
void read_elements(const char *from, int64_t step, Unit *to, int64_t n) {
  if constexpr (__is_same(T, Unit) && kind_of<T> != kComplex) {
    // Vectors, of which the last one may begin within the one before.
    constexpr int N = Vec<T>::N;
    const T *p = (const T *)from;
    const auto vectors = [&](auto &&load_at) __attribute__((always_inline)) {
      for (int64_t i = 0; i < n - N; i += N) store(to + i, load_at(i));
      store(to + n - N, load_at(n - N));
    };
    if (n >= N && step == sizeof(T)) return vectors([&](int64_t i) { return load(p + i); });
    if (LT_BITMASK && kind_of<T> == kFloating && step == sizeof(T))
      return store_partial(to, load_partial(p, int(n)), int(n));
    if (n >= N && step == 2 * (int64_t)sizeof(T))
      return vectors(
          [&](int64_t i) { return every_other(p + 2 * i, std::make_index_sequence<N>()); });
  }
  cast_row<T, Unit>(from, step, (char *)to, sizeof(Unit), n);
}
template <class T, class Unit>
void write_elements(const Unit *from, char *to, int64_t step, int64_t n) {
  if constexpr (__is_same(T, Unit)) {
    if (step == sizeof(T)) return read_elements<T, T>((const char *)from, step, (T *)to, n);
  }
  cast_row<Unit, T>((const char *)from, sizeof(Unit), to, step, n);
}

// Elements already in the compute type.
template <class Unit>
struct Same {
  static constexpr bool kSame = true;
  static constexpr int64_t size() { return sizeof(Unit); }
  static void read(const char *from, int64_t step, Unit *to, int64_t n) {
    read_elements<Unit, Unit>(from, step, to, n);
  }
  static void write(const Unit *from, char *to, int64_t step, int64_t n) {
    write_elements<Unit, Unit>(from, to, step, n);
  }
};

// Elements of other dtypes, which share the code of one; rare int32 elements do, too.
template <class Unit>
struct Casting {
  static constexpr bool kSame = false;
  int64_t bytes;
  void (*read)(const char *from, int64_t step, Unit *to, int64_t n);
  void (*write)(const Unit *from, char *to, int64_t step, int64_t n);
  int64_t size() const { return bytes; }
};

template <class T, class Unit>
auto elements_of() {
  if constexpr (__is_same(T, Unit) && !__is_same(T, int32_t))
    return Same<Unit>();
  else
    return Casting<Unit>{sizeof(T), read_elements<T, Unit>, write_elements<T, Unit>};
}

template <class Unit>
struct Slab {
  Side z, y, x;
  int64_t volume, plane;  // units of a slot, and of a channel

  Slab(const lt_axis *a, const Taps &t, const int64_t *begin, const int64_t *end)
      : z(a[0], t.first[0], t.count[0], begin[0], end[0]),
        y(a[1], t.first[1], t.count[1], begin[1], end[1]),
        x(a[2], t.first[2], t.count[2], begin[2], end[2]) {
    volume = z.extent * y.extent * x.extent;
    // An odd number of cache lines, so that channels do not map to the same few lines of the cache.
    constexpr int64_t kLine = 64 / sizeof(Unit);
    plane = ((z.slots * y.slots * x.slots * volume + kLine - 1) / kLine | 1) * kLine;
  }
  // The distance between the first and the last position, plus one, including the gaps between
  // rows.
  int64_t lanes() const { return place(z.positions - 1, y.positions - 1, x.positions - 1) + 1; }
  int64_t place(int64_t k, int64_t j, int64_t i) const { return (k * y.extent + j) * x.extent + i; }
  // The offset of a kernel element at the first position.
  int64_t tap(int64_t k, int64_t j, int64_t i) const {
    return ((z.slot(k) * y.slots + y.slot(j)) * x.slots + x.slot(i)) * volume +
           place(z.offset(k), y.offset(j), x.offset(i));
  }
  // The kernel elements one after the other.
  template <class F>
  void each_tap(F &&f) const {
    int64_t t = 0;
    for (int64_t k = 0; k < z.taps; k++)
      for (int64_t j = 0; j < y.taps; j++)
        for (int64_t i = 0; i < x.taps; i++) f(t++, tap(k, j, i));
  }
  // The rows of positions among lanes from q on: f(lane, k, j, i, n) for n positions from (k, j,
  // i).
  template <class F>
  void each_row(int64_t q, int64_t lanes, F &&f) const {
    int64_t i = q % x.extent, j = q / x.extent % y.extent, k = q / x.extent / y.extent;
    for (int64_t lane = 0; lane < lanes;) {
      if (j >= y.positions) {
        lane += (y.extent - j) * x.extent - i;
        i = j = 0, k++;
        continue;
      }
      const int64_t left = lanes - lane, n = x.positions - i < left ? x.positions - i : left;
      if (n > 0) f(lane, k, j, i, n);
      lane += x.extent - i;
      i = 0, j++;
    }
  }
  // The same for positions from p on, without gaps between rows.
  template <class F>
  void each_row_of(int64_t p, int64_t count, F &&f) const {
    int64_t i = p % x.positions, j = p / x.positions % y.positions,
            k = p / x.positions / y.positions;
    for (int64_t lane = 0; lane < count; i = 0, j++) {
      if (j == y.positions) j = 0, k++;
      const int64_t left = count - lane, n = x.positions - i < left ? x.positions - i : left;
      f(lane, k, j, i, n);
      lane += n;
    }
  }
  int64_t positions() const { return z.positions * y.positions * x.positions; }

  // Zeroes the elements outside of the image for some channels, which fill does not write.
  void clear(Unit *room, int64_t channels) const {
    if (z.padded() || y.padded() || x.padded())
      memset((void *)room, 0, size_t(channels * plane) * sizeof(Unit));
  }
  // Fills room with some channels of an image.
  template <class E>
  void fill(const E &e, const lt_axis *a, const char *image, int64_t channel, int64_t channels,
            Unit *room) const {
    const bool adjacent = kTurns<E> && channel == 1 && x.stride * a[2].image_step != 1;
    const int64_t together = adjacent ? channels : 1;
    for (int64_t c = 0; c < channels; c += together)
      for (int64_t sz = 0; sz < z.slots; sz++) {
        const Range planes = z.inside(sz);
        for (int64_t k = planes.begin; k < planes.end; k++)
          for (int64_t sy = 0; sy < y.slots; sy++) {
            const Range rows = y.inside(sy);
            const int64_t at = c * channel + z.element(sz, k) * a[0].image_step +
                               y.element(sy, rows.begin) * a[1].image_step;
            Unit *to = room + c * plane + (sz * y.slots + sy) * x.slots * volume;
            fill_rows(e, {image + at * e.size(), y.stride * a[1].image_step, a[2].image_step},
                      rows.end - rows.begin, together, to + place(k, rows.begin, 0));
          }
      }
  }

 private:
  // Whether elements can be copied in blocks without conversion.
  template <class E>
  static constexpr bool kTurns = E::kSame && sizeof(Unit) <= 8;
  struct Lines {
    const char *at;
    int64_t row, step;  // elements from one to the next
  };

  // Rows of one channel, or of several whose elements are adjacent.
  template <class E>
  void fill_rows(const E &e, const Lines &from, int64_t rows, int64_t channels, Unit *to) const {
    const int64_t size = e.size(), apart = x.stride * from.step * size;
    const auto each_row = [&](Range met, int64_t slot, auto &&f) {
      const char *p = from.at + x.element(slot, met.begin) * from.step * size;
      Unit *q = to + slot * volume + met.begin;
      for (int64_t j = 0; j < rows && !met.empty(); j++, p += from.row * size, q += x.extent)
        f(p, q, met.end - met.begin);
    };
    if constexpr (kTurns<E>) {
      const Range met = x.inside(0), last = x.inside(x.slots - 1);
      const bool slots_adjacent = x.slots > 2 && x.step == 1 && from.step == 1 &&
                                  met.begin == last.begin && met.end == last.end;
      if (channels == 1 && slots_adjacent)
        return each_row(met, 0, [&](const char *p, Unit *q, int64_t n) {
          for (int64_t i = 0; i < n * apart; i += 64) __builtin_prefetch(p + from.row * size + i);
          turn(p, apart, q, volume, n, x.slots);
        });
      if (channels > 1) {
        for (int64_t s = 0; s < x.slots; s++)
          each_row(x.inside(s), s, [&](const char *p, Unit *q, int64_t n) {
            turn(p, apart, q, plane, n, channels);
          });
        return;
      }
    }
    for (int64_t s = 0; s < x.slots; s++)
      each_row(x.inside(s), s, [&](const char *p, Unit *q, int64_t n) { e.read(p, apart, q, n); });
  }
  // Makes rows of columns. The last block of these may begin within the one before.
  static void turn(const char *from, int64_t apart, Unit *to, int64_t row, int64_t n,
                   int64_t rows) {
    constexpr int64_t kBlock = 64 / sizeof(Unit) / 2;
    const auto copy = find_turn(sizeof(Unit));
    const int64_t whole = n > kBlock ? n / kBlock * kBlock : n;
    copy((char *)to, row * int64_t(sizeof(Unit)), from, apart, whole, rows);
    if (whole < n)
      copy((char *)(to + n - kBlock), row * int64_t(sizeof(Unit)), from + (n - kBlock) * apart,
           apart, kBlock, rows);
  }
};

// The kernel elements of a convolution, taken together or one by one: at a few positions, the
// elements that all of them read may be far more than those of each one.
template <class Unit>
struct Tapping {
  static constexpr int64_t kPart = 288;  // channels times kernel elements per im2col tile
  static constexpr int64_t kFew = 64, kMost = 1 << 18;  // positions, and bytes of their im2col tile
  int64_t taps[LT_AXES], all, channels;  // all kernel elements, and channels per im2col tile
  bool whole;

  explicit Tapping(const lt_axis *a, int64_t most_channels) {
    all = 1;
    for (int d = 0; d < LT_AXES; d++) all *= taps[d] = a[d].taps;
    channels = all > 0 && all < kPart ? kPart / all : 1;
    const int64_t begin[LT_AXES] = {}, end[LT_AXES] = {1, 1, kFew};
    whole = double(channels) * sizeof(Unit) * tile_size(a, taps, begin, end) <= kMost;
    if (!whole) channels = kPart;
    // Parts of about the same size.
    const int64_t parts = most_channels > channels ? up(most_channels, channels) : 1;
    channels = up(most_channels, parts);
    if (channels < 1) channels = 1;
  }
  // The number of sets of kernel elements, and one of them.
  int64_t sets() const { return whole ? 1 : all; }
  Taps set(int64_t t) const {
    if (whole) return {{}, {taps[0], taps[1], taps[2]}};
    return {{t / taps[2] / taps[1], t / taps[2] % taps[1], t % taps[2]}, {1, 1, 1}};
  }
};

}  // namespace
}  // namespace lt
#endif
