"""The standard library's multiprocessing, with shared memory for tensors.

A tensor or storage that is sent to another process, as an argument of `Process` or through a queue or a pipe, is not copied: its storage
moves to shared memory, and both processes see each other's writes. The memory has no name in the file system, and is freed when the last
process that uses it ends. Tensors over memory that is external, such as a NumPy array's, or that was exported, such as to NumPy, cannot be
moved and are copied. Non-leaf tensors that require grad raise RuntimeError; call detach() first.

The start method is the standard library's default for the platform. A forked process reads its parent's tensors without a copy; tensors
with a grad_fn raise an error there. Importing this module, or calling `share_memory_()`, also makes the standard multiprocessing share
tensors."""

from multiprocessing import *  # noqa: F403
from multiprocessing import get_context

from . import pool, queue, reductions
from . import spawn as _spawn_module
from .reductions import init_reductions
from .spawn import ProcessContext, ProcessException, ProcessExitedException, ProcessRaisedException, SpawnContext, start_processes

_spawn_module.spawn.__module__ = __name__
spawn = _spawn_module.spawn  # the function, whose name its module has too

_STRATEGIES = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"

init_reductions()


def get_all_sharing_strategies() -> set[str]:
    """Returns the names that `set_sharing_strategy` accepts.

    >>> sorted(torch.multiprocessing.get_all_sharing_strategies())
    ['file_descriptor', 'file_system']
    """
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """Returns the name that was set last. Memory is shared by file descriptors under either name.

    >>> torch.multiprocessing.get_sharing_strategy()
    'file_descriptor'
    """
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepts the name of a strategy and keeps it. Memory is shared by file descriptors under either name. Raises AssertionError for other
    names."""
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {sorted(_STRATEGIES)}")
    _strategy = new_strategy
