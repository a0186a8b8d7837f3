// Updates of parameters by their gradients, an element for each thread, by the functions of
// units/update.h, whose names the macro uses.
#ifndef LIBTENSOR_CUDA_UPDATING_H
#define LIBTENSOR_CUDA_UPDATING_H

#include "numbers.h"

#ifdef __CUDACC_RTC__
#define __typeof__(...) decltype(__VA_ARGS__)  // other compilers have it
#endif

#define LT_UPDATE(NAME, T)                                                             \
  LT_KERNEL(NAME, lt_parameter_update) {                                               \
    using S = lt::Wider<T>;                                                            \
    for (int64_t i = LT_THREAD; i < args.n; i += LT_THREADS) {                         \
      T *at[5];                                                                        \
      S values[5], *wide[5];                                                           \
      for (int k = 0; k < 5; k++) {                                                    \
        const uint64_t from = args.tensors[k];                                         \
        at[k] = from ? (T *)LT_PLACE(from + i * sizeof(T), sizeof(T), true) : nullptr; \
        wide[k] = at[k] ? values + k : nullptr;                                        \
        if (at[k]) values[k] = lt::load_value(*at[k]);                                 \
      }                                                                                \
      lt::update<S>(&args, wide[0], wide[1], wide + 2, 1);                             \
      for (int k = 0; k < 5; k++)                                                      \
        if (at[k] && (k != 1 || args.scale != 1)) *at[k] = lt::convert<T>(values[k]);  \
    }                                                                                  \
  }

#endif
