"""autocast, and decorators for the functions of a custom autograd Function under it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from .._base.dtypes import dtype, float64
from .._core.autocast import autocast, get_autocast_dtype, is_autocast_available, is_autocast_enabled
from .._core.tensor import Tensor

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]


def autocast_decorator(autocast_instance: autocast, func: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that calls `func` under `autocast_instance`."""
    return autocast_instance(func)


def _cast(value: Any, device_type: str, to: dtype) -> Any:
    """Converts the floating-point tensors of a device type, except those of float64, in nested lists, tuples and mappings."""
    if isinstance(value, Tensor):
        is_eligible = value.is_floating_point() and value.device.type == device_type and value.dtype is not float64
        return value.to(to) if is_eligible else value
    if isinstance(value, str | bytes):
        return value
    if isinstance(value, Mapping):
        return {_cast(k, device_type, to): _cast(v, device_type, to) for k, v in value.items()}
    if isinstance(value, list | tuple):
        items = (_cast(v, device_type, to) for v in value)
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _checked(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: dtype | None = None) -> Callable[..., Any]:
    """Decorates the `forward` of a custom autograd Function for use under autocast of `device_type`. With `cast_inputs`, under autocast,
    `forward` runs with autocast disabled, and its floating-point tensors are converted to that dtype; otherwise it runs in the caller's
    mode. Decorate `backward` by custom_bwd.

    Raises ValueError if `device_type` is not a str.
    """
    _checked(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    forward = fwd

    @functools.wraps(forward)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        args[0]._dtype = get_autocast_dtype(device_type)
        enabled = is_autocast_enabled(device_type)
        if cast_inputs is None:
            args[0]._fwd_used_autocast = enabled
            return forward(*args, **kwargs)
        args[0]._fwd_used_autocast = False
        if not enabled:
            return forward(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return forward(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorated


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorates the `backward` of a custom autograd Function whose `forward` is decorated by custom_fwd: it runs in the autocast mode of
    `forward`.

    Raises ValueError if `device_type` is not a str.
    """
    _checked(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    backward = bwd

    @functools.wraps(backward)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return backward(*args, **kwargs)

    return decorated
