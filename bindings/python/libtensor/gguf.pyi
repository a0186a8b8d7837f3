import os
from collections.abc import Sequence
from typing import Any, TypeAlias

from ._base.device import device as _device
from ._base.dtypes import dtype as _dtype
from ._base.size import Size
from ._core.tensor import Tensor
from .nn import Module

_Path: TypeAlias = str | os.PathLike[str]
_Device: TypeAlias = _device | str | int

class GGUFError(RuntimeError): ...

class Blocks:
    blocks: Tensor
    type: str
    def __init__(self, blocks: Tensor, type: str) -> None: ...
    @property
    def shape(self) -> Size: ...
    def dequantize(self, dtype: _dtype | None = ...) -> Tensor: ...
    def to(self, device: _Device) -> Blocks: ...

class Linear(Module):
    in_features: int
    out_features: int
    weight: Tensor
    bias: Tensor | None
    def __init__(self, weight: Blocks, bias: Tensor | None = ...) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

def load_file(
    filename: _Path, device: _Device = ..., *, dequantize: bool | _dtype = ..., only: Sequence[str] | None = ..., mmap: bool = ...
) -> dict[str, Any]: ...
def load(data: bytes | bytearray | memoryview, *, dequantize: bool | _dtype = ...) -> dict[str, Any]: ...
def load_metadata(filename: _Path) -> dict[str, Any]: ...
