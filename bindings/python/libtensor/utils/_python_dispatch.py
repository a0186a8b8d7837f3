"""Names of the protocol __torch_dispatch__, which libtensor does not implement."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .._inert import refuse

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass", "is_traceable_wrapper_subclass_type"]


class TorchDispatchMode:
    """A base class. Its context manager raises NotImplementedError: use `torch.overrides.TorchFunctionMode`, which is called for each
    function.
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        pass

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError("TorchDispatchMode.__torch_dispatch__: dispatching operators to Python is not supported")

    def __enter__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: dispatching operators to Python is not supported; use torch.overrides.TorchFunctionMode")

    def __exit__(self, *raised: object) -> None:
        return None


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Returns False: no subclass of Tensor wraps others by __torch_dispatch__."""
    return False


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Returns False: no subclass of Tensor wraps others by __torch_dispatch__."""
    return False


def _get_current_dispatch_mode() -> None:
    """Returns None: no mode is active."""
    return None


def _get_current_dispatch_mode_stack() -> list[Any]:
    """Returns an empty list: no mode is active."""
    return []


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Returns False: no mode is active."""
    return False


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """A context manager without effect: no mode is active."""
    yield []


refuse(globals(), "dispatching operators to Python is not supported", "transform_subclass return_and_correct_aliasing")
