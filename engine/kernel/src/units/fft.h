// Fourier transforms.
#include "../fft/lanes.h"
#include "../rows.h"

namespace lt {
namespace {

// The bytes of a line of the numbers of a transform, with one more.
template <class T>
LT_INLINE int64_t line_bytes(const Plan &p) {
  return ((p.n + 1) * 2 * sizeof(T) + 63) / 64 * 64;
}

// The number of points up to which two lines fit the caches.
constexpr int64_t kNearPoints = 1 << 14;

struct FftPlan {
  template <class T>
  static void row(lt_fft_plan *a) {
    Room room = {(char *)a->plan, 0};
    const Plan *plan = (const Plan *)a->plan;
    if (a->own) return make_spectra<T>(room.base, *plan, (char *)a->shared, (char *)a->own);
    const bool halved = a->real && a->n % 2 == 0;
    make_plan<T>(room, halved ? a->n / 2 : a->n, false, a->adjacent, halved);
    a->plan_bytes = room.used;
    if (!plan) return;
    const Plan &p = *plan;
    a->own_bytes = own_bytes<T>(room.base, p);
    a->shared_bytes = (shared_bytes<T>(room.base, p) + 63) / 64 * 64;
    a->groups[0] = p.scheme == kLine ? groups_of<T>(p.rows.n) : 0;
    a->groups[1] = p.scheme == kLine ? groups_of<T>(p.columns.n) : 0;
    a->unfinished = p.scheme == kRader || p.scheme == kChirp;
  }
};

// A line being transformed: the contiguous memory of its elements before and after the transform,
// which is the caller's or a copy.
template <class T>
struct Line {
  static constexpr int64_t kNumber = 2 * sizeof(T);
  const lt_fft &f;
  const char *base;
  const Plan &p;
  const char *in;
  char *out;
  int64_t h = f.n / 2;
  bool halved = f.kind != LT_FFT_COMPLEX && f.n % 2 == 0;
  bool swap = f.inverse || f.kind == LT_FFT_REAL;
  char *turned = (char *)f.shared;
  T *copy = (T *)f.copy, *made = (T *)f.made;
  const T *roots = (const T *)(base + p.unpack);
  const T *from = copy;
  T *to = made;
  bool in_lies, out_lies;  // numbers one after another, or pairs of real ones

  Line(const lt_fft &f, const char *base, const Plan &p, const Walk &at)
      : f(f), base(base), p(p), in((const char *)f.in + at.in), out((char *)f.out + at.out) {
    const bool real_in = f.kind == LT_FFT_ONESIDED || f.kind == LT_FFT_TWOSIDED;
    in_lies = f.in_step == (real_in ? (int64_t)sizeof(T) : kNumber);
    out_lies = f.out_step == (f.kind == LT_FFT_REAL ? (int64_t)sizeof(T) : kNumber);
    if (in_lies && (real_in ? halved : f.kind == LT_FFT_COMPLEX)) from = (const T *)in;
    // Results that are unpacked are often one more than fill cache lines: they are made elsewhere.
    const bool near = real_in && p.n <= kNearPoints;
    if (out_lies && (f.kind == LT_FFT_COMPLEX || (halved && !near))) to = (T *)out;
  }

  // Sets the sizes of the copies in call.
  void room(lt_fft &call) const {
    const bool gathers = f.kind == LT_FFT_REAL && !in_lies;
    call.copy_bytes = from == copy ? line_bytes<T>(p) : 0;
    call.made_bytes = to == made || gathers ? line_bytes<T>(p) : 0;
  }

  // Makes `from`.
  void prepare() {
    if (from != copy) return;
    if (f.kind == LT_FFT_REAL) {
      const T *numbers = (const T *)in;
      if (!in_lies) {
        for (int64_t i = 0; i <= h; i++) memcpy(made + 2 * i, in + i * f.in_step, kNumber);
        numbers = made;
      }
      if (halved) return pack_line(numbers, copy, h, roots);
      put_single(copy, {numbers[0], T(0)});
      for (int64_t k = 1; k <= h; k++) {
        const Single<T> z = single(numbers + 2 * k);
        put_single(copy + 2 * k, z);
        put_single(copy + 2 * (f.n - k), z.conj());
      }
      return;
    }
    for (int64_t i = 0; i < f.n; i++) {
      const char *at = in + i * f.in_step;
      if (f.kind == LT_FFT_COMPLEX)
        memcpy(copy + 2 * i, at, kNumber);
      else if (halved)
        memcpy(copy + i, at, sizeof(T));
      else
        put_single(copy + 2 * i, {value_at<T>(at), T(0)});
    }
  }

  // Stores the results from the copy `to` in the caller's memory.
  void finish() {
    if (f.kind == LT_FFT_REAL) {
      if (to != made) return;
      for (int64_t i = 0; i < f.n; i++)
        memcpy(out + i * f.out_step, halved ? to + i : to + 2 * i, sizeof(T));
      return;
    }
    T *const results = halved && out_lies ? (T *)out : to;
    if (halved) unpack_line(to, results, h, roots);
    const bool mirrored = f.kind == LT_FFT_TWOSIDED;
    const int64_t given = f.kind == LT_FFT_COMPLEX ? f.n : h + 1;
    if (results == made)
      for (int64_t i = 0; i < given; i++) memcpy(out + i * f.out_step, results + 2 * i, kNumber);
    if (mirrored)
      for (int64_t k = given; k < f.n; k++)
        put_single((T *)(out + k * f.out_step), single(results + 2 * (f.n - k)).conj());
  }

  // The contiguous memory to prefetch. The hardware prefetches narrow matrices, but not the targets
  // of unpacking.
  Ahead near() const {
    if (p.scheme == kNarrow)
      return {nullptr, halved && out_lies && to == made ? out : nullptr, 0, (p.n + 1) * kNumber};
    return {from == copy ? nullptr : (const char *)from, to == made ? nullptr : (const char *)to,
            p.n * kNumber, p.n * kNumber};
  }

  void transform(const Ahead &ahead) {
    prepare();
    transform_line<T>(base, p, from, to, swap, T(f.scale), turned, (char *)f.own, ahead);
    finish();
  }
};

struct Fft {
  template <class T>
  static void row(lt_fft *f) {
    const char *base = (const char *)f->plan;
    const Plan &p = *(const Plan *)base;
    if (f->step != LT_FFT_ALL) {
      if (p.scheme == kLanes) return;
      Line<T> line(*f, base, p, Walk(*f, f->line));
      switch (f->step) {
        case LT_FFT_ROOM:
          return line.room(*f);
        case LT_FFT_PREPARE:
          return line.prepare();
        case LT_FFT_COLUMNS:
          return transform_columns<T>(base, p, line.from, line.swap, (T *)line.turned,
                                      (char *)f->own, f->begin, f->end, {});
        case LT_FFT_ROWS:
          return transform_rows<T>(base, p, (const T *)line.turned, line.to, line.swap, T(f->scale),
                                   (char *)f->own, f->begin, f->end, {});
      }
      return line.finish();
    }
    Walk at(*f, f->begin);
    if (p.scheme != kLanes) {
      for (int64_t i = f->begin; i < f->end; i++) {
        Line<T> line(*f, base, p, at);
        at.next();
        const bool more = i + 1 < f->end && p.n <= kNearPoints;
        line.transform(more ? Line<T>(*f, base, p, at).near() : Ahead{});
      }
      return;
    }
    for (int64_t i = f->begin; i < f->end;) {
      Lines g;
      for (g.lanes = 0; g.lanes < Vec<T>::N && i < f->end; i++, at.next(), g.lanes++) {
        g.in[g.lanes] = at.in;
        g.out[g.lanes] = at.out;
      }
      transform_lanes<T>(*f, base, p, g);
    }
  }
};

}  // namespace
}  // namespace lt

// clang-format off
LT_UNIT(fft){
    {"fft_plan", "", LT_FLOATING(FftPlan)},
    {"fft", "", LT_FLOATING(Fft)},
    LT_END,
};
