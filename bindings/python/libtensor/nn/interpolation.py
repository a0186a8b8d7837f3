"""Interpolation with sizes or scale factors, given as scalars or lists."""

from .._base.direct import open_to_overrides
from .._core.tensor import Tensor
from .._gen import gen_nn_functional as _functions

__all__ = []


def _factors(value):
    """Returns a scale factor or list of scale factors as a list."""
    return (value,) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _given(name, input, **lists):
    """Returns sizes and scale factors as lists: a scalar applies to all dimensions, a list of one item does not."""
    for argument, value in lists.items():
        if isinstance(value, (list, tuple)) and len(value) == 1 and isinstance(input, Tensor) and input.dim() > 3:
            raise ValueError(
                f"{name}: {argument} must be a number, or a list of {input.dim() - 2} numbers for input of sizes "
                f"{list(input.shape)}, but got {value!r}"
            )
    return map(_factors, lists.values())


def _scaled(name):
    """Wraps the function `name`, whose third argument is a scale factor or a list of scale factors."""
    inner = getattr(_functions, name)
    if name in ("upsample_nearest", "upsample_bilinear"):

        def function(input, size=None, scale_factor=None):
            return inner(input, *_given(name, input, size=size, scale_factor=scale_factor))

    elif name == "upsample":

        def function(  # type: ignore[misc]
            input, size=None, scale_factor=None, mode="nearest", align_corners=None
        ):
            return inner(input, *_given(name, input, size=size, scale_factor=scale_factor), mode, align_corners)

    else:

        def function(  # type: ignore[misc]
            input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False
        ):
            return inner(
                input, *_given(name, input, size=size, scale_factor=scale_factor), mode, align_corners, recompute_scale_factor, antialias
            )

    function.__name__ = function.__qualname__ = name
    function.__module__ = "libtensor.nn.functional"
    function.__doc__ = inner.__doc__
    globals()[name] = open_to_overrides(function)
    __all__.append(name)


for _name in ("interpolate", "upsample", "upsample_nearest", "upsample_bilinear"):
    _scaled(_name)
