class dtype:
    name: str
    itemsize: int
    bits: int
    kind: str
    is_floating_point: bool
    is_complex: bool
    is_signed: bool
    def to_real(self) -> dtype: ...
    def to_complex(self) -> dtype: ...

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
