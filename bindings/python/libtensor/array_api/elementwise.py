"""Elementwise functions."""

from .._base import dtypes as _dtypes
from .._core.tensor import Tensor, checked
from .._data import compose as _compose
from .._gen import gen_functions as _f
from .dtypes import promoted

ONE = (
    *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "conj", "cos", "cosh", "exp", "floor", "imag", "isfinite"),
    *("isinf", "isnan", "log", "log1p", "log2", "log10", "logical_not", "reciprocal", "signbit", "sin", "sinh", "sqrt", "square"),
    *("tan", "trunc", "bitwise_invert", "negative"),
)
TWO = {
    "add": "x1 + x2",
    "atan2": "The angle of the point (x2, x1), in radians",
    "bitwise_and": "x1 & x2, of bool the logical one",
    "bitwise_left_shift": "x1 << x2; bits that leave are lost",
    "bitwise_or": "x1 | x2, of bool the logical one",
    "bitwise_right_shift": "x1 >> x2; the sign is copied in",
    "bitwise_xor": "x1 ^ x2, of bool the logical one",
    "copysign": "The magnitude of x1 with the sign of x2",
    "divide": "x1 / x2; integers divided are floats of the default dtype",
    "equal": "x1 == x2, as bool",
    "greater": "x1 > x2, as bool",
    "greater_equal": "x1 >= x2, as bool",
    "hypot": "sqrt(x1 ** 2 + x2 ** 2) without overflow of the squares",
    "less": "x1 < x2, as bool",
    "less_equal": "x1 <= x2, as bool",
    "logaddexp": "log(exp(x1) + exp(x2)) without overflow",
    "logical_and": "Whether x1 and x2 are both true, as bool",
    "logical_or": "Whether x1 or x2 is true, as bool",
    "logical_xor": "Whether one of x1 and x2 is true, and the other is not, as bool",
    "maximum": "The larger of x1 and x2; NaN where one is",
    "minimum": "The smaller of x1 and x2; NaN where one is",
    "multiply": "x1 * x2",
    "nextafter": "The next number of the dtype after x1 in the direction of x2",
    "not_equal": "x1 != x2, as bool",
    "pow": "x1 ** x2; integers wrap around",
    "subtract": "x1 - x2",
}
RENAMED = {"bitwise_invert": "bitwise_not", "conj": "conj_physical", "negative": "neg", "equal": "eq"}


def operator(name):
    return getattr(_f, RENAMED.get(name, name))


def described(made, name, text):
    made.__name__ = made.__qualname__ = name
    made.__doc__ = text
    return made


def summary(function):
    """Returns the first lines of an operator's documentation, with the standard's argument names."""
    return (function.__doc__ or "").partition("\n\n")[0].replace("`input`", "x").replace("`dim`", "`axis`")


def of_one(name, function):
    def made(x, /):
        return function(checked(x, name, "x"))

    return described(made, name, summary(function))


def of_two(name, function, text):
    def made(x1, x2, /):
        return function(*promoted(name, x1, x2))

    return described(made, name, f"{text}; element by element, in shapes that broadcast and the dtype to which they are promoted.")


globals().update({name: of_one(name, operator(name)) for name in ONE})
globals().update({name: of_two(name, operator(name), text) for name, text in TWO.items()})


def expm1(x, /):
    """Returns exp(x) - 1, accurate near 0."""
    made = _f.expm1(checked(x, "expm1", "x"))
    return made + 0.0 if x.dtype.is_complex else made  # 0 + 0j for -0 + 0j


def floor_divide(x1, x2, /):
    """Returns the quotients rounded down. For infinities, the quotients themselves: inf for inf // 2, -0 for 2 // -inf."""
    x1, x2 = promoted("floor_divide", x1, x2)
    made = _f.floor_divide(x1, x2)
    if not made.dtype.is_floating_point or made.layout is not _dtypes.strided:
        return made
    return _f.where(_f.isfinite(x1) & _f.isfinite(x2), made, x1 / x2)


def remainder(x1, x2, /):
    """Returns the remainders of division, with the sign of x2, also for zero."""
    x1, x2 = promoted("remainder", x1, x2)
    made = _f.remainder(x1, x2)
    if not made.dtype.is_floating_point or made.layout is not _dtypes.strided:
        return made
    # Zeros with a sign, with the derivative of `made`: copysign has no derivative at 0.
    zero = _f.where(_f.signbit(x2), -(made - made - made), made + 0.0)
    return _f.where(made == 0, zero, made)


def round(x, /):
    """Rounds to the nearest integers, halves to even; of complex numbers both parts."""
    if checked(x, "round", "x").dtype.is_complex:
        return _f.view_as_complex(_f.round(_f.view_as_real(x)))
    return _f.round(x)


def sign(x, /):
    """Returns -1, 0 or 1; x / abs(x) for complex numbers, NaN for NaN."""
    made = _f.sgn(checked(x, "sign", "x"))
    return _f.where(_f.isnan(x), x, made) if made.dtype.is_floating_point else made


def tanh(x, /):
    """Returns the hyperbolic tangent; for an infinite real part and a finite imaginary part, 1 or -1 and a signed zero."""
    made = _f.tanh(checked(x, "tanh", "x"))
    if not x.dtype.is_complex:
        return made
    limit = _f.complex(made.real, _f.copysign(_f.zeros_like(x.imag), x.imag))
    return _f.where(_f.isinf(x.real) & _f.isfinite(x.imag), limit, made)


def clip(x, /, min=None, max=None):
    """Returns the elements limited to the bounds, in x's dtype; NaN if an operand is NaN."""
    made = checked(x, "clip", "x").clone()
    for name, bound, nearer in (("min", min, _f.maximum), ("max", max, _f.minimum)):
        if isinstance(bound, Tensor):
            made = nearer(*promoted("clip", made, bound))
        elif bound is not None:  # a bound that the dtype cannot represent, which has no effect
            made = _f.clamp(made, **{name: bound})
    return made.to(x.dtype)


def positive(x, /):
    """Returns the elements unchanged."""
    return _compose.positive(x)


def real(x, /):
    """Returns the real parts; x itself for a real dtype."""
    return checked(x, "real", "x").real


__all__ = [*ONE, *TWO, "clip", "expm1", "floor_divide", "positive", "real", "remainder", "round", "sign", "tanh"]
