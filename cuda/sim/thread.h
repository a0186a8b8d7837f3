// The interface of a kernel to the simulated device that runs it.
#ifndef LIBTENSOR_SIM_THREAD_H
#define LIBTENSOR_SIM_THREAD_H

#include <stdint.h>

// The number of the thread that runs, of all, and of those of a block.
struct lt_sim_place_in_grid {
  int64_t at, of, block;
};
extern "C" lt_sim_place_in_grid lt_sim_thread;

// The launch fails unless its blocks have this number of threads.
extern "C" void lt_sim_block(int64_t threads);

// Whether the threads of a phase run in descending order, which alternates.
extern "C" bool lt_sim_backwards();

// The launch fails as one with an illegal address.
extern "C" void lt_sim_fault();

// Memory of the simulation for n bytes at an address of the device. Where they are not all of one
// live allocation the launch fails as one on a device does, with an illegal address.
extern "C" char *lt_sim_place(uint64_t address, int64_t n, bool writes);

#endif
