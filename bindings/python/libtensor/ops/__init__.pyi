"""Operators that PyTorch has by the name of a library."""

from . import quantized as quantized

__all__ = ["quantized"]

loaded_libraries: set[str]

def load_library(path: str) -> None: ...
