from .._gradients.function import Function as Function
from .._gradients.function import FunctionCtx as FunctionCtx
from .._gradients.function import once_differentiable as once_differentiable
