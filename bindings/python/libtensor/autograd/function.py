"""Custom functions with user-defined derivatives."""

from .._base.extend import publish as _publish
from .._gradients.function import Function, FunctionCtx, InplaceFunction, once_differentiable

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]

_publish(globals(), __all__)
