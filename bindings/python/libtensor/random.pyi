from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from ._data.random import Generator as Generator
from ._data.random import get_rng_state as get_rng_state
from ._data.random import initial_seed as initial_seed
from ._data.random import manual_seed as manual_seed
from ._data.random import seed as seed
from ._data.random import set_rng_state as set_rng_state
from ._data.random import thread_safe_generator as thread_safe_generator

default_generator: Generator

def default_rng(bits: Any = ...) -> Any: ...
def fork_rng(
    devices: Iterable[Any] | None = ..., enabled: bool = ..., _caller: str = ..., _devices_kw: str = ..., device_type: Any = ...
) -> AbstractContextManager[None]: ...
