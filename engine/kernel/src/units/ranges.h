// Sequences: range (start + i * step) and linspace, whose second half counts back from the end.
#include "../cast.h"
#include "../rows.h"

namespace lt {
namespace {

struct range_args {
  uintptr_t out;
  int64_t begin, end, steps;
  int64_t istart, istep;
  double start[2], step[2], stop[2];
};

// The arguments are copied, because the compiler could not exclude that they alias the output.
struct Range {
  template <class T>
  static void row(const range_args *args) {
    const range_args a = *args;
    T *out = (T *)a.out;
    if constexpr (kind_of<T> == kInteger) {
      for (int64_t i = a.begin; i < a.end; i++) out[i] = (T)(a.istart + i * a.istep);
    } else {
      for (int64_t i = a.begin; i < a.end; i++)
        out[i] = convert<T>(a.start[0] + (double)i * a.step[0]);
    }
  }
};

struct Linspace {
  template <class T>
  static void row(const range_args *args) {
    const range_args a = *args;
    T *out = (T *)a.out;
    auto part = [&a](int64_t i, int p) {
      return i < a.steps / 2 || a.steps == 1 ? a.start[p] + a.step[p] * (double)i
                                             : a.stop[p] - a.step[p] * (double)(a.steps - 1 - i);
    };
    if constexpr (kind_of<T> == kComplex) {
      for (int64_t i = a.begin; i < a.end; i++)
        out[i] = convert<T>(Complex128(part(i, 0), part(i, 1)));
    } else {
      for (int64_t i = a.begin; i < a.end; i++) out[i] = convert<T>(part(i, 0));
    }
  }
};

}  // namespace
}  // namespace lt

#define LT_HALVES(OP) \
  LT_ROW(OP, lt::Float16), LT_ROW(OP, lt::BFloat16), LT_ROW(OP, float), LT_ROW(OP, double)

LT_UNIT(ranges){
    {"range", "", {LT_NONE, LT_MODULAR(Range), LT_HALVES(Range), LT_NO_COMPLEX}},
    {"linspace",
     "",
     {LT_NONE, LT_INTEGERS(Linspace), LT_HALVES(Linspace), LT_ROW(Linspace, lt::Complex64),
      LT_ROW(Linspace, lt::Complex128), LT_ROW(Linspace, lt::Complex32),
      LT_ROW(Linspace, lt::BComplex32)}},
    LT_END,
};
