"""Operators by the name of a library: those of torch.ops.quantized, and those that programs define (see libtensor.library)."""

from pathlib import Path
from typing import Any

from . import quantized as quantized

__all__ = ["quantized"]


def load_library(path: str) -> None:
    """Records a library of operators that is compiled for PyTorch, without loading it: its operators raise NotImplementedError when they
    are called, except for those of torchvision and torchaudio that libtensor implements.

    Raises OSError if the file does not exist.
    """
    file = Path(path)
    if not file.is_file():
        raise OSError(f"{path}: cannot open shared object file: No such file or directory")
    from ..library.packages import record

    record(file)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'libtensor.ops' has no attribute '{name}'")
    made: Any
    if name == "loaded_libraries":
        from ..library.operators import loaded_libraries as made
    elif name == "aten":
        from ..library.aten import AtenNamespace

        made = AtenNamespace()
    else:
        from ..library.operators import OpNamespace

        made = OpNamespace(name)
    globals()[name] = made
    return made
