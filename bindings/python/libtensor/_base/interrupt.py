"""Interruption of long calls of the main thread by signals: Ctrl-C raises KeyboardInterrupt within a call."""

import ctypes
import threading
from ctypes import c_int64, c_void_p, py_object

from .direct import direct
from .errors import failure, keep_for_caller
from .library import SUBINTERPRETER, bind

INTERVAL = 100  # milliseconds between two checks, each of which takes the GIL

c_set = bind("tensor_set_interrupt", c_void_p, py_object, c_int64)
c_interrupted = ctypes.cast(direct.direct_interrupted, c_void_p)


def install():
    """Has the calls of the calling thread execute signal handlers between chunks of work, if it is the main thread."""
    if SUBINTERPRETER or threading.current_thread() is not threading.main_thread():
        return
    status = c_set(c_interrupted, keep_for_caller, INTERVAL)
    if status:
        raise failure(status)


install()
