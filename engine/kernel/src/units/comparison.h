// Comparisons: bool results.
#include "../rows.h"

namespace lt {
namespace {

LT_BINARY_TO(Eq, Bool, a == b)
LT_BINARY_TO(Ne, Bool, a != b)
LT_BINARY_TO(Lt, Bool, a < b)
LT_BINARY_TO(Le, Bool, a <= b)

}  // namespace
}  // namespace lt

LT_UNIT(comparison){
    {"eq", "b>TT", LT_MODULAR_ALL(Eq)},
    {"ne", "b>TT", LT_MODULAR_ALL(Ne)},
    {"lt", "b>TT", LT_ORDERED(Lt)},
    {"le", "b>TT", LT_ORDERED(Le)},
    LT_END,
};
