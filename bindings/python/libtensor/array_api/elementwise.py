"""Functions of each element."""

from .._core.tensor import Tensor, checked
from .._data import compose as _compose
from .._gen import gen_functions as _f
from .dtypes import promoted

ONE = (
    *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "conj", "cos", "cosh", "exp", "floor", "imag", "isfinite"),
    *("isinf", "isnan", "log", "log1p", "log2", "log10", "logical_not", "reciprocal", "signbit", "sin", "sinh", "sqrt", "square"),
    *("tan", "tanh", "trunc", "bitwise_invert", "negative"),
)
TWO = (
    *("add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "copysign", "divide"),
    *("greater", "greater_equal", "hypot", "less", "less_equal", "logaddexp", "logical_and", "logical_or", "logical_xor"),
    *("maximum", "minimum", "multiply", "nextafter", "not_equal", "pow", "subtract", "equal"),
)
RENAMED = {"bitwise_invert": "bitwise_not", "negative": "neg", "equal": "eq"}


def described(made, name, function):
    """A function under its name here, with the first lines of the documentation of the one that it calls."""
    made.__name__ = made.__qualname__ = name
    made.__doc__ = (function.__doc__ or "").partition("\n\n")[0]
    return made


def of_one(name, function):
    def made(x, /):
        return function(checked(x, name, "x"))

    return described(made, name, function)


def of_two(name, function):
    def made(x1, x2, /):
        return function(*promoted(name, x1, x2))

    return described(made, name, function)


globals().update({name: of_one(name, getattr(_f, RENAMED.get(name, name))) for name in ONE})
globals().update({name: of_two(name, getattr(_f, RENAMED.get(name, name))) for name in TWO})


def expm1(x, /):
    """exp(x) - 1, with the digits that the difference loses beside 0."""
    made = _f.expm1(checked(x, "expm1", "x"))
    return made + 0.0 if x.dtype.is_complex else made  # 0 + 0j of -0 + 0j


def floor_divide(x1, x2, /):
    """The largest integers up to the quotients. Those with an infinity are the quotients themselves: inf of inf // 2, -0 of 2 // -inf."""
    x1, x2 = promoted("floor_divide", x1, x2)
    made = _f.floor_divide(x1, x2)
    return _f.where(_f.isfinite(x1) & _f.isfinite(x2), made, x1 / x2) if made.dtype.is_floating_point else made


def remainder(x1, x2, /):
    """What division leaves, with the sign of x2, a zero too."""
    x1, x2 = promoted("remainder", x1, x2)
    made = _f.remainder(x1, x2)
    return _f.copysign(made, x2) if made.dtype.is_floating_point else made


def round(x, /):
    """The nearest integers, of two the even one; of complex numbers both parts."""
    if checked(x, "round", "x").dtype.is_complex:
        return _f.view_as_complex(_f.round(_f.view_as_real(x)))
    return _f.round(x)


def sign(x, /):
    """-1, 0 or 1, of complex numbers x / abs(x), of NaN NaN."""
    made = _f.sgn(checked(x, "sign", "x"))
    return _f.where(_f.isnan(x), x, made) if made.dtype.is_floating_point else made


def clip(x, /, min=None, max=None):
    """The elements, or the nearest bound where they are beyond one, in x's dtype. NaN in any of them gives NaN."""
    made = checked(x, "clip", "x").clone()
    for name, bound, nearer in (("min", min, _f.maximum), ("max", max, _f.minimum)):
        if isinstance(bound, Tensor):
            made = nearer(*promoted("clip", made, bound))
        elif bound is not None:  # a number that the dtype may not hold, which bounds nothing then
            made = _f.clamp(made, **{name: bound})
    return made.to(x.dtype)


def positive(x, /):
    """The elements themselves."""
    return _compose.positive(x)


def real(x, /):
    """The real parts; x itself where it has no others."""
    return checked(x, "real", "x").real


__all__ = [*ONE, *TWO, "clip", "expm1", "floor_divide", "positive", "real", "remainder", "round", "sign"]
