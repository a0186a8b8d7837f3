"""Interpolation by factors, of which one may stand alone."""

from .._gen import gen_nn_functional as _functions

__all__ = []


def _factors(value):
    """The list of a number that stands alone."""
    return (value,) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _scaled(name):
    """The function `name`, whose third argument is a factor, or several."""
    inner = getattr(_functions, name)
    if name in ("upsample_nearest", "upsample_bilinear"):

        def function(input, size=None, scale_factor=None):
            return inner(input, size, _factors(scale_factor))

    elif name == "upsample":

        def function(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
            return inner(input, size, _factors(scale_factor), mode, align_corners)

    else:

        def function(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
            return inner(input, size, _factors(scale_factor), mode, align_corners, recompute_scale_factor, antialias)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "libtensor.nn.functional"
    function.__doc__ = inner.__doc__
    globals()[name] = function
    __all__.append(name)


for _name in ("interpolate", "upsample", "upsample_nearest", "upsample_bilinear"):
    _scaled(_name)
