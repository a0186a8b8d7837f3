"""What the updates of optimizers share: options, scalars, and arithmetic on lists of tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from .. import float32, float64, get_default_dtype, strided, tensor, view_as_real
from .._core.modes import is_grad_enabled
from .._core.tensor import Tensor
from .._data.lists import foreach_add, foreach_add_, foreach_addcdiv_, foreach_mul, foreach_neg

Tensors: TypeAlias = list[Tensor]
Scalar: TypeAlias = float | Tensor
Closure: TypeAlias = Callable[[], Any] | None


def require(fact: Any, text: str, value: Any) -> None:
    """Raises ValueError with `text` and the option's value unless `fact` is true."""
    if not fact:
        raise ValueError(f"{text}: {value}")


def check_lr(lr: Scalar, text: str = "Invalid learning rate") -> None:
    """Raises ValueError for a learning rate that is negative, NaN or a tensor of several elements."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    require(lr >= 0.0, text, lr)


def scalar(value: Any) -> Any:
    """Returns a tensor of one element without dimensions, and anything else as it is."""
    return value.squeeze() if isinstance(value, Tensor) and value.dim() != 0 else value


def number(value: Any) -> Any:
    """Returns the number of a tensor of one element, and anything else as it is."""
    return value.item() if isinstance(value, Tensor) else value


def new_step() -> Tensor:
    """Returns the count of steps of a parameter that was not updated: 0 in float32, or in float64 where that is the default dtype."""
    return tensor(0.0, dtype=float64 if get_default_dtype() is float64 else float32)


def check_steps(steps: Iterable[Any]) -> None:
    """Raises RuntimeError for counts of steps that are not tensors."""
    if not all(isinstance(step, Tensor) for step in steps):
        raise RuntimeError("API has changed, `state_steps` argument must contain a list of singleton tensors")


def check_choice(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """Raises RuntimeError where `fused` is combined with what excludes it."""
    if fused:
        if differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_fused(params: Tensors) -> None:
    """Raises RuntimeError for parameters that the fused updates do not support."""
    for param in params:
        if not param.is_floating_point() or param.device.type == "meta":
            raise RuntimeError(
                "`fused=True` requires all the params to be floating point Tensors of supported devices: ['mps', 'cuda', 'xpu', 'hpu', "
                "'cpu', "
                f"'mtia', 'privateuseone'] but {param.dtype} and {param.device.type}"
            )


def check_capturable(capturable: bool, params: Tensors) -> None:
    """Raises AssertionError where `capturable` is asked for on a device without captured graphs."""
    devices = ("cuda", "xpu", "hpu", "privateuseone", "xla")
    assert not capturable or all(param.device.type in devices for param in params), (
        f"If capturable=True, params and state_steps must be on supported devices: {list(devices)}."
    )


def fuses(params: Tensors, *others: Tensors) -> bool:
    """Returns whether the fused updates have the results of the separate operators, within rounding: for dense float32 and float64 tensors
    of one dtype on the CPU.
    """
    return all(
        p.dtype in (float32, float64)
        and p.layout is strided
        and p.device.type == "cpu"
        and all(t.dtype is p.dtype and t.layout is strided and t.shape == p.shape and t.device == p.device for t in row)
        for p, *row in zip(params, *others, strict=False)
    )


def real(tensors: Sequence[Tensor | None]) -> Any:
    """Returns views of complex tensors as pairs of real numbers; other tensors and None as they are."""
    return [view_as_real(t) if t is not None and t.is_complex() else t for t in tensors]


def gradients(grads: Tensors, maximize: bool) -> Tensors:
    """Returns the gradients, negated in order to maximize."""
    return foreach_neg(grads) if maximize else grads


def kept(tensors: Tensors) -> Tensors:
    """Returns copies of states where gradients are recorded, since later steps write to the states."""
    return [t.clone() for t in tensors] if is_grad_enabled() else tensors


def addcdiv_(xs: Tensors, ys: Tensors, zs: Tensors, values: Sequence[Any]) -> None:
    """Adds `values[i] * ys[i] / zs[i]` to each tensor, in place; values may be tensors, whose gradients flow."""
    ys, zs = kept(ys), kept(zs)
    if any(isinstance(value, Tensor) for value in values):
        foreach_add_(xs, [y / z * value for y, z, value in zip(ys, zs, values, strict=True)])
    else:
        foreach_addcdiv_(xs, ys, zs, list(values))


def add_scaled_(xs: Tensors, ys: Tensors, values: Sequence[Any]) -> None:
    """Adds `values[i] * ys[i]` to each tensor, in place; values may be tensors, whose gradients flow."""
    foreach_add_(xs, foreach_mul(ys, list(values)))


def decay(params: Tensors, grads: Tensors, weight_decay: float) -> Tensors:
    """Returns the gradients with `weight_decay` times the parameters added."""
    return foreach_add(grads, params, alpha=weight_decay) if weight_decay != 0 else grads
