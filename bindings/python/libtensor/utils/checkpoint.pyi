from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from .._core.tensor import Tensor

class CheckpointError(RuntimeError): ...

def noop_context_fn() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]: ...
def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = ...,
    context_fn: Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]] = ...,
    determinism_check: str = ...,
    debug: bool = ...,
    early_stop: bool = ...,
    preserve_rng_state: bool = ...,
    **kwargs: Any,
) -> Any: ...
def checkpoint_sequential(
    functions: Sequence[Callable[[Any], Any]], segments: int, input: Tensor, use_reentrant: bool | None = ..., **kwargs: Any
) -> Any: ...
def set_checkpoint_early_stop(enable: bool) -> AbstractContextManager[None]: ...
