// Truth values of elements.
#include "../rows.h"

namespace lt {
namespace {

template <class T>
LT_INLINE bool truth(T a) {
  if constexpr (kind_of<T> == kComplex)
    return a.re != 0 || a.im != 0;
  else
    return a != 0;
}

LT_BINARY_TO(LogicalAnd, Bool, bool(truth(a) & truth(b)))
LT_BINARY_TO(LogicalOr, Bool, bool(truth(a) | truth(b)))
LT_BINARY_TO(LogicalXor, Bool, truth(a) != truth(b))
LT_UNARY_TO(LogicalNot, Bool, !truth(a))

}  // namespace
}  // namespace lt

LT_UNIT(logical){
    {"logical_and", "b>TT", LT_MODULAR_ALL(LogicalAnd)},
    {"logical_or", "b>TT", LT_MODULAR_ALL(LogicalOr)},
    {"logical_xor", "b>TT", LT_MODULAR_ALL(LogicalXor)},
    {"logical_not", "b>T", LT_MODULAR_ALL(LogicalNot)},
    LT_END,
};
