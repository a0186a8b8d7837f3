"""Functions of each element."""

from .._core.tensor import Tensor, checked
from .._data import compose as _compose
from .._gen import gen_functions as _f
from .dtypes import promoted

ONE = (
    *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "conj", "cos", "cosh", "exp", "expm1", "floor", "imag", "isfinite"),
    *("isinf", "isnan", "log", "log1p", "log2", "log10", "logical_not", "reciprocal", "round", "signbit", "sin", "sinh", "sqrt", "square"),
    *("tan", "tanh", "trunc"),
    *("bitwise_invert", "negative", "sign"),
)
TWO = (
    *("add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "copysign", "divide"),
    *("floor_divide", "greater", "greater_equal", "hypot", "less", "less_equal", "logaddexp", "logical_and", "logical_or", "logical_xor"),
    *("maximum", "minimum", "multiply", "nextafter", "not_equal", "pow", "remainder", "subtract"),
    "equal",
)
RENAMED = {"bitwise_invert": "bitwise_not", "negative": "neg", "sign": "sgn", "equal": "eq"}


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
        if isinstance(x1, Tensor) and isinstance(x2, Tensor) and x1.dtype is x2.dtype:
            return function(x1, x2)
        return function(*promoted(name, x1, x2))

    return described(made, name, function)


globals().update({name: of_one(name, getattr(_f, RENAMED.get(name, name))) for name in ONE})
globals().update({name: of_two(name, getattr(_f, RENAMED.get(name, name))) for name in TWO})


def clip(x, /, min=None, max=None):
    """The elements, or the nearest bound where they are beyond one, in x's dtype. NaN in any of them gives NaN."""
    made = checked(x, "clip", "x")
    for bound, nearer in ((min, _f.maximum), (max, _f.minimum)):
        if bound is not None:
            made = nearer(*promoted("clip", made, bound))
    return made.clone() if made is x else made.to(x.dtype)


def positive(x, /):
    """The elements themselves."""
    return _compose.positive(x)


def real(x, /):
    """The real parts; x itself where it has no others."""
    return checked(x, "real", "x").real


__all__ = [*ONE, *TWO, "clip", "positive", "real"]
