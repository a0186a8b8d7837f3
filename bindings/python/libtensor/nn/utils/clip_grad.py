"""Gradient clipping."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from ... import stack, tensor
from ..._core.modes import no_grad
from ..._core.tensor import Tensor
from ..._data.lists import foreach_clamp_max_, foreach_clamp_min_, foreach_mul_, foreach_norm
from ..._gen.gen_linalg import vector_norm

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

_Tensors = Tensor | Iterable[Tensor]


def _listed(tensors: _Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: _Tensors) -> list[Tensor]:
    return [param.grad for param in _listed(parameters) if param.grad is not None]


def _by_device(tensors: list[Tensor]) -> dict[Any, list[Tensor]]:
    """Returns the tensors of each device."""
    groups: dict[Any, list[Tensor]] = {}
    for t in tensors:
        groups.setdefault(t.device, []).append(t)
    return groups


@no_grad()
def get_total_norm(tensors: _Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor:
    """Returns the `norm_type`-norm of all elements of `tensors` together.

    With `error_if_nonfinite` a norm that is not finite raises RuntimeError. `foreach` has no effect.
    """
    tensors = _listed(tensors)
    if not tensors:
        return tensor(0.0)
    norms = foreach_norm(tensors, float(norm_type))
    total = vector_norm(stack([norm.to(norms[0].device) for norm in norms]), float(norm_type))
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {float(norm_type)} for gradients from `parameters` is non-finite, so it cannot be clipped. To "
            "disable this "
            "error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(parameters: _Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None:
    """Multiplies the gradients of `parameters` in place by `max_norm / (total_norm + 1e-6)`, unless that is above 1. `foreach` has no
    effect."""
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for device, grads in _by_device(_gradients(parameters)).items():
        foreach_mul_(grads, factor.to(device))


@no_grad()
def clip_grad_norm_(
    parameters: _Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Scales the gradients of `parameters` in place, so that the `norm_type`-norm of all together is at most `max_norm`, and returns the
    norm before scaling.

    With `error_if_nonfinite` a norm that is not finite raises RuntimeError. `foreach` has no effect.

    >>> x = torch.ones(1, requires_grad=True)
    >>> (3 * x).sum().backward()
    >>> torch.nn.utils.clip_grad_norm_([x], 1.0), x.grad
    (tensor(3.), tensor([1.0000]))
    """
    parameters = _listed(parameters)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: _Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Deprecated name of `clip_grad_norm_`."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.", FutureWarning, stacklevel=2
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters: _Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clamps the gradients of `parameters` in place to [-`clip_value`, `clip_value`]. `foreach` has no effect."""
    limit = float(clip_value)
    for grads in _by_device(_gradients(parameters)).values():
        foreach_clamp_min_(grads, -limit)
        foreach_clamp_max_(grads, limit)
