"""Operators on lists of tensors: add(inputs, other) returns a tuple of add(input, other) for each input.

Functions whose name ends with _ write to the tensors of `inputs` and return `inputs`. Lists must not be empty, and all lists of a call must
have the same length; a scalar applies to every tensor. All tensors are checked before the first write.
"""

from ._data.lists import public

__all__ = [
    *(
        "abs",
        "acos",
        "add",
        "addcdiv",
        "addcmul",
        "asin",
        "atan",
        "ceil",
        "clamp_max",
        "clamp_min",
        "cos",
        "cosh",
        "div",
        "erf",
        "erfc",
        "exp",
    ),
    *("expm1", "floor", "frac", "lerp", "lgamma", "log", "log10", "log1p", "log2", "maximum", "minimum", "mul", "neg", "pow", "reciprocal"),
    *("round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "sub", "tan", "tanh", "trunc"),
]
__all__ += [name + "_" for name in __all__] + ["clone", "copy_", "max", "mm", "norm", "zero_"]  # noqa: F822


def make_function(name):
    """Returns the function of a name, over the operator _foreach_NAME."""
    function = public("foreach_" + name)
    function.__name__ = function.__qualname__ = name
    return function


def __getattr__(name):
    if name in __all__:
        return globals().setdefault(name, make_function(name))
    raise AttributeError(f"module 'libtensor.foreach' has no attribute '{name}'")


def __dir__():
    return __all__
