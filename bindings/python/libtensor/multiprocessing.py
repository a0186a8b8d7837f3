"""Python's multiprocessing, with processes that are spawned and tensors that are shared.

A tensor, or a storage, that goes to another process, as an argument of `Process` or through a queue or a pipe, arrives
without a copy: its storage moves to memory that both processes map, and each sees what the other writes. The
memory has no name and is gone when the last process that uses it ends, whatever way it ends. Tensors over
memory of another library, such as a NumPy array's, or lent to one, stay where they are and arrive as copies.

The library cannot be used in processes that are forked after its first call, so that the start method is "spawn". Importing this module, or
`share_memory_()`, makes the standard multiprocessing share tensors too.
"""

from multiprocessing import *  # noqa: F403
from multiprocessing import get_context as _get_context

from ._storages.sharing import register as _register

_register()
_spawn = _get_context("spawn")


def get_context(method=None):
    """The context of a start method, "spawn" unless given."""
    return _get_context(method or "spawn")


globals().update({name: getattr(_spawn, name) for name in dir(_spawn) if name[0] != "_" and name != "get_context"})
