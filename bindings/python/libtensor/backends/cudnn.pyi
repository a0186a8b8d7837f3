from typing import Any

enabled: bool
benchmark: bool
deterministic: bool
allow_tf32: bool
benchmark_limit: int | None

def is_available() -> bool: ...
def version() -> int | None: ...
def is_acceptable(tensor: Any) -> bool: ...
