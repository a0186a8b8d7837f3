import enum
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from .._core.tensor import Tensor

class CheckpointError(RuntimeError): ...

def noop_context_fn() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]: ...
def checkpoint(
    function: Callable[..., Any] | None = ...,
    *args: Any,
    use_reentrant: bool | None = ...,
    context_fn: Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]] = ...,
    determinism_check: str = ...,
    debug: bool = ...,
    early_stop: bool = ...,
    preserve_rng_state: bool = ...,
    respect_saved_tensors_hooks: bool | None = ...,
    **kwargs: Any,
) -> Any: ...
def checkpoint_sequential(
    functions: Sequence[Callable[[Any], Any]], segments: int, input: Tensor, use_reentrant: bool | None = ..., **kwargs: Any
) -> Any: ...
def set_checkpoint_early_stop(enable: bool) -> AbstractContextManager[None]: ...

class CheckpointFunction: ...

class CheckpointPolicy(enum.Enum):
    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5

class SelectiveCheckpointContext:
    is_recompute: bool
    op_output: Any
    def __init__(self, *, is_recompute: bool, op_output: Any = ...) -> None: ...

class DefaultDeviceType:
    @staticmethod
    def set_device_type(device: str = ...) -> None: ...
    @staticmethod
    def get_device_type() -> str: ...

def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = ...
) -> tuple[AbstractContextManager[None], AbstractContextManager[None]]: ...
def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]: ...
def check_backward_validity(inputs: Iterable[Any]) -> None: ...
def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]: ...
def set_device_states(devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = ...) -> None: ...
def set_checkpoint_debug_enabled(enabled: bool | None) -> AbstractContextManager[None]: ...
