"""The package of PyTorch that defines its function transforms, for programs that import from it. Its modules are loaded when they are first
asked for."""

from importlib import import_module
from types import ModuleType

_MODULES = ("apis", "autograd_function", "eager_transforms", "functional_call", "make_functional", "vmap")


def __getattr__(name: str) -> ModuleType:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
