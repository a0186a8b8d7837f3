// Common behavior of all calls of the simulated driver and libraries: calls are counted, can be
// made to fail, and fail if the device is lost.
#ifndef LIBTENSOR_SIM_CALLS_H
#define LIBTENSOR_SIM_CALLS_H

#include <cuda.h>

#include <mutex>

#include "machine.h"

namespace sim {

extern std::mutex lock;           // is held during a call
extern thread_local int current;  // the device whose context is set; -1 for none

// The error that a call of a function is to return; calls that release resources work on a lost
// device, too.
int entered(const char *name, bool frees);

// The stream of a handle; nullptr for none.
Stream *stream_of(CUstream s);

CUresult enqueue(CUstream handle, std::function<void()> run, std::function<bool()> ready = nullptr);

}  // namespace sim
#endif
