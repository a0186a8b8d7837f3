from .._function import Function as Function
from .._function import FunctionCtx as FunctionCtx
from .._function import once_differentiable as once_differentiable
