// Hyperbolic functions and their inverses.
#include "../native.h"
#include "../vmath_hyper.h"

namespace lt {
namespace {

LT_FUNCTION(Sinh, vsinh(a), csinh(a))
LT_FUNCTION(Cosh, vcosh(a), ccosh(a))
LT_FUNCTION(Tanh, vtanh(a), ctanh(a))
LT_FUNCTION(Asinh, vasinh(a), casinh(a))
LT_FUNCTION(Acosh, vacosh(a), cacosh(a))
LT_FUNCTION(Atanh, vatanh(a), catanh(a))

}  // namespace
}  // namespace lt

LT_UNIT(hyperbolic){
    {"sinh", "T>T", LT_FLOATING_COMPLEX(Sinh)},
    {"cosh", "T>T", LT_FLOATING_COMPLEX(Cosh)},
    {"tanh", "T>T", LT_FLOATING_COMPLEX(Tanh)},
    {"asinh", "T>T", LT_FLOATING_COMPLEX(Asinh)},
    {"acosh", "T>T", LT_FLOATING_COMPLEX(Acosh)},
    {"atanh", "T>T", LT_FLOATING_COMPLEX(Atanh)},
    LT_END,
};
