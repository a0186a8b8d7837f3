// Alignments of labels with steps, a batch element for each thread, by the functions of
// units/alignment.h, whose names the macro uses.
#ifndef LIBTENSOR_CUDA_ALIGNING_H
#define LIBTENSOR_CUDA_ALIGNING_H

#include "numbers.h"
#include "../../engine/kernel/alignment.h"

namespace lt {
namespace {

// The arguments of a launch. Of the batch elements, `elements` has the
// number of steps and of labels and the first label, and losses and given one number each. `of` has
// the arguments that all share: logs, forward and gradient of the first one, and room for each.
struct Aligning {
  lt_label_alignment of;
  uint64_t elements, losses, given;
  int64_t count, steps, room, finite;
};

struct AlignedElement {
  int64_t steps, labels, start;
};

// n elements at an address as a kernel can access them; 0 for none.
LT_INLINE uintptr_t aligned(uint64_t at, int64_t n) {
  return at && n ? (uintptr_t)LT_PLACE(at, n, true) : 0;
}

}  // namespace
}  // namespace lt

#define LT_ALIGN(NAME, T)                                                                     \
  LT_KERNEL(NAME, lt::Aligning) {                                                             \
    for (int64_t i = LT_THREAD; i < args.count; i += LT_THREADS) {                            \
      const auto e = *(const lt::AlignedElement *)LT_PLACE(                                   \
          args.elements + i * sizeof(lt::AlignedElement), sizeof(lt::AlignedElement), false); \
      lt_label_alignment of = args.of;                                                        \
      const int64_t row = of.classes, all = (args.steps - 1) * of.step + row;                 \
      of.steps = e.steps, of.count = e.labels;                                                \
      of.logs = lt::aligned(of.logs + i * row * sizeof(T), all * sizeof(T));                  \
      of.labels = lt::aligned(of.labels + e.start * 8, e.labels * 8);                         \
      const int64_t states = args.steps * of.width * 8;                                       \
      of.forward = lt::aligned(of.forward + i * states, states);                              \
      of.room = lt::aligned(of.room + i * args.room, args.room);                              \
      double *loss = (double *)LT_PLACE(args.losses + i * 8, 8, true);                        \
      if (!of.gradient) {                                                                     \
        lt::Align::row<T>(&of);                                                               \
        *loss = of.loss;                                                                      \
        continue;                                                                             \
      }                                                                                       \
      of.gradient = lt::aligned(of.gradient + i * row * sizeof(T), all * sizeof(T));          \
      of.loss = *loss, of.given = *(const double *)LT_PLACE(args.given + i * 8, 8, false);    \
      if (args.finite && of.loss == __builtin_inf()) of.steps = 0;                            \
      for (int64_t t = of.steps; t < args.steps; t++) /* which have no part in the loss */    \
        for (int64_t c = 0; c < row; c++) ((T *)of.gradient)[t * of.step + c] = T(0);         \
      lt::Align::row<T>(&of);                                                                 \
    }                                                                                         \
  }

#endif
