"""Operators by the name of a library: those of torch.ops.quantized, and those that programs define (see libtensor.library)."""

from typing import Any

from . import quantized as quantized

__all__ = ["quantized"]

loaded_libraries: set[str] = set()


def load_library(path: str) -> None:
    """Raises OSError: libraries of operators that are compiled for PyTorch cannot be loaded."""
    raise OSError(f"{path}: libraries of operators for PyTorch cannot be loaded; torch.library.custom_op() defines operators in Python")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'libtensor.ops' has no attribute '{name}'")
    from ..library.operators import OpNamespace

    made = globals()[name] = OpNamespace(name)
    return made
