"""Division of batches among devices: there is one device, which has the batch."""

from __future__ import annotations

from typing import Any

__all__ = ["gather", "is_namedtuple", "scatter", "scatter_kwargs"]


def is_namedtuple(obj: Any) -> bool:
    """Returns whether an object is of a named tuple."""
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> list[Any]:
    """Returns the batch in a list of one, where one device is given. Raises NotImplementedError for more."""
    if len(target_gpus) > 1:
        raise NotImplementedError(f"scatter: several devices ({len(target_gpus)}) are not supported; use one device")
    return [inputs]


def scatter_kwargs(
    inputs: Any, kwargs: dict[str, Any] | None, target_gpus: Any, dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Returns the arguments and keyword arguments for each device."""
    return tuple(scatter(inputs, target_gpus, dim)), tuple(scatter(kwargs or {}, target_gpus, dim))


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """Returns the output of one device. Raises NotImplementedError for more."""
    if len(outputs) > 1:
        raise NotImplementedError(f"gather: several devices ({len(outputs)}) are not supported; use one device")
    return outputs[0]
