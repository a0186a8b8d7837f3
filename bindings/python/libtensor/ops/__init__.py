"""Operators by the name of a library: those of torch.ops.quantized, and those that programs define (see libtensor.library)."""

from pathlib import Path
from typing import Any

from . import quantized as quantized

__all__ = ["quantized"]

loaded_libraries: set[str] = set()
unloaded: set[str] = set()  # packages whose library of operators could not be loaded, which are the namespaces of the operators


def load_library(path: str) -> None:
    """Raises OSError: libraries of operators that are compiled for PyTorch cannot be loaded. Functions that the
    package registers for operators of the library afterwards are ignored (torch.library.register_fake)."""
    unloaded.add(Path(path).parent.name)
    raise OSError(f"{path}: libraries of operators for PyTorch cannot be loaded; torch.library.custom_op() defines operators in Python")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'libtensor.ops' has no attribute '{name}'")
    from ..library.operators import OpNamespace

    made = globals()[name] = OpNamespace(name)
    return made
