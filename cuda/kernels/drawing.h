// Random numbers by counting (docs/random.md): each follows from the seed, the block that a fill
// begins with, and the number of the element, so that they are those of the CPU.
#include "counting_draws.h"

namespace lt {
namespace {

// The arguments of a launch. a and b are the parameters of the distribution, span
// is 0 for all 64 bits.
struct Drawing {
  uint64_t to, each;
  int64_t n;
  uint64_t seed, block;
  double a, b;
  int64_t from;
  uint64_t span;
  uint8_t memory, each_memory, reserved[6];
};

LT_INLINE uint32_t word(const Drawing &d, uint64_t number) {
  uint32_t x[4];
  Philox{d.seed, d.block + number / 4, 0}.block_to(x);
  const int at = number % 4;
  return at == 0 ? x[0] : at == 1 ? x[1] : at == 2 ? x[2] : x[3];
}

LT_INLINE uint64_t wide_word(const Drawing &d, int64_t i) {
  return uint64_t(word(d, 2 * i)) << 32 | word(d, 2 * i + 1);
}

LT_INLINE float unit32(const Drawing &d, int64_t i) {
  return float(int32_t(word(d, i) & 0xffffff)) * 0x1p-24f;
}
LT_INLINE double unit64(const Drawing &d, int64_t i) {
  return double(int64_t(wide_word(d, i) & 0x1fffffffffffff)) * 0x1p-53;
}

template <class T>
LT_INLINE void give(const Drawing &d, int64_t i, T v) {
  const int64_t size = dtype_size(d.memory);
  char *to = LT_PLACE(d.to + i * size, size, true);
  convert_value(Traits<T>::number, d.memory, (const char *)&v, to);
}

// v in [0, 1) moved to [from, to).
template <class T>
LT_INLINE T scaled(T v, T from, T to) {
  if (from == 0 && to == 1) return v;
  const T x = T(sizeof(T) == 4 ? ::fmaf(float(v), float(to - from), float(from))
                               : ::fma(double(v), double(to - from), double(from)));
  return x == to ? from : x;
}

// Values that round up to the excluded end of the range in 16-bit floats become the other end.
template <class Half>
LT_INLINE void give_half(const Drawing &d, int64_t i, float v) {
  Half h, end;
  narrow(v, &h);
  narrow(float(d.b), &end);
  if (h.bits == end.bits) narrow(float(d.a), &h);
  give(d, i, h);
}

LT_INLINE void uniform_float32(const Drawing &d, int64_t i) {
  const float v = scaled(unit32(d, i), float(d.a), float(d.b));
  if (d.memory == Traits<Float16>::number)
    give_half<Float16>(d, i, v);
  else if (d.memory == Traits<BFloat16>::number)
    give_half<BFloat16>(d, i, v);
  else
    give(d, i, v);
}
LT_INLINE void uniform_float64(const Drawing &d, int64_t i) {
  give(d, i, scaled(unit64(d, i), d.a, d.b));
}

// Normal numbers are drawn in blocks of 16 uniforms, 8 radii and then 8 angles: one pair per
// thread.
struct NormalPair {
  int64_t first, second;
  LT_INLINE explicit NormalPair(int64_t thread)
      : first(thread / 8 * 16 + thread % 8), second(first + 8) {}
};

LT_INLINE void normal_float32(const Drawing &d, int64_t thread) {
  const NormalPair at(thread);
  const float radius = ::sqrtf(-2.0f * log_unit(1.0f - unit32(d, at.first)));
  float s, c;
  sin_cos((float)(2 * 3.14159265358979323846) * unit32(d, at.second), &s, &c);
  if (at.first < d.n) give(d, at.first, ::fmaf(radius * c, float(d.b), float(d.a)));
  if (at.second < d.n) give(d, at.second, ::fmaf(radius * s, float(d.b), float(d.a)));
}

template <class F>
LT_INLINE void normal_pair(const Drawing &d, int64_t thread, F f) {
  const NormalPair at(thread);
  const double radius = ::sqrt(-2.0 * logarithm(1.0 - unit64(d, at.first)));
  double s, c;
  sin_cos_turns(unit64(d, at.second), &s, &c);
  if (at.first < d.n) give(d, at.first, f(::fma(radius * c, d.b, d.a)));
  if (at.second < d.n) give(d, at.second, f(::fma(radius * s, d.b, d.a)));
}
LT_INLINE void normal_float64(const Drawing &d, int64_t thread) {
  normal_pair(d, thread, [](double v) { return v; });
}
LT_INLINE void log_normal(const Drawing &d, int64_t thread) {
  normal_pair(d, thread, [](double v) { return exponential(v); });
}

LT_INLINE void integers(const Drawing &d, int64_t i) {
  give(d, i, int64_t(word(d, i) % d.span) + d.from);
}
LT_INLINE void wide_integers(const Drawing &d, int64_t i) {
  const uint64_t v = wide_word(d, i);
  give(d, i, int64_t(d.span ? v % d.span : v) + d.from);
}

LT_INLINE void bernoulli(const Drawing &d, int64_t i) { give(d, i, int64_t(unit64(d, i) < d.a)); }
// A parameter of an element.
LT_INLINE double parameter(const Drawing &d, int64_t i) {
  const int64_t size = dtype_size(d.each_memory);
  double p;
  convert_value(d.each_memory, Traits<double>::number, LT_PLACE(d.each + i * size, size, false),
                (char *)&p);
  return p;
}
LT_INLINE void bernoulli_each(const Drawing &d, int64_t i) {
  const double p = parameter(d, i);
  const bool wide = d.each_memory == Traits<double>::number;
  give(d, i, int64_t((wide ? unit64(d, i) : double(unit32(d, i))) < p));
}

// a is -1 / lambda.
LT_INLINE void exponentials(const Drawing &d, int64_t i) {
  give(d, i, logarithm(1.0 - unit64(d, i)) * d.a);
}
LT_INLINE void cauchy(const Drawing &d, int64_t i) {
  double s, c;
  sin_cos_turns(0.5 * unit64(d, i) - 0.25, &s, &c);
  give(d, i, ::fma(s / c, d.b, d.a));
}
// a is log(1 - p).
LT_INLINE void geometric(const Drawing &d, int64_t i) {
  const double u = unit64(d, i);
  give(d, i, ::ceil(logarithm(u < 0x1p-54 ? 0x1p-54 : u) / d.a));
}

LT_INLINE void poisson(const Drawing &d, int64_t i) {
  Rounds r(d.seed, d.block + i);
  give(d, i, poisson_count(r, parameter(d, i)));
}
template <class T>
LT_INLINE void binomial(const Drawing &d, int64_t i) {
  Rounds r(d.seed, d.block + i);
  give(d, i, Trials<T>{r}.successes(parameter(d, 2 * i), parameter(d, 2 * i + 1)));
}
LT_INLINE void binomial_float32(const Drawing &d, int64_t i) { binomial<float>(d, i); }
LT_INLINE void binomial_float64(const Drawing &d, int64_t i) { binomial<double>(d, i); }

// a is the smallest result.
template <class T>
LT_INLINE void gamma(const Drawing &d, int64_t i) {
  Rounds r(d.seed, d.block + i);
  const double v = gamma_number<T>(r, parameter(d, i));
  give(d, i, v > d.a ? v : d.a);
}
LT_INLINE void gamma_float32(const Drawing &d, int64_t i) { gamma<float>(d, i); }
LT_INLINE void gamma_float64(const Drawing &d, int64_t i) { gamma<double>(d, i); }

// The arguments of a launch: rows of `categories` weights, which become the
// running fractions of their sum, and `samples` of each.
struct Choosing {
  uint64_t weights, to;
  int64_t rows, categories, samples;
  uint64_t seed, block;
};

// A row is added up one weight after the other, by a thread: its sums are the CPU's.
template <class T>
LT_INLINE void choose_fractions(const Choosing &c, int64_t row) {
  const int64_t n = c.categories;
  T *w = (T *)LT_PLACE(c.weights + row * n * sizeof(T), n * sizeof(T), true);
  T total = 0;
  for (int64_t i = 0; i < n; i++) total += w[i];
  const T scale = total - total == 0 ? T(1) : T(0x1p-25);  // for a sum that is finite
  total = 0;
  for (int64_t i = 0; i < n; i++) w[i] = total += w[i] * scale;
  for (int64_t i = 0; i < n; i++) w[i] /= total;
  w[n - 1] = 1;
}

template <class T>
LT_INLINE void choose_index(const Choosing &c, int64_t i) {
  Drawing d;
  d.seed = c.seed, d.block = c.block;
  const double drawn = unit64(d, i), u = drawn > 0 ? drawn : 0x1p-1074;
  const int64_t n = c.categories;
  const T *w = (const T *)LT_PLACE(c.weights + i / c.samples * n * sizeof(T), n * sizeof(T), false);
  int64_t base = 0;
  for (int64_t m = n; m > 1; m -= m / 2) base = w[base + m / 2 - 1] < u ? base + m / 2 : base;
  *(int64_t *)LT_PLACE(c.to + i * 8, 8, true) = base;
}

}  // namespace
}  // namespace lt

#define LT_DRAWING(NAME, THREADS)                                                \
  LT_KERNEL(draw_##NAME, lt::Drawing) {                                          \
    const int64_t threads = THREADS;                                             \
    for (int64_t i = LT_THREAD; i < threads; i += LT_THREADS) lt::NAME(args, i); \
  }

LT_DRAWING(uniform_float32, args.n)
LT_DRAWING(uniform_float64, args.n)
LT_DRAWING(normal_float32, (args.n + 15) / 16 * 8)
LT_DRAWING(normal_float64, (args.n + 15) / 16 * 8)
LT_DRAWING(log_normal, (args.n + 15) / 16 * 8)
LT_DRAWING(integers, args.n)
LT_DRAWING(wide_integers, args.n)
LT_DRAWING(bernoulli, args.n)
LT_DRAWING(bernoulli_each, args.n)
LT_DRAWING(exponentials, args.n)
LT_DRAWING(cauchy, args.n)
LT_DRAWING(geometric, args.n)
LT_DRAWING(poisson, args.n)
LT_DRAWING(binomial_float32, args.n)
LT_DRAWING(binomial_float64, args.n)
LT_DRAWING(gamma_float32, args.n)
LT_DRAWING(gamma_float64, args.n)

#define LT_CHOOSING(NAME, THREADS, ...)                                             \
  LT_KERNEL(NAME, lt::Choosing) {                                                   \
    const int64_t threads = THREADS;                                                \
    for (int64_t i = LT_THREAD; i < threads; i += LT_THREADS) __VA_ARGS__(args, i); \
  }

LT_CHOOSING(choose_fractions_float32, args.rows, lt::choose_fractions<float>)
LT_CHOOSING(choose_fractions_float64, args.rows, lt::choose_fractions<double>)
LT_CHOOSING(choose_index_float32, args.rows *args.samples, lt::choose_index<float>)
LT_CHOOSING(choose_index_float64, args.rows *args.samples, lt::choose_index<double>)
