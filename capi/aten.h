// The table of ATen's names, generated from engine/schema/aten.yaml.
#ifndef LIBTENSOR_CAPI_ATEN_H
#define LIBTENSOR_CAPI_ATEN_H

#include "call.h"

// An overload. Names are sorted by the part before the dot; overloads of one name are in the order
// in which a call tries them.
typedef struct lt_aten_row {
  unsigned name : 30;  // place in lt_aten_text, of the name with its overload
  unsigned form : 2;
  uint32_t text;   // place of the schema without the name, after which \1 begins the map of names;
                   // if the schema is derived, of the names of the tensors that are written
  int16_t from;    // the row from whose schema this one's is derived, -1 for none
  int16_t target;  // LT_OP_ of the operator, -1 - LT_COMPOSITE_ of a function in C
} lt_aten_row;

extern const lt_aten_row lt_aten_rows[];
extern const int lt_aten_count;
// In schemas, a byte from 0x80 on represents the item of lt_aten_words with its number.
extern const char lt_aten_text[];
extern const char *const lt_aten_words[];
extern const lt_composite lt_composites[];

// Returns the name of a row with its namespace, which the caller frees; NULL if there is no memory.
char *lt_qualify(unsigned name);

#endif
