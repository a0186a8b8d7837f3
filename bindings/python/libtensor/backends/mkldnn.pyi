from contextlib import AbstractContextManager
from typing import Any

VERBOSE_OFF: int
VERBOSE_ON: int
VERBOSE_ON_CREATION: int
enabled: bool
deterministic: bool
allow_tf32: bool
fp32_precision: str
matmul: Any
conv: Any
rnn: Any

class verbose:
    level: int
    def __init__(self, level: int) -> None: ...
    def __enter__(self) -> verbose: ...
    def __exit__(self, *_: object) -> None: ...

def set_flags(*args: Any, **kwargs: Any) -> tuple[Any, ...]: ...
def flags(*args: Any, **kwargs: Any) -> AbstractContextManager[None]: ...
def is_available() -> bool: ...
def is_acl_available() -> bool: ...
