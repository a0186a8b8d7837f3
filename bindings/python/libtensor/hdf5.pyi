import os
from collections.abc import Mapping
from typing import Any, TypeAlias

from ._core.tensor import Tensor

_File: TypeAlias = str | os.PathLike[str] | Any  # a path, or an open h5py File or Group

def save(tensors: Mapping[str, Any], f: _File, **options: Any) -> None: ...
def load(f: _File) -> dict[str, Any]: ...
def read(dataset: Any, index: Any = ...) -> Tensor: ...
