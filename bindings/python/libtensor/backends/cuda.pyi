from typing import Any

matmul: Any

def is_built() -> bool: ...
