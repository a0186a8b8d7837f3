from contextlib import AbstractContextManager
from typing import Any

enabled: bool
benchmark: bool
deterministic: bool
allow_tf32: bool
benchmark_limit: int | None
fp32_precision: str
conv: Any
rnn: Any

def set_flags(*args: Any, **kwargs: Any) -> tuple[Any, ...]: ...
def flags(*args: Any, **kwargs: Any) -> AbstractContextManager[None]: ...
def is_available() -> bool: ...
def version() -> int | None: ...
def is_acceptable(tensor: Any) -> bool: ...
