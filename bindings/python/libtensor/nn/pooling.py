"""Pooling functions that return one or two results, depending on an argument, or accept None for a size, and functions of windows that
check lists of sizes.
"""

from .._base.direct import open_to_overrides
from .._core.tensor import Tensor
from .._gen import gen_nn_functional as _functions
from .interpolation import _factors

__all__ = []

# The documentation of adaptive max pooling without indices, by the number of dimensions.
ADAPTIVE = {
    1: """Applies 1-D adaptive max pooling to `input` of shape (N, C, L) or (C, L), with the windows of
    `adaptive_avg_pool1d`. Returns the maxima, of shape (N, C, output_size).

    Dtypes: integers and floats. Result: the dtype of `input`.

    >>> torch.nn.functional.adaptive_max_pool1d(torch.tensor([[1., 3., 2., 4.]]), 2)
    tensor([[3., 4.]])
    """,
    2: """Applies 2-D adaptive max pooling to images `input` of shape (N, C, H, W) or (C, H, W), with the
    windows of `adaptive_avg_pool2d`. Returns the maxima, of shape (N, C, H_out, W_out); `output_size`
    is one number for both, or (H_out, W_out).

    Dtypes: integers and floats. Result: the dtype of `input`.

    >>> torch.nn.functional.adaptive_max_pool2d(torch.arange(16.).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """,
    3: """Applies 3-D adaptive max pooling to volumes `input` of shape (N, C, D, H, W) or (C, D, H, W),
    with the windows of `adaptive_avg_pool3d`. Returns the maxima, of shape (N, C, D_out, H_out, W_out);
    `output_size` is one number for all, or (D_out, H_out, W_out).

    Dtypes: integers and floats. Result: the dtype of `input`.

    >>> torch.nn.functional.adaptive_max_pool3d(torch.arange(8.).reshape(1, 2, 2, 2), 1)
    tensor([[[[7.]]]])
    """,
}


def _sized(name, n, output_size, input):
    """`output_size` with the sizes of `input` for None."""
    if isinstance(input, Tensor) and isinstance(output_size, (tuple, list)) and len(output_size) >= input.dim() > 0:
        raise ValueError(f"{name}: Input dimension should be at least {len(output_size) + 1}, but is {input.dim()}")
    if n > 1:
        _checked(name, n, output_size=output_size)
    if isinstance(input, Tensor) and isinstance(output_size, (tuple, list)) and None in output_size and len(output_size) < input.dim():
        sizes = input.shape[-len(output_size) :]
        return [size if wanted is None else wanted for wanted, size in zip(output_size, sizes, strict=True)]
    return output_size


def _checked(name, n, error=RuntimeError, **sizes):
    """Raises an error for lists whose length is not the number of dimensions."""
    for argument, size in sizes.items():
        if isinstance(size, (tuple, list)) and len(size) != n:
            raise error(f"{name}: {argument} must either be a single Int or tuple of {n} Ints, but is {tuple(size)}")


def _windowed(name):
    """The functions `name` and `name`_with_indices of windows of a size."""
    largest, placed = getattr(_functions, name), getattr(_functions, f"{name}_with_indices")

    def plain(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        function = placed if return_indices else largest
        return function(input, kernel_size, stride, padding, dilation, ceil_mode)

    def with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return placed(input, kernel_size, stride, padding, dilation, ceil_mode)

    _publish(name, plain, with_indices, largest.__doc__, placed.__doc__)


def _fractional(name, n):
    """Returns the functions `name` and `name`_with_indices of fractional pooling, whose windows begin at random."""
    largest, placed = getattr(_functions, name), getattr(_functions, f"{name}_with_indices")

    def plain(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        _checked(name, n, kernel_size=kernel_size, output_size=output_size)
        function = placed if return_indices else largest
        return function(input, kernel_size, output_size, _factors(output_ratio), _random_samples)

    def with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        _checked(name, n, kernel_size=kernel_size, output_size=output_size)
        return placed(input, kernel_size, output_size, _factors(output_ratio), _random_samples)

    _publish(name, plain, with_indices, largest.__doc__, placed.__doc__)


def _adaptive(name, n, placed):
    """The functions `name` and `name`_with_indices of so many windows."""

    def plain(input, output_size, return_indices=False):
        results = placed(input, _sized(name, n, output_size, input))
        return results if return_indices else results[0]

    def with_indices(input, output_size, return_indices=False):
        return placed(input, _sized(name, n, output_size, input))

    _publish(name, plain, with_indices, ADAPTIVE[n], placed.__doc__)


def _averaging(name, n):
    """The function `name` of so many windows."""
    means = getattr(_functions, name)

    def function(input, output_size):
        return means(input, _sized(name, n, output_size, input))

    _export(name, function, means.__doc__)


def _columns():
    """The functions `unfold` and `fold`, whose lists of sizes have exactly two items."""

    def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
        _checked("unfold", 2, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
        return _functions.unfold(input, kernel_size, dilation, padding, stride)

    def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
        _checked("fold", 2, output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
        return _functions.fold(input, output_size, kernel_size, dilation, padding, stride)

    for function in (unfold, fold):
        _export(function.__name__, function, getattr(_functions, function.__name__).__doc__)


def _power(name, n):
    """The power-average pooling function `name`."""
    powers = getattr(_functions, name)

    def function(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        _checked(name, n, ValueError, kernel_size=kernel_size)
        return powers(input, norm_type, kernel_size, stride, ceil_mode)

    _export(name, function, powers.__doc__)


def _publish(name, plain, with_indices, doc, doc_with_indices):
    _export(name, plain, f"{doc}\n    With `return_indices`, returns (output, indices), as `{name}_with_indices` does.\n    ")
    _export(f"{name}_with_indices", with_indices, f"{doc_with_indices}\n    `return_indices` has no effect.\n    ")


def _export(name, function, doc):
    function.__name__ = function.__qualname__ = name
    function.__module__ = "libtensor.nn.functional"
    function.__doc__ = doc
    globals()[name] = open_to_overrides(function)
    __all__.append(name)


for _n in (1, 2, 3):
    _windowed(f"max_pool{_n}d")
    _placed = _functions.adaptive_max_pool1d if _n == 1 else getattr(_functions, f"adaptive_max_pool{_n}d_with_indices")
    _adaptive(f"adaptive_max_pool{_n}d", _n, _placed)
    _averaging(f"adaptive_avg_pool{_n}d", _n)
    if _n > 1:
        _fractional(f"fractional_max_pool{_n}d", _n)
        _power(f"lp_pool{_n}d", _n)
_columns()
