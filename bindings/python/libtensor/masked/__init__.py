"""Reductions and normalizations of the elements that a mask selects.

`mask` is a bool tensor that broadcasts to the input; by default all elements are selected. A reduction of no elements returns the neutral
element of the operation; mean, var, std and median return NaN.
"""

from __future__ import annotations

from typing import Any

import libtensor as torch

from .._inert import declare_unsupported

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "is_masked_tensor",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
]
__all__ += ["prod", "softmax", "softmin", "std", "sum", "var"]

Tensor = torch.Tensor
Dim = Any
"""A dimension, a sequence of dimensions, or None for all."""


def _dims(input: Tensor, dim: Dim) -> list[int]:
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return list(range(input.dim()))
    return list(dim) if isinstance(dim, (tuple, list)) else [dim]


def _fill(input: Tensor, mask: Tensor | None, value: Any) -> Tensor:
    return input if mask is None else torch.where(mask, input, torch.full((), value, dtype=input.dtype, device=input.device))


def _least(input: Tensor) -> Any:
    if input.dtype == torch.bool:
        return False
    return float("-inf") if input.is_floating_point() else torch.iinfo(input.dtype).min


def _greatest(input: Tensor) -> Any:
    if input.dtype == torch.bool:
        return True
    return float("inf") if input.is_floating_point() else torch.iinfo(input.dtype).max


def _cast(input: Tensor, dtype: torch.dtype | None) -> Tensor:
    return input if dtype is None else input.to(dtype)


def sum(
    input: Tensor, dim: Dim = None, *, keepdim: bool | None = False, dtype: torch.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Returns the sum of the selected elements."""
    return torch.sum(_fill(_cast(input, dtype), mask, 0), _dims(input, dim), keepdim=bool(keepdim), dtype=dtype)


def prod(
    input: Tensor, dim: Dim = None, *, keepdim: bool | None = False, dtype: torch.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Returns the product of the selected elements."""
    result = _fill(_cast(input, dtype), mask, 1)
    for d in sorted((d % max(input.dim(), 1) for d in _dims(input, dim)), reverse=True):
        result = result.prod(d, keepdim=bool(keepdim))
    return result


def amax(
    input: Tensor, dim: Dim = None, *, keepdim: bool | None = False, dtype: torch.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Returns the largest of the selected elements."""
    input = _cast(input, dtype)
    return torch.amax(_fill(input, mask, _least(input)), _dims(input, dim), keepdim=bool(keepdim))


def amin(
    input: Tensor, dim: Dim = None, *, keepdim: bool | None = False, dtype: torch.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Returns the smallest of the selected elements."""
    input = _cast(input, dtype)
    return torch.amin(_fill(input, mask, _greatest(input)), _dims(input, dim), keepdim=bool(keepdim))


def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool | None = False, dtype: torch.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Returns the index of the largest of the selected elements, in the dtype of the input or `dtype`, as in PyTorch."""
    input = _cast(input, dtype)
    return torch.argmax(_fill(input, mask, _least(input)), dim, keepdim=bool(keepdim)).to(input.dtype)


def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool | None = False, dtype: torch.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Returns the index of the smallest of the selected elements, in the dtype of the input or `dtype`, as in PyTorch."""
    input = _cast(input, dtype)
    return torch.argmin(_fill(input, mask, _greatest(input)), dim, keepdim=bool(keepdim)).to(input.dtype)


def _count(input: Tensor, dim: Dim, mask: Tensor | None) -> Tensor:
    ones = torch.ones_like(input, dtype=torch.int64)
    return torch.sum(ones if mask is None else ones * mask, _dims(input, dim), keepdim=True)


def mean(
    input: Tensor, dim: Dim = None, *, keepdim: bool | None = False, dtype: torch.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Returns the mean of the selected elements."""
    input = _cast(input, dtype)
    result = sum(input, dim, keepdim=True, mask=mask) / _count(input, dim, mask)
    return result if keepdim else _squeeze(result, input, dim)


def _squeeze(result: Tensor, input: Tensor, dim: Dim) -> Tensor:
    return result.squeeze(tuple(_dims(input, dim))) if input.dim() else result


def median(input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: torch.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Returns the median of the selected elements: of an even number, the lower of the two middle ones."""
    input = _cast(input, dtype)
    if not input.is_floating_point():
        raise ValueError(f"input must be a floating point tensor, but got {input.dtype}")
    return torch.nanmedian(_fill(input, mask, float("nan")), dim, keepdim).values


def logsumexp(
    input: Tensor, dim: Dim = None, *, keepdim: bool = False, dtype: torch.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Returns the logarithm of the sum of exponentials of the selected elements."""
    input = _cast(input, dtype)
    return torch.logsumexp(_fill(input, mask, float("-inf")), _dims(input, dim), keepdim=keepdim)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dim = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Returns the vector norm of the selected elements."""
    input = _cast(input, dtype)
    order = 2.0 if ord is None else ord
    return torch.linalg.vector_norm(
        _fill(input, mask, float("inf") if order == float("-inf") else 0), order, _dims(input, dim), bool(keepdim)
    )


def var(
    input: Tensor,
    dim: Dim = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Returns the variance of the selected elements, with `correction` (default: 1) subtracted from their number in the divisor."""
    if unbiased is not None and correction is not None:
        raise ValueError("Only one of unbiased and correction may be given")
    taken = float(unbiased) if unbiased is not None else 1.0 if correction is None else correction
    input = _cast(input, dtype)
    count = _count(input, dim, mask)
    apart = input - mean(input, dim, keepdim=True, mask=mask)
    result = sum(apart * apart.conj(), dim, keepdim=True, mask=mask) / (count - taken).clamp(min=0)
    return result if keepdim else _squeeze(result, input, dim)


def std(
    input: Tensor,
    dim: Dim = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Returns the standard deviation of the selected elements: the square root of var()."""
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


def softmax(input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Returns the softmax over the selected elements; 0 for the others."""
    return torch.softmax(_fill(_cast(input, dtype), mask, float("-inf")), dim)


def log_softmax(input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Returns the logarithm of softmax() over the selected elements; -inf for the others."""
    return torch.log_softmax(_fill(_cast(input, dtype), mask, float("-inf")), dim)


def softmin(input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Returns the softmax of the negated elements that are selected."""
    return softmax(-input, dim, dtype=dtype, mask=mask)


def cumsum(input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Returns cumulative sums of the selected elements."""
    return torch.cumsum(_fill(_cast(input, dtype), mask, 0), dim)


def cumprod(input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Returns cumulative products of the selected elements."""
    return torch.cumprod(_fill(_cast(input, dtype), mask, 1), dim)


def logaddexp(
    input: Tensor, other: Tensor, *, dtype: torch.dtype | None = None, input_mask: Tensor | None = None, other_mask: Tensor | None = None
) -> Tensor:
    """Returns log(exp(input) + exp(other)); an element that a mask leaves out counts as -inf."""
    least = float("-inf")
    return torch.logaddexp(_fill(_cast(input, dtype), input_mask, least), _fill(_cast(other, dtype), other_mask, least))


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: torch.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Returns the elements divided by the larger of `eps` and the norm of the selected ones."""
    input = _cast(input, dtype)
    return _fill(input, mask, 0) / norm(input, ord, dim, keepdim=True, mask=mask).clamp(min=eps)


def is_masked_tensor(obj: Any) -> bool:
    """Returns False: masked tensors are not supported."""
    return False


__all__ += declare_unsupported(
    globals(), "masked tensors are not supported; pass the mask to the functions of torch.masked", "MaskedTensor masked_tensor"
)
__all__ += declare_unsupported(
    globals(), "masked tensors are not supported; pass the mask to the functions of torch.masked", "as_masked_tensor"
)
