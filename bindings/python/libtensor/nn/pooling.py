"""Pooling functions that give one result or two, as an argument says, or take None for a size."""

from .._core.tensor import Tensor
from .._gen import gen_nn_functional as _functions
from .interpolation import _factors

__all__ = []


def _sized(output_size, input):
    """`output_size` with the sizes of `input` for None."""
    if isinstance(input, Tensor) and isinstance(output_size, (tuple, list)) and None in output_size and len(output_size) < input.dim():
        sizes = input.shape[-len(output_size) :]
        return [size if wanted is None else wanted for wanted, size in zip(output_size, sizes, strict=True)]
    return output_size


def _windowed(name):
    """The functions `name` and `name`_with_indices of windows of a size."""
    largest, placed = getattr(_functions, name), getattr(_functions, f"{name}_with_indices")

    def plain(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        function = placed if return_indices else largest
        return function(input, kernel_size, stride, padding, dilation, ceil_mode)

    def with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return placed(input, kernel_size, stride, padding, dilation, ceil_mode)

    _publish(name, plain, with_indices, largest, placed)


def _fractional(name):
    """The functions `name` and `name`_with_indices of windows that begin at random."""
    largest, placed = getattr(_functions, name), getattr(_functions, f"{name}_with_indices")

    def plain(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        function = placed if return_indices else largest
        return function(input, kernel_size, output_size, _factors(output_ratio), _random_samples)

    def with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        return placed(input, kernel_size, output_size, _factors(output_ratio), _random_samples)

    _publish(name, plain, with_indices, largest, placed)


def _adaptive(name, placed):
    """The functions `name` and `name`_with_indices of so many windows."""

    def plain(input, output_size, return_indices=False):
        results = placed(input, _sized(output_size, input))
        return results if return_indices else results[0]

    def with_indices(input, output_size, return_indices=False):
        return placed(input, _sized(output_size, input))

    _publish(name, plain, with_indices, placed, placed)


def _averaging(name):
    """The function `name` of so many windows."""
    means = getattr(_functions, name)

    def function(input, output_size):
        return means(input, _sized(output_size, input))

    _export(name, function, means.__doc__)


def _publish(name, plain, with_indices, largest, placed):
    _export(name, plain, f"{largest.__doc__}\n    With `return_indices` there are two results, as of `{name}_with_indices`.\n    ")
    _export(f"{name}_with_indices", with_indices, placed.__doc__)


def _export(name, function, doc):
    function.__name__ = function.__qualname__ = name
    function.__module__ = "libtensor.nn.functional"
    function.__doc__ = doc
    globals()[name] = function
    __all__.append(name)


for _n in (1, 2, 3):
    _windowed(f"max_pool{_n}d")
    _placed = _functions.adaptive_max_pool1d if _n == 1 else getattr(_functions, f"adaptive_max_pool{_n}d_with_indices")
    _adaptive(f"adaptive_max_pool{_n}d", _placed)
    _averaging(f"adaptive_avg_pool{_n}d")
    if _n > 1:
        _fractional(f"fractional_max_pool{_n}d")
