// The normal distribution.
#include "../vmath_normal.h"

#include "../chunks.h"

namespace lt {
namespace {

LT_VECTOR(Erfcx, verfcx(a))
LT_VECTOR(Ndtr, vndtr(a))
LT_VECTOR(LogNdtr, vlog_ndtr(a))
LT_VECTOR(Ndtri, vndtri(a))

}  // namespace
}  // namespace lt

LT_UNIT(normal){
    {"erfcx", "T>T", LT_FLOATING(Erfcx)},
    {"ndtr", "T>T", LT_FLOATING(Ndtr)},
    {"log_ndtr", "T>T", LT_FLOATING(LogNdtr)},
    {"ndtri", "T>T", LT_FLOATING(Ndtri)},
    LT_END,
};
