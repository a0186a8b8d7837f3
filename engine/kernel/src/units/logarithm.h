// Logarithms.
#include "../native.h"
// Comes after native.h, which a device has in another form.
#include "../compound.h"
#include "../vmath_log.h"

namespace lt {
namespace {

LT_FUNCTION(Log, vlog(a), clog(a))
LT_FUNCTION(Log2, vlog2(a), scaled(clog(a), 1.44269504088896340736))
LT_FUNCTION(Log10, vlog10(a), scaled(clog(a), 0.43429448190325182765))
LT_FUNCTION(Log1p, vlog1p(a), LT_COMPOUND(log1p_of))

}  // namespace
}  // namespace lt

LT_UNIT(logarithm){
    {"log", "T>T", LT_FLOATING_COMPLEX(Log)},
    {"log2", "T>T", LT_FLOATING_COMPLEX(Log2)},
    {"log10", "T>T", LT_FLOATING_COMPLEX(Log10)},
    {"log1p", "T>T", LT_FLOATING_COMPLEX(Log1p)},
    LT_END,
};
