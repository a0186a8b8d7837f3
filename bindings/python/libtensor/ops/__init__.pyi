"""Operators that PyTorch has by the name of a library."""

from typing import Any

from . import quantized as quantized

__all__ = ["quantized"]

loaded_libraries: set[str]

def load_library(path: str) -> None: ...
def __getattr__(name: str) -> Any: ...  # a namespace of operators
