// What the simulated libraries share: calls are counted and can be made to fail, as those of the
// driver.
#ifndef LIBTENSOR_SIM_LIBRARY_H
#define LIBTENSOR_SIM_LIBRARY_H

#include "calls.h"
#include "thread.h"

namespace sim {

// The status that a call of a function is to return, of which failed means that the device is lost.
inline int status_of(const char *name, bool frees, int failed) {
  const int code = entered(name, frees);
  return code >= 700 ? failed : code;
}

// Elements of the device's memory that a library reads or writes. They are all of one allocation.
template <class T>
T *elements(uint64_t at, int64_t n, bool writes) {
  return (T *)lt_sim_place(at, n * (int64_t)sizeof(T), writes);
}

}  // namespace sim
#endif
