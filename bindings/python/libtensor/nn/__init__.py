"""Neural networks: modules, their parameters, initializers, and functions without state."""

from . import functional, init, modules, parameter, utils
from .linear_cross_entropy import LinearCrossEntropyOptions
from .modules import *  # noqa: F403
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = ["Buffer", "LinearCrossEntropyOptions", "Parameter", "UninitializedBuffer", "UninitializedParameter"]
__all__ += ["functional", "init", "modules", "parameter", "utils"]
__all__ += modules.__all__
