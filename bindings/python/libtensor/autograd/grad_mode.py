"""Grad modes."""

from .._base.extend import publish as _publish
from .._core.modes import enable_grad, inference_mode, no_grad, set_grad_enabled, set_multithreading_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]

_publish(globals(), __all__)
