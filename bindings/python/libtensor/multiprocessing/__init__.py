"""The standard library's multiprocessing, with shared memory for tensors.

A tensor or storage that is sent to another process, as an argument of `Process` or through a queue or a pipe, is not copied: its storage moves to
shared memory, and both processes see each other's writes. The memory has no name in the file system, and is freed when the last process that uses it
ends. Tensors over memory that is external, such as a NumPy array's, or that was exported, such as to NumPy, cannot be moved and are copied. Non-leaf
tensors that require grad raise RuntimeError; call detach() first.

The start method is the standard library's default for the platform. A forked process reads its parent's tensors without a copy; tensors with a
grad_fn raise an error there. Importing this module, or calling `share_memory_()`, also makes the standard multiprocessing share tensors.
"""

from multiprocessing import *  # noqa: F403
from multiprocessing import get_context

from . import pool, queue, reductions
from . import spawn as _spawn_module
from .reductions import init_reductions
from .spawn import ProcessContext, ProcessException, ProcessExitedException, ProcessRaisedException, SpawnContext, start_processes

_spawn_module.spawn.__module__ = __name__
spawn = _spawn_module.spawn  # the function, whose name its module has too

_STRATEGY = "file_descriptor"

init_reductions()


def get_all_sharing_strategies() -> set[str]:
    """Returns the names of the ways to share memory: file descriptors, which need no names in the file system.

    >>> torch.multiprocessing.get_all_sharing_strategies()
    {'file_descriptor'}
    """
    return {_STRATEGY}


def get_sharing_strategy() -> str:
    """Returns the name of the way in which memory is shared.

    >>> torch.multiprocessing.get_sharing_strategy()
    'file_descriptor'
    """
    return _STRATEGY


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepts the names of PyTorch's strategies. Memory is shared by file descriptors with each of them. Raises AssertionError for other names."""
    if new_strategy not in ("file_descriptor", "file_system"):
        raise AssertionError(f"set_sharing_strategy: unknown strategy {new_strategy!r}; 'file_descriptor' and 'file_system' are accepted")
