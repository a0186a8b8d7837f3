#include <stdlib.h>
#include <string.h>

#include "value.h"

extern lt_operator lt_operators[];
extern const int lt_operator_count;

static int by_name(const void *name, const void *row) {
  return strcmp(name, ((const lt_operator *)row)->name);
}

const lt_operator *tensor_operator(const char *name) {
  return bsearch(name, lt_operators, (size_t)lt_operator_count, sizeof *lt_operators, by_name);
}
