// Sine, cosine, tangent.
#include "../native.h"
#include "../vmath_trig.h"

namespace lt {
namespace {

LT_FUNCTION(Sin, vsin(a), csin(a))
LT_FUNCTION(Cos, vcos(a), ccos(a))
LT_FUNCTION(Tan, vtan(a), ctan(a))

}  // namespace
}  // namespace lt

LT_UNIT(trigonometric){
    {"sin", "T>T", LT_FLOATING_COMPLEX(Sin)},
    {"cos", "T>T", LT_FLOATING_COMPLEX(Cos)},
    {"tan", "T>T", LT_FLOATING_COMPLEX(Tan)},
    LT_END,
};
