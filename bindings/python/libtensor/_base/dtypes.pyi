from typing import Any

from .gen_dtypes import *  # noqa: F403

_str = str

class dtype:
    code: int
    letter: _str
    kind: Any  # if show_kind() added it
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
    def to_real(self) -> _Dtype: ...
    def to_complex(self) -> _Dtype: ...

_Dtype = dtype  # dtype, inside of these classes, is another attribute

class Named:
    code: int
    name: str

class layout(Named): ...
class qscheme(Named): ...
class memory_format(Named): ...

class finfo:
    _dtype: _Dtype
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
    _dtype: _Dtype
    def __init__(self, type: dtype) -> None: ...
    bits: int
    max: int
    min: int
    dtype: str

bool_: dtype
float4_e2m1fn_x2: dtype
strided: layout
sparse_coo: layout
sparse_csr: layout
sparse_csc: layout
sparse_bsr: layout
sparse_bsc: layout
contiguous_format: memory_format
preserve_format: memory_format
channels_last: memory_format
channels_last_3d: memory_format

DTYPES: tuple[dtype, ...]
QUANTIZED: tuple[dtype, ...]
FLOAT8: tuple[dtype, ...]
INTEGERS: frozenset[dtype]
SCALAR_TYPES: dict[str, dtype]
TYPESTRS: dict[dtype, str]
OF_NUMPY: tuple[dtype, ...]
EXPORTED: dict[int, dtype]
REAL: dict[dtype, dtype]
PYTHON: dict[Any, dtype]
LAYOUTS: tuple[layout, ...]
FORMATS: tuple[memory_format, ...]
SCHEMES: tuple[qscheme, ...]
NAMES: dict[str, Any]

def of_type(value: Any) -> dtype | None: ...
def of_numpy(value: Any) -> Any: ...  # a dtype, or None for None
def named(name: str) -> Any: ...
def default() -> dtype: ...
def show_kind(package: Any) -> None: ...
