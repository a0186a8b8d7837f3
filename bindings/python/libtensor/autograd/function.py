"""Operations with derivatives of their own."""

from .._function import BackwardFunction as BackwardCFunction
from .._function import Function, FunctionCtx, once_differentiable

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "once_differentiable"]
