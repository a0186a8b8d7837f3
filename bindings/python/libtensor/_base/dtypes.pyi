from typing import Any

_str = str

class dtype:
    name: _str
    itemsize: int
    bits: int
    is_floating_point: bool
    is_complex: bool
    is_signed: bool
    @property
    def dtype(self) -> Any: ...
    @property
    def __numpy_dtype__(self) -> Any: ...
    @property
    def char(self) -> _str: ...
    @property
    def str(self) -> _str: ...
    @property
    def type(self) -> Any: ...
    @property
    def base(self) -> Any: ...
    @property
    def fields(self) -> Any: ...
    @property
    def hasobject(self) -> bool: ...
    @property
    def isnative(self) -> bool: ...
    @property
    def names(self) -> Any: ...
    @property
    def subdtype(self) -> Any: ...
    @property
    def abbr(self) -> _str: ...
    def to_real(self) -> _dtype: ...
    def to_complex(self) -> _dtype: ...

_dtype = dtype  # dtype, inside of the class, is NumPy's

class layout:
    name: str

class qscheme:
    name: str

class memory_format:
    name: str

class finfo:
    def __init__(self, type: dtype | None = ...) -> None: ...
    bits: int
    eps: float
    max: float
    min: float
    tiny: float
    smallest_normal: float
    resolution: float
    dtype: str

class iinfo:
    def __init__(self, type: dtype) -> None: ...
    bits: int
    max: int
    min: int
    dtype: str
