from contextlib import AbstractContextManager
from typing import Any

immediate: bool

def set_flags(*args: Any, **kwargs: Any) -> tuple[Any, ...]: ...
def flags(*args: Any, **kwargs: Any) -> AbstractContextManager[None]: ...
