"""Python's multiprocessing, with tensors that are shared.

A tensor, or a storage, that goes to another process, as an argument of `Process` or through a queue or a pipe, arrives
without a copy: its storage moves to memory that both processes map, and each sees what the other writes. The
memory has no name and is gone when the last process that uses it ends, whatever way it ends. Tensors over
memory of another library, such as a NumPy array's, or lent to one, stay where they are and arrive as copies.

The start method is the standard library's default for the platform. A forked process reads its parent's tensors where they are.
Importing this module, or `share_memory_()`, makes the standard multiprocessing share tensors too.
"""

from multiprocessing import *  # noqa: F403
from multiprocessing import get_context  # noqa: F401

from ._storages.sharing import register as _register

_register()
