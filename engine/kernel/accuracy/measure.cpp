// Measures the largest error of every vmath function of one CPU tier, in units in the last place.
//
//   measure sweep FUNCTION float32 STRIDE   every STRIDE-th float (all of them for 1)
//   measure sweep FUNCTION float64 COUNT    COUNT doubles of each of several distributions, then
//                                           more near the worst of them
//   measure special FUNCTION DTYPE          zeros, infinities, NaN and nearby values, against libm
//   measure lanes FUNCTION DTYPE            does a result depend on its position in the vector?
//   measure eval FUNCTION DTYPE             reads arguments (C99 hexadecimal), writes results
//   measure time FUNCTION DTYPE             nanoseconds per element of 10,000 from 0.1 to 4.1
//   measure list                            the functions, two-argument ones marked with 2
//
// The reference is libm in double for float32, and 113 bit arithmetic for float64.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>

#include "vmath.h"

#ifdef __x86_64__
#include <quadmath.h>
using Quad = __float128;
#define LT_QUAD(f) f##q
#else
using Quad = long double;
#define LT_QUAD(f) f##l
#endif

namespace {

template <class T>
using Kernel = void (*)(const T* x, const T* y, T* out, long n);

struct Function {
  const char* name;
  bool binary;
  Kernel<float> f32;
  Kernel<double> f64;
  double (*ref32)(double x, double y);
  Quad (*ref64)(Quad x, Quad y);
};

// Tails go through load_partial and store_partial, as in the kernels.
template <class T, class F>
void each_vector(const T* x, const T* y, T* out, long n, F f) {
  constexpr int width = lt::Vec<T>::N;
  long i = 0;
  for (; i + width <= n; i += width) lt::store(out + i, f(lt::load(x + i), lt::load(y + i)));
  const int rest = int(n - i);
  if (rest > 0)
    lt::store_partial(out + i, f(lt::load_partial(x + i, rest), lt::load_partial(y + i, rest)),
                      rest);
}

double sigmoid(double x) { return 1 / (1 + exp(-x)); }
Quad LT_QUAD(sigmoid)(Quad x) { return 1 / (1 + LT_QUAD(exp)(-x)); }

#define LT_UNARY(name)                                                                     \
  {#name,                                                                                  \
   false,                                                                                  \
   [](const float* x, const float* y, float* out, long n) {                                \
     each_vector(x, y, out, n, [](lt::Floats a, lt::Floats) { return lt::v##name(a); });   \
   },                                                                                      \
   [](const double* x, const double* y, double* out, long n) {                             \
     each_vector(x, y, out, n, [](lt::Doubles a, lt::Doubles) { return lt::v##name(a); }); \
   },                                                                                      \
   [](double x, double) { return name(x); },                                               \
   [](Quad x, Quad) { return LT_QUAD(name)(x); }}
#define LT_BINARY(name)                                                                         \
  {#name,                                                                                       \
   true,                                                                                        \
   [](const float* x, const float* y, float* out, long n) {                                     \
     each_vector(x, y, out, n, [](lt::Floats a, lt::Floats b) { return lt::v##name(a, b); });   \
   },                                                                                           \
   [](const double* x, const double* y, double* out, long n) {                                  \
     each_vector(x, y, out, n, [](lt::Doubles a, lt::Doubles b) { return lt::v##name(a, b); }); \
   },                                                                                           \
   [](double x, double y) { return name(x, y); },                                               \
   [](Quad x, Quad y) { return LT_QUAD(name)(x, y); }}

const Function functions[] = {
    LT_UNARY(exp),   LT_UNARY(exp2),  LT_UNARY(expm1),  LT_UNARY(sigmoid), LT_UNARY(log),
    LT_UNARY(log2),  LT_UNARY(log10), LT_UNARY(log1p),  LT_UNARY(sin),     LT_UNARY(cos),
    LT_UNARY(tan),   LT_UNARY(asin),  LT_UNARY(acos),   LT_UNARY(atan),    LT_BINARY(atan2),
    LT_UNARY(sinh),  LT_UNARY(cosh),  LT_UNARY(tanh),   LT_UNARY(asinh),   LT_UNARY(acosh),
    LT_UNARY(atanh), LT_BINARY(pow),  LT_BINARY(hypot), LT_UNARY(erf),     LT_UNARY(erfc),
};

template <class T>
struct Of;
template <>
struct Of<float> {
  using Bits = uint32_t;
  using Reference = double;
  static constexpr int precision = 24, least = -149, most = 128;
  static Kernel<float> kernel(const Function& f) { return f.f32; }
  static double reference(const Function& f, float x, float y) { return f.ref32(x, y); }
};
template <>
struct Of<double> {
  using Bits = uint64_t;
  using Reference = Quad;
  static constexpr int precision = 53, least = -1074, most = 1024;
  static Kernel<double> kernel(const Function& f) { return f.f64; }
  static Quad reference(const Function& f, double x, double y) { return f.ref64(x, y); }
};

template <class T>
T from_bits(typename Of<T>::Bits b) {
  T x;
  memcpy(&x, &b, sizeof x);
  return x;
}
template <class T>
typename Of<T>::Bits to_bits(T x) {
  typename Of<T>::Bits b;
  memcpy(&b, &x, sizeof b);
  return b;
}

int exponent_of(double x) { return ilogb(x); }
int exponent_of(Quad x) {
  int e = 0;
  LT_QUAD(frexp)(x, &e);
  return e - 1;
}
double scaled(double x, int e) { return ldexp(x, e); }
double scaled(Quad x, int e) { return double(LT_QUAD(ldexp)(x, e)); }

// The distance from the true value in units of its last place; infinity counts as 2^most. A NaN or
// an infinity where the other is none is an error without measure.
template <class T>
double ulps(T got, typename Of<T>::Reference want) {
  using R = typename Of<T>::Reference;
  if (want != want || got != got) return (want != want) == (got != got) ? 0 : INFINITY;
  const R top = R(2) * R(from_bits<T>(to_bits(T(1)) + ((typename Of<T>::Bits)(Of<T>::most - 1)
                                                       << (Of<T>::precision - 1))));
  R g = isinf(got) ? (got > 0 ? top : -top) : R(got);
  if (want > top) want = top;
  if (want < -top) want = -top;
  if (g == want) return 0;
  int last = want == 0 ? Of<T>::least : exponent_of(want) - Of<T>::precision + 1;
  if (last < Of<T>::least) last = Of<T>::least;
  if (last > Of<T>::most - Of<T>::precision) last = Of<T>::most - Of<T>::precision;
  return fabs(scaled(g - want, -last));
}

template <class T>
struct Worst {
  double error = 0;
  T x = 0, y = 0;
  long count = 0;

  void measure(const Function& f, const T* x, const T* y, long n) {
    static T out[4096];
    for (long done = 0; done < n; done += 4096) {
      const long m = n - done < 4096 ? n - done : 4096;
      Of<T>::kernel(f)(x + done, y + done, out, m);
      for (long i = 0; i < m; i++) {
        const double e = ulps<T>(out[i], Of<T>::reference(f, x[done + i], y[done + i]));
        count++;
        if (e > error) {
          error = e;
          this->x = x[done + i];
          this->y = y[done + i];
        }
      }
    }
  }

  void print() const { printf("%.4f %a %a %ld\n", error, double(x), double(y), count); }
};

// SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, 2014).
uint64_t random_bits() {
  static uint64_t state = 1;
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}
double random_unit() { return double(random_bits() >> 11) * 0x1p-53; }
double random_between(double a, double b) { return a + (b - a) * random_unit(); }

// One argument of one of the distributions below.
constexpr int distributions = 9;
double random_argument(int kind) {
  switch (kind) {
    case 0:
      return from_bits<double>(random_bits());  // any bits
    case 1:
      return random_between(-1, 1);
    case 2:
      return random_between(-10, 10);
    case 3:
      return random_between(-800, 800);
    case 4:
      return ldexp(random_between(-1, 1), int(random_bits() % 80) - 60);
    case 5:
      return 1 + ldexp(random_between(-1, 1), -int(random_bits() % 52));  // around 1
    case 6:
      return double(random_bits() % 4096) * M_PI_4 +
             ldexp(random_between(-1, 1), -int(random_bits() % 60));  // poles, zeros
    case 7:
      return ldexp(double(random_bits() % 512), -5) +
             ldexp(random_between(-1, 1), -20);  // thresholds
    default:
      return rint(random_between(-1e15, 1e15)) * M_PI_2;  // huge poles and zeros
  }
}

void sweep(const Function& f, const char* dtype, long amount) {
  static float x32[4096], y32[4096];
  static double x64[4096], y64[4096];
  if (strcmp(dtype, "float32") == 0) {
    Worst<float> w;
    long n = 0;
    for (uint64_t b = 0; b < uint64_t(1) << 32; b += uint64_t(amount)) {
      x32[n] = from_bits<float>(uint32_t(b));
      // Half of the pairs close together, the others anything.
      const int kind = int(random_bits() % distributions);
      y32[n] = !f.binary ? 0.0f
               : b & 1   ? float(random_argument(kind))
                         : x32[n] * float(random_between(-4, 4));
      if (++n == 4096) {
        w.measure(f, x32, y32, n);
        n = 0;
      }
    }
    w.measure(f, x32, y32, n);
    w.print();
    return;
  }
  Worst<double> w;
  for (int kind = 0; kind < distributions; kind++) {
    for (long done = 0; done < amount; done += 4096) {
      for (int i = 0; i < 4096; i++) {
        x64[i] = random_argument(kind);
        y64[i] = !f.binary           ? 0
                 : random_bits() & 1 ? random_argument(int(random_bits() % distributions))
                                     : x64[i] * random_between(-4, 4);
      }
      w.measure(f, x64, y64, 4096);
    }
  }
  // Then nearer and nearer to the worst found.
  for (int scale = 4; scale < 40; scale++) {
    for (long done = 0; done < amount; done += 4096 * 8) {
      for (int i = 0; i < 4096; i++) {
        x64[i] = w.x * (1 + ldexp(random_between(-1, 1), -scale));
        y64[i] = w.y * (1 + ldexp(random_between(-1, 1), -scale));
      }
      w.measure(f, x64, y64, 4096);
    }
  }
  w.print();
}

// Every special argument (every pair of them) against libm: the same number, or both NaN, and the
// same sign of zero.
template <class T>
void special(const Function& f) {
  const T tiny = from_bits<T>(1), most = from_bits<T>(to_bits(T(INFINITY)) - 1);
  const T normal = lt::Format<T>::min_normal;
  const T values[] = {0,           tiny,  normal, T(0.5), 1,    T(1.5), 2,
                      3,           4,     T(5),   1000,   1001, most,   T(1) + T(1) / 1024,
                      T(INFINITY), T(NAN)};
  long bad = 0, count = 0;
  for (T vx : values)
    for (T vy : values)
      for (int signs = 0; signs < 4; signs++) {
        const T x = signs & 1 ? -vx : vx, y = signs & 2 ? -vy : vy;
        T got;
        Of<T>::kernel(f)(&x, &y, &got, 1);
        const double want = f.ref32(x, y);
        const T rounded = T(want);
        const bool same = got != got
                              ? rounded != rounded
                              : signbit(got) == signbit(rounded) && isinf(got) == isinf(rounded) &&
                                    (got == 0) == (rounded == 0);
        count++;
        if (!same) {
          if (bad++ < 8)
            fprintf(stderr, "%s(%a, %a) = %a, not %a\n", f.name, double(x), double(y), double(got),
                    double(rounded));
        }
      }
  printf("%ld %ld\n", bad, count);
}

// The same arguments at every offset of the vector, next to other values and in tails.
template <class T>
void lanes(const Function& f) {
  constexpr int width = lt::Vec<T>::N, n = 4 * width + 1;
  long bad = 0, count = 0;
  for (int round = 0; round < 20000; round++) {
    T x[n], y[n], want[n], got[n];
    for (int i = 0; i < n; i++) {
      x[i] = T(random_argument(int(random_bits() % distributions)));
      y[i] = T(random_argument(int(random_bits() % distributions)));
      Of<T>::kernel(f)(x + i, y + i, want + i, 1);
    }
    const int start = round % width;
    Of<T>::kernel(f)(x + start, y + start, got, n - start);
    for (int i = 0; i < n - start; i++, count++)
      if (got[i] == got[i] || want[i + start] == want[i + start])
        bad += to_bits(got[i]) != to_bits(want[i + start]);
  }
  printf("%ld %ld\n", bad, count);
}

template <class T>
void eval(const Function& f) {
  double x, y = 0;
  while (scanf("%la", &x) == 1 && (!f.binary || scanf("%la", &y) == 1)) {
    const T a = T(x), b = T(y);
    T out;
    Of<T>::kernel(f)(&a, &b, &out, 1);
    printf("%a\n", double(out));
  }
}

// A time that a tenth of the rounds do not exceed: those that other programs disturbed least.
template <class T>
double nanoseconds(const Function& f) {
  constexpr int n = 10000, repeats = 8, rounds = 400;
  static T x[n], y[n], out[n];
  for (int i = 0; i < n; i++) x[i] = T(random_between(0.1, 4.1)), y[i] = T(1.7);
  double times[rounds];
  for (double& t : times) {
    timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int k = 0; k < repeats; k++) Of<T>::kernel(f)(x, y, out, n);
    clock_gettime(CLOCK_MONOTONIC, &end);
    t = double(end.tv_sec - start.tv_sec) * 1e9 + double(end.tv_nsec - start.tv_nsec);
  }
  std::sort(times, times + rounds);
  return times[rounds / 10] / (n * repeats);
}

int usage() {
  fprintf(stderr,
          "usage: measure sweep FUNCTION float32 STRIDE | sweep FUNCTION float64 COUNT |\n"
          "       special FUNCTION DTYPE | lanes FUNCTION DTYPE | eval FUNCTION DTYPE |\n"
          "       time FUNCTION DTYPE | list\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "list") == 0) {
    for (const Function& f : functions) printf("%s %d\n", f.name, f.binary ? 2 : 1);
    return 0;
  }
  if (argc < 4) return usage();
  const bool single = strcmp(argv[3], "float32") == 0;
  for (const Function& f : functions) {
    if (strcmp(f.name, argv[2]) != 0) continue;
    if (strcmp(argv[1], "sweep") == 0 && argc == 5 && atol(argv[4]) > 0)
      sweep(f, argv[3], atol(argv[4]));
    else if (strcmp(argv[1], "special") == 0)
      single ? special<float>(f) : special<double>(f);
    else if (strcmp(argv[1], "lanes") == 0)
      single ? lanes<float>(f) : lanes<double>(f);
    else if (strcmp(argv[1], "eval") == 0)
      single ? eval<float>(f) : eval<double>(f);
    else if (strcmp(argv[1], "time") == 0)
      printf("%.3f\n", single ? nanoseconds<float>(f) : nanoseconds<double>(f));
    else
      return usage();
    return 0;
  }
  return usage();
}
