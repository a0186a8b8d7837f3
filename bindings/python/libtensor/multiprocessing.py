"""The standard library's multiprocessing, with shared memory for tensors.

A tensor or storage that is sent to another process, as an argument of `Process` or through a queue or a pipe, is not copied: its storage moves to
shared memory, and both processes see each other's writes. The memory has no name in the file system, and is freed when the last process that uses it
ends. Tensors over memory that is external, such as a NumPy array's, or that was exported, such as to NumPy, cannot be moved and are copied. Non-leaf
tensors that require grad raise RuntimeError; call detach() first.

The start method is the standard library's default for the platform. A forked process reads its parent's tensors without a copy; tensors with a
grad_fn raise an error there. Importing this module, or calling `share_memory_()`, also makes the standard multiprocessing share tensors.
"""

from multiprocessing import *  # noqa: F403
from multiprocessing import get_context  # noqa: F401

from ._storages.sharing import register as _register

_register()
