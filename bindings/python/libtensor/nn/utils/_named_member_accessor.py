"""Exchange of the tensors and submodules of modules, by name."""

from __future__ import annotations

from typing import Any

from ..modules.module import Module
from ..parameter import Parameter

_MISSING = object()


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Replaces a module's parameter, buffer or attribute by a tensor, which need not be a Parameter, and returns the previous one.

    Raises TypeError for other objects than Modules, KeyError for empty or dotted names, AttributeError if there is no such tensor and not
    `allow_missing`.
    """
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if not name or "." in name:
        raise KeyError(f"tensor name must be a single non-empty name, got {name!r}")
    for tensors in (module._parameters, module._buffers):
        if name in tensors:
            before: Any = tensors[name]
            if tensor is _MISSING:
                del tensors[name]
            else:
                tensors[name] = tensor
            return before
    before = module.__dict__.get(name, _MISSING)
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    if tensor is _MISSING:
        module.__dict__.pop(name, None)
    elif isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.__dict__[name] = tensor
    return before


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Replaces a submodule, and returns the previous one.

    Raises TypeError for other objects than Modules, KeyError for a name with a dot, AttributeError if there is no such submodule.
    """
    if not isinstance(module, Module) or not isinstance(submodule, Module):
        raise TypeError(f"{module if not isinstance(module, Module) else submodule} is not an instance of torch.nn.Module")
    if not name or "." in name:
        raise KeyError(f"submodule name must be a single non-empty name, got {name!r}")
    before = module._modules.get(name)
    if before is None:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    module._modules[name] = submodule
    return before
