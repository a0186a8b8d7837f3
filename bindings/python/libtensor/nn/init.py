"""Initializers: functions that fill a tensor in place, without a gradient, and return it.

Random initializers take `generator`; with the same seed they draw the same numbers as PyTorch.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from .. import bool as _bool
from .._core.modes import no_grad
from .._core.tensor import Tensor
from .._data.random import Generator
from .._gen.gen_functions import empty_like, randperm, where, zeros_like
from .._gen.gen_functions import eye as _eye
from .._gen.gen_linalg import qr

__all__ = [
    *("calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal", "kaiming_normal_", "kaiming_uniform"),
    *("kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal", "orthogonal_", "sparse", "sparse_", "trunc_normal_", "uniform"),
    *("uniform_", "xavier_normal", "xavier_normal_", "xavier_uniform", "xavier_uniform_", "zeros_"),
]

_F = TypeVar("_F", bound=Callable[..., Any])

_GAINS = {"sigmoid": 1, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4, "linear": 1}
_GAINS |= {f"conv{transposed}{n}d": 1 for transposed in ("", "_transpose") for n in (1, 2, 3)}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Returns the factor for weights before a nonlinearity that preserves the variance of activations.

    1 for linear, conv1d, conv2d, conv3d, their transposed forms and sigmoid; 5/3 for tanh; sqrt(2) for relu; 3/4 for selu; sqrt(2 / (1 +
    a^2)) for leaky_relu with negative slope a = `param`, 0.01 by default. Raises ValueError for other names.

    >>> torch.nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity == "leaky_relu":
        if isinstance(param, bool) or not isinstance(param, (int, float, type(None))):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills `tensor` with numbers from the uniform distribution over [`a`, `b`)."""
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills `tensor` with numbers from the normal distribution with mean `mean` and standard deviation `std`."""
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Generator | None = None
) -> Tensor:
    """Fills `tensor` with numbers from the normal distribution with mean `mean` and standard deviation `std`, truncated to [`a`, `b`].

    Draws by rejection: normal numbers until they are in the interval; if its probability is at most 0.3, uniform numbers, which are
    accepted with a probability proportional to the density. Warns if `mean` is more than two standard deviations outside the interval.
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.", stacklevel=2
        )
    low, high = ((1.0 + math.erf((bound - mean) / std / math.sqrt(2.0))) / 2.0 for bound in (a, b))
    often = high - low > 0.3
    accepted = zeros_like(tensor, dtype=_bool)
    highest = ((min(max(mean, a), b) - mean) / std) ** 2
    while not accepted.all():
        if often:
            drawn = empty_like(tensor).normal_(mean, std, generator=generator)
            good = (drawn >= a) & (drawn <= b)
        else:
            drawn = empty_like(tensor).uniform_(a, b, generator=generator)
            chance = empty_like(tensor).uniform_(generator=generator).log()
            good = chance <= (highest - ((drawn - mean) / std) ** 2) / 2
        tensor.copy_(where(accepted, tensor, drawn))
        accepted |= good
    return tensor


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills `tensor` with `val`."""
    return tensor.fill_(val)


@no_grad()
def ones_(tensor: Tensor) -> Tensor:
    """Fills `tensor` with ones."""
    return tensor.fill_(1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """Fills `tensor` with zeros."""
    return tensor.zero_()


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Fills a matrix with the identity, so that a linear layer returns its input. Raises ValueError unless it has two dimensions."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(_eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fills the weight of a convolution with the identity at the kernel's center, for each of `groups`, so that it preserves as many input
    channels as possible.

    Raises ValueError unless `tensor` has 3, 4 or 5 dimensions and its first size is divisible by `groups`.
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = tensor.size(0) // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    tensor.zero_()
    for group in range(groups):
        for channel in range(min(per_group, tensor.size(1))):
            tensor[(group * per_group + channel, channel, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Returns fan_in, the number of inputs of an output of a layer with this weight, and fan_out, the number of outputs of an input."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    kernel = math.prod(tensor.shape[2:])
    return tensor.size(1) * kernel, tensor.size(0) * kernel


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode.lower() == "fan_in" else fan_out


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills `tensor` from the uniform distribution over [-a, a) with a = `gain` * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio,
    2010)."""
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills `tensor` from the normal distribution with standard deviation `gain` * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio,
    2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """Returns gain / sqrt(fan), None for a tensor without elements."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Generator | None = None
) -> Tensor:
    """Fills `tensor` from the uniform distribution over [-b, b) with b = gain * sqrt(3 / fan) (He et al., 2015).

    fan is that of `mode`, fan_in or fan_out; the gain is `calculate_gain(nonlinearity, a)`.
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else uniform_(tensor, -math.sqrt(3.0) * std, math.sqrt(3.0) * std, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Generator | None = None
) -> Tensor:
    """Fills `tensor` from the normal distribution with standard deviation gain / sqrt(fan) (He et al., 2015).

    fan is that of `mode`, fan_in or fan_out; the gain is `calculate_gain(nonlinearity, a)`.
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fills `tensor`, flattened to a matrix of its first size, with a (semi-)orthogonal matrix times `gain` (Saxe et al., 2013).

    Raises ValueError unless it has at least two dimensions.
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if not tensor.numel():
        return tensor
    rows = tensor.size(0)
    drawn = tensor.new_empty((rows, tensor.numel() // rows)).normal_(0, 1, generator=generator)
    wide = drawn.size(0) < drawn.size(1)
    q, r = qr(drawn.t() if wide else drawn)
    q = q * r.diagonal().sign()
    return tensor.copy_((q.t() if wide else q).reshape(tensor.shape)).mul_(gain)


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fills a matrix from the normal distribution with standard deviation `std`, and sets a fraction `sparsity` of each column to zero
    (Martens, 2010). Raises ValueError unless it has two dimensions."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[randperm(rows)[: math.ceil(sparsity * rows)], column] = 0
    return tensor


def _deprecated(function: _F) -> _F:
    """Returns the form of an initializer under its former name, without an underscore."""
    name = function.__name__

    @wraps(function)
    def former(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"`nn.init.{name[:-1]}` is now deprecated in favor of `nn.init.{name}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    former.__name__ = former.__qualname__ = name[:-1]
    former.__doc__ = f"Deprecated name of `{name}`."
    return former  # type: ignore[return-value]


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)
