"""The names of torch._C that subclasses of Tensor use."""

from ._base.overrides import disabled as DisableTorchFunctionSubclass
from ._base.overrides import disabled_torch_function as _disabled_torch_function_impl

__all__ = ["DisableTorchFunctionSubclass", "_disabled_torch_function_impl"]
