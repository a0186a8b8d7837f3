"""Types for annotations."""

from __future__ import annotations

import builtins
import os
from typing import IO, Any, TypeAlias

from . import Size, SymBool, SymFloat, SymInt, Tensor, dtype, layout, qscheme
from . import device as _device
from ._storages.storage import UntypedStorage
from ._storages.typed_storage import TypedStorage

__all__ = [
    "BoolLikeType",
    "Device",
    "FileLike",
    "FloatLikeType",
    "IntLikeType",
    "Number",
    "PySymType",
    "Storage",
    "SymBool",
    "SymFloat",
    "SymInt",
]
__all__ += ["Size", "Tensor", "py_sym_types"]

_int, _float, _bool, _str, _bytes, _complex = builtins.int, builtins.float, builtins.bool, builtins.str, builtins.bytes, builtins.complex
_dtype, _layout, _qscheme = dtype, layout, qscheme
_size: TypeAlias = "Size | list[builtins.int] | tuple[builtins.int, ...]"
_TensorOrTensors: TypeAlias = "Tensor | tuple[Tensor, ...] | list[Tensor]"
_TensorOrTensorsOrGradEdge: TypeAlias = Any
_dispatchkey = str
_symsize = _size
Number: TypeAlias = builtins.int | builtins.float | builtins.bool
_Number = (builtins.int, builtins.float, builtins.bool)
Device: TypeAlias = _device | builtins.str | builtins.int | None
FileLike: TypeAlias = builtins.str | os.PathLike[builtins.str] | IO[builtins.bytes]
IntLikeType: TypeAlias = builtins.int | SymInt
FloatLikeType: TypeAlias = builtins.float | SymFloat
BoolLikeType: TypeAlias = builtins.bool | SymBool
PySymType: TypeAlias = SymInt | SymFloat | SymBool
py_sym_types = (SymInt, SymFloat, SymBool)
Storage: TypeAlias = UntypedStorage | TypedStorage
