// Steps of recurrences: the product of the states of some rows and a packed matrix, then the cells,
// in registers; and the backward pass.
#include "../rows.h"
// Comes after rows.h, which sets the compiler up.
#include "../../recurrence.h"
#include "../parts.h"
#include "../transpose.h"
#include "../vmath_exp.h"

namespace lt {
namespace {

// The most vectors of a packed panel, and the rows whose sums fill the registers.
constexpr int kVectors = 4, kRows = LT_VECTOR_BYTES == 64 ? 4 : 2;

// A vector of elements of a row, of which n count; nothing is at 0.
template <class T>
LT_INLINE Vec<T> read(uintptr_t all, int64_t at, int n) {
  if (!all) return T(0);
  return load_part((const T *)all + at, n);
}
template <class T>
LT_INLINE void write(uintptr_t all, int64_t at, int n, Vec<T> x) {
  store_part((T *)all + at, x, n);
}

// The sums of kR rows over a packed panel, each in the order of depth.
template <class T, int kR, int kV>
LT_INLINE void multiply(const lt_recurrence *g, int64_t row, const T *panel,
                        Vec<T> (*to)[kVectors]) {
  Vec<T> sums[kR][kV];
  for (int r = 0; r < kR; r++)
    for (int v = 0; v < kV; v++) sums[r][v] = T(0);
  const T *from = (const T *)g->from + row * g->from_row;
  for (int64_t k = 0; k < g->depth; k++, panel += kV * Vec<T>::N) {
    Vec<T> w[kV];
    for (int v = 0; v < kV; v++) w[v] = load(panel + v * Vec<T>::N);
#pragma GCC unroll 8
    for (int r = 0; r < kR; r++) {
      const Vec<T> x = from[r * g->from_row + k];
      for (int v = 0; v < kV; v++) sums[r][v] = fma(x, w[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kR; r++)
    for (int v = 0; v < kV; v++) to[r][v] = sums[r][v];
}

template <class T, int kV>
void product(const lt_recurrence *g, int64_t row, int64_t n, const T *panel,
             Vec<T> (*to)[kVectors]) {
  if (n == kRows) return multiply<T, kRows, kV>(g, row, panel, to);
  for (int64_t r = 0; r < n; r++) multiply<T, 1, kV>(g, row + r, panel, to + r);
}

// One vector of units of one row: offsets in rows of one gate, and of all.
template <class T>
struct Place {
  using V = Vec<T>;
  const lt_recurrence *g;
  int64_t at, many;
  int n;
  LT_INLINE Place(const lt_recurrence *g, int64_t row, int64_t unit, int64_t gates)
      : g(g), at(row * g->units + unit), many(row * gates * g->units + unit) {
    n = g->units - unit < V::N ? (int)(g->units - unit) : V::N;
  }
  LT_INLINE V one(uintptr_t all) const { return read<T>(all, at, n); }
  LT_INLINE V gate(uintptr_t all, int i) const { return read<T>(all, many + i * g->units, n); }
  LT_INLINE void put(uintptr_t all, V x) const { write(all, at, n, x); }
  LT_INLINE void put_gate(uintptr_t all, int i, V x) const {
    write(all, many + i * g->units, n, x);
  }
};

// Functions that are not inlined, since they are long and used often. Their error of a few units in
// the last place is below that of the sums that they are applied to.
template <class T>
__attribute__((noinline)) Vec<T> sigmoid_of(Vec<T> x) {
  return T(1) / (vexp(-x) + T(1));
}
// e / (e + 2) with e = e^2|x| - 1.
template <class T>
__attribute__((noinline)) Vec<T> tanh_of(Vec<T> x) {
  const Vec<T> m = min(Vec<T>(T(20)), abs(x)), y = m + m;
  const Integer<T> n = nearest(y * Ln2<T>::inverse);
  const Vec<T> r = fma(n.value, Vec<T>(-Ln2<T>::hi), y) + n.value * -Ln2<T>::lo, s = pow2(n);
  const Vec<T> e = fma(s, fma(r * r, exp_tail(r), r), s - T(1));
  return copysign(e / (e + T(2)), x);
}

// The forward step of a cell, for the sums of a vector of units.
template <class T>
LT_INLINE void forward(const lt_recurrence *g, int64_t row, int64_t unit, const Vec<T> *sums) {
  using V = Vec<T>;
  if (g->kind == LT_LSTM) {
    const Place<T> p(g, row, unit, 4);
    const V i = sigmoid_of<T>(sums[0] + p.gate(g->x, 0)),
            f = sigmoid_of<T>(sums[1] + p.gate(g->x, 1));
    const V n = tanh_of<T>(sums[2] + p.gate(g->x, 2)), o = sigmoid_of<T>(sums[3] + p.gate(g->x, 3));
    const V c = f * p.one(g->c) + i * n;
    if (g->gates) {
      p.put_gate(g->gates, 0, i), p.put_gate(g->gates, 1, f);
      p.put_gate(g->gates, 2, n), p.put_gate(g->gates, 3, o);
    }
    p.put(g->cell, c), p.put(g->hidden, o * tanh_of<T>(c));
  } else if (g->kind == LT_GRU) {
    const Place<T> p(g, row, unit, 3);
    const auto bias = [&](int i) { return read<T>(g->bias, i * g->units + unit, p.n); };
    const V r = sigmoid_of<T>(sums[0] + bias(0) + p.gate(g->x, 0));
    const V z = sigmoid_of<T>(sums[1] + bias(1) + p.gate(g->x, 1));
    const V own = sums[2] + bias(2), n = tanh_of<T>(p.gate(g->x, 2) + r * own);
    if (g->gates) {
      p.put_gate(g->gates, 0, r), p.put_gate(g->gates, 1, z), p.put_gate(g->gates, 2, n);
      p.put(g->cell, own);
    }
    p.put(g->hidden, n + z * (p.one(g->h) - n));
  } else {
    const Place<T> p(g, row, unit, 1);
    const V x = sums[0] + p.one(g->x);
    p.put(g->hidden, g->kind == LT_TANH ? tanh_of<T>(x) : select(x <= T(0), V(T(0)), x));
  }
}

// The backward step of a cell. A GRU's gradients are those of the last gate's state sum, then of
// all gates' sums: the first three are for the states, the last three for x.
template <class T>
LT_INLINE void backward(const lt_recurrence *g, int64_t row, int64_t unit, Vec<T> sum) {
  using V = Vec<T>;
  const int gates = g->kind == LT_LSTM ? 4 : g->kind == LT_GRU ? 3 : 1;
  const Place<T> p(g, row, unit, gates), q(g, row, unit, g->kind == LT_GRU ? 4 : gates);
  const V given = sum + p.one(g->carry) + p.one(g->given), one = T(1);
  V carry = T(0);
  if (g->kind == LT_LSTM) {
    const V i = p.gate(g->gates, 0), f = p.gate(g->gates, 1), n = p.gate(g->gates, 2);
    const V o = p.gate(g->gates, 3), t = tanh_of<T>(p.one(g->cell));
    const V c = p.one(g->carry_cell) + given * o * (one - t * t);
    q.put_gate(g->slopes, 0, c * n * i * (one - i));
    q.put_gate(g->slopes, 1, c * p.one(g->c) * f * (one - f));
    q.put_gate(g->slopes, 2, c * i * (one - n * n));
    q.put_gate(g->slopes, 3, given * t * o * (one - o));
    p.put(g->carry_cell, c * f);
  } else if (g->kind == LT_GRU) {
    const V r = p.gate(g->gates, 0), z = p.gate(g->gates, 1), n = p.gate(g->gates, 2);
    const V s = given * (one - z) * (one - n * n);
    q.put_gate(g->slopes, 0, s * r);
    q.put_gate(g->slopes, 1, s * p.one(g->cell) * r * (one - r));
    q.put_gate(g->slopes, 2, given * (p.one(g->h) - n) * z * (one - z));
    q.put_gate(g->slopes, 3, s);
    carry = given * z;
  } else if (g->kind == LT_CARRY) {
    carry = given;
  } else {
    const V y = p.one(g->hidden);
    q.put(g->slopes,
          g->kind == LT_TANH ? given * (one - y * y) : select(y <= T(0), V(T(0)), given));
  }
  p.put(g->carry, carry);
}

struct Recur {
  template <class T>
  static void row(const lt_recurrence *g) {
    constexpr int64_t N = Vec<T>::N;
    const bool gates = !g->backward && g->kind >= LT_LSTM;  // of one vector of units
    const int64_t width = gates ? N : g->vectors * N;
    const T *panel = (const T *)g->weight + g->begin * g->depth * g->vectors * N;
    for (int64_t q = g->begin; q < g->end; q++, panel += g->depth * g->vectors * N) {
      const int64_t unit = q * width;
      for (int64_t row = 0; row < g->rows; row += kRows) {
        const int64_t n = g->rows - row < kRows ? g->rows - row : kRows;
        Vec<T> sums[kRows][kVectors];
        if (g->weight && g->vectors == kVectors)
          product<T, kVectors>(g, row, n, panel, sums);
        else if (g->weight)
          product<T, kVectors - 1>(g, row, n, panel, sums);
        for (int64_t r = 0; r < n; r++)
          for (int64_t v = 0; v < (gates ? 1 : g->vectors); v++) {
            const int64_t u = unit + v * N;
            if (u >= g->units) break;
            if (!g->weight)
              for (int k = 0; k < (gates ? g->vectors : 1); k++)
                sums[r][v + k] = Place<T>(g, row + r, u, gates ? g->vectors : 1).gate(g->sums, k);
            if (g->backward)
              backward<T>(g, row + r, u, sums[r][v]);
            else
              forward<T>(g, row + r, u, sums[r] + v);
          }
      }
    }
  }
};

struct PackRecurrence {
  template <class T>
  static void row(lt_recurrence_packing *g) {
    constexpr int64_t N = Vec<T>::N;
    g->lanes = N;
    if (!g->packed) return;
    const T *matrix = (const T *)g->matrix;
    const int64_t apart = g->vectors * N;
    for (int64_t q = g->begin; q < g->end; q++) {
      T *panel = (T *)g->packed + (q * g->whole + g->first) * apart;
      for (int64_t v = 0; v < g->vectors; v++) {
        const int64_t unit = g->gate ? q * N : (q * g->vectors + v) * N;
        const T *from = matrix + v * g->gate + unit * g->unit;
        T *to = panel + v * N;
        const int64_t left = g->units - unit;
        const int n = left >= N ? N : left > 0 ? (int)left : 0;
        if (g->unit == 1) {
          for (int64_t k = 0; k < g->depth; k++)
            store(to + k * apart, load_part(from + k * g->step, n));
          continue;
        }
        if (n < N)
          for (int64_t k = 0; k < g->depth; k++) store(to + k * apart, Vec<T>(T(0)));
        find_turn(sizeof(T))((char *)to, apart * sizeof(T), (const char *)from, g->unit * sizeof(T),
                             n, g->depth);
      }
    }
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(recurrence){
    {"recurrence", "", LT_FLOATING(Recur)},
    {"recurrence_packing", "", LT_FLOATING(PackRecurrence)},
    LT_END,
};
