#include "library.h"

#include <cuda.h>

int lt_driver_version(void) {
  int version = 0;
  cuDriverGetVersion(&version);
  return version;
}
