"""Helpers of distributions: broadcast parameters, probabilities and logits, lazy attributes, packed triangular matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from numbers import Number
from typing import Any

from .. import (
    Tensor,
    broadcast_tensors,
    enable_grad,
    finfo,
    get_default_dtype,
    is_tensor,
    log,
    log1p,
    ones,
    randn,
    sigmoid,
    softmax,
    tensor,
)
from .. import device as _device
from .. import dtype as _dtype

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060


def _is_tensor_like(value: Any) -> bool:
    return is_tensor(value) or hasattr(type(value), "__torch_function__")


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Returns the values as tensors of one shape. Scalars take the dtype and the device of the first tensor, or the default dtype if there
    is no tensor. Raises ValueError for a value that is neither a scalar nor a tensor.

    >>> torch.distributions.utils.broadcast_all(1.0, torch.zeros(2))
    (tensor([1., 1.]), tensor([0., 0.]))
    """
    if not all(_is_tensor_like(v) or isinstance(v, Number) for v in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__.")
    if all(_is_tensor_like(v) for v in values):
        return tuple(broadcast_tensors(*values))
    first = next((v for v in values if is_tensor(v)), None)
    options: dict[str, Any] = {"dtype": get_default_dtype()} if first is None else {"dtype": first.dtype, "device": first.device}
    return tuple(broadcast_tensors(*(v if _is_tensor_like(v) else tensor(v, **options) for v in values)))


def _scalars(*values: Any) -> bool:
    """Returns whether all values are Python scalars, so that a distribution of them has an empty batch shape."""
    return all(isinstance(v, Number) for v in values)


def _standard_normal(shape: Sequence[int], dtype: _dtype | None, device: _device | str | int | None) -> Tensor:
    """Returns standard normal random numbers of `shape`."""
    return randn(tuple(shape), dtype=dtype, device=device)


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """Returns the sum over the last `dim` dimensions."""
    return value if dim == 0 else value.reshape(value.shape[: value.dim() - dim] + (-1,)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Returns the probabilities of `logits`: log odds with `is_binary`, otherwise unnormalized log probabilities over the last
    dimension."""
    return sigmoid(logits) if is_binary else softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Returns `probs` clamped to [eps, 1 - eps] with the epsilon of its dtype."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Returns the log odds of `probs` with `is_binary`, otherwise log probabilities; probabilities are clamped by `clamp_probs` first."""
    clamped = clamp_probs(probs)
    return log(clamped) - log1p(-clamped) if is_binary else log(clamped)


class lazy_property:
    """A decorator: computes an attribute from a method on first access, with gradients enabled, and stores it in the instance."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """What access to a lazy property through the class returns, so that documentation tools see a property."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)


def _triangle(n: int, diag: int, of: Tensor) -> Tensor:
    """Returns a mask (n, n) of the elements on and below the diagonal `diag`."""
    return ones(n, n, device=of.device).tril(diag).bool()


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Returns the elements of matrices (..., n, n) on and below the diagonal `diag` as vectors, in row-major order. Raises ValueError if
    `diag` is not in [-n, n)."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _triangle(n, diag, mat)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Returns lower triangular matrices (..., n, n) whose elements on and below the diagonal `diag` are those of `vec`, in row-major order.
    Raises ValueError if the length of `vec` fits no n."""
    length = vec.shape[-1]
    # length = n (n + 1) / 2 + n diag - (diag (diag + 1) / 2 where diag > 0), solved for n.
    shift = 1 + 2 * diag
    n = (-shift + (shift**2 + 8 * length + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    eps = finfo(vec.dtype).eps
    if not round(n) - eps <= n <= round(n) + eps:
        raise ValueError(
            f"The size of last dimension is {length} which cannot be expressed as the lower triangular part of a square D x D matrix."
        )
    size = round(n)
    mat = vec.new_zeros(vec.shape[:-1] + (size, size))
    mat[..., _triangle(size, diag, vec)] = vec
    return mat
