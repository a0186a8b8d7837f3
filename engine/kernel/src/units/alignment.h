// Alignments of labels with steps: the recursions of A. Graves et al., Connectionist Temporal
// Classification, ICML 2006, in logarithms, a vector of states at a time.
#include "../rows.h"
// Comes after rows.h, which sets the compiler up.
#include "../../alignment.h"
#include "../parts.h"
#include "../vmath_exp.h"
#include "../vmath_log.h"

namespace lt {
namespace {

constexpr double kNone = -__builtin_inf();

// Functions of vectors that are not inlined, since they are long.
template <class T>
__attribute__((noinline)) Vec<T> exp_of(Vec<T> x) {
  return vexp(x);
}

// The logarithms of sums of numbers with these logarithms.
__attribute__((noinline)) Doubles together(Doubles a, Doubles b, Doubles c) {
  const Doubles most = max(Doubles(-__DBL_MAX__), max(max(a, b), c));
  return most +
         vlog(exp_of<double>(a - most) + exp_of<double>(b - most) + exp_of<double>(c - most));
}

// The states of a batch element, with logarithms for each: of the summed probability of the
// alignments that lead to it, of its label at a step, and of 1 if a transition from two states
// before is allowed, past a blank between different labels, or else of 0.
struct States {
  const lt_label_alignment *g;
  const int64_t *labels;
  int64_t n;
  double *sums, *logs, *skips, *shares;

  __attribute__((noinline)) explicit States(const lt_label_alignment *g)
      : g(g), labels((const int64_t *)g->labels), n(2 * g->count + 1) {
    const int64_t part = g->width + LT_ALIGNMENT_ROOM;
    double *const room = (double *)g->room;
    for (int64_t i = 0; i < 3 * part; i++) room[i] = kNone;
    sums = room + 2, logs = room + part, skips = logs + part, shares = skips + part;
    for (int64_t i = 1; i < g->count; i++)
      if (labels[i] != labels[i - 1]) skips[2 * i + 1] = 0;
  }
  int64_t label(int64_t s) const { return s % 2 ? labels[s / 2] : g->blank; }
  double *forward(int64_t t) const { return (double *)g->forward + t * g->width; }
  int left(int64_t s) const { return n - s < Doubles::N ? int(n - s) : Doubles::N; }

  template <class T>
  __attribute__((noinline)) void read(int64_t t) {
    const T *const row = (const T *)g->logs + t * g->step;
    for (int64_t s = 0; s < n; s++) logs[s] = double(row[label(s)]);
  }
  // The contributions to the states from s on: from states at most two before them, or after them.
  LT_INLINE Doubles before(int64_t s) const {
    return together(load(sums + s), load(sums + s - 1), load(sums + s - 2) + load(skips + s));
  }
  LT_INLINE Doubles behind(int64_t s) const {
    return together(load(sums + s), load(sums + s + 1), load(sums + s + 2) + load(skips + s + 2));
  }
  // A step, with vectors of states in such an order that none is read after it is written.
  __attribute__((noinline)) void go(int64_t t) {
    for (int64_t s = (n - 1) / Doubles::N * Doubles::N; s >= 0; s -= Doubles::N) {
      const Doubles now = before(s) + load(logs + s);
      store(sums + s, now);
      store_part(forward(t) + s, now, left(s));
    }
  }
  // A step of the backward recursion; it also accumulates the probabilities of all alignments
  // through each state.
  __attribute__((noinline)) void go_back(int64_t t) {
    for (int64_t s = 0; s < n; s += Doubles::N) {
      const Doubles log = load(logs + s), now = behind(s) + log;
      store(sums + s, now);
      const Doubles ways = load_part(forward(t) + s, left(s)) + now;
      store(shares + s, exp_of<double>(ways + g->loss - log));
    }
  }
};

struct Align {
  template <class T>
  static void sum(lt_label_alignment *g, States &x) {
    x.sums[0] = 0;
    for (int64_t t = 0; t < g->steps; t++) {
      x.read<T>(t);
      x.go(t);
    }
    double end[Doubles::N];
    store(end, x.before(x.n - 1));
    g->loss = 0 - end[0];
  }

  // A class's probability minus the share of alignments through its states; NaN if all alignments
  // have probability 0.
  template <class T>
  static void gradient(const lt_label_alignment *g, States &x) {
    using V = Vec<T>;
    double *const of = x.shares + g->width + LT_ALIGNMENT_ROOM;
    memset((void *)of, 0, size_t(g->classes) * sizeof(double));
    x.sums[x.n - 1] = 0;
    for (int64_t t = g->steps - 1; t >= 0; t--) {
      x.read<T>(t);
      x.go_back(t);
      const T *const from = (const T *)g->logs + t * g->step;
      T *const to = (T *)g->gradient + t * g->step;
      for (int64_t c = 0; c < g->classes; c += V::N) {
        const int n = g->classes - c < V::N ? int(g->classes - c) : V::N;
        const V log = load_part(from + c, n);
        const V less =
            select(V(T(g->loss)) - log < V(Format<T>::infinity), V(T(0)), V(Format<T>::nan));
        store_part(to + c, exp_of<T>(log) + less, n);
      }
      for (int64_t s = 0; s < x.n; s++) of[x.label(s)] += x.shares[s];
      for (int64_t s = 0; s < x.n; s++) {
        const int64_t c = x.label(s);
        to[c] -= T(of[c]);
        of[c] = 0;
      }
      for (int64_t c = 0; c < g->classes; c++) to[c] *= T(g->given);
    }
  }

  template <class T>
  static void row(lt_label_alignment *g) {
    States x(g);
    if (g->gradient)
      gradient<T>(g, x);
    else
      sum<T>(g, x);
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(alignment){
    {"alignment", "", LT_FLOATING(Align)},
    LT_END,
};
