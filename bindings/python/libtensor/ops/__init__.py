"""Operators by the name of a library: those of torch.ops.quantized, and those that programs define (see libtensor.library)."""

from typing import Any

from . import quantized as quantized

__all__ = ["quantized"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'libtensor.ops' has no attribute '{name}'")
    from ..library.operators import OpNamespace

    made = globals()[name] = OpNamespace(name)
    return made
