"""Warnings of the library and of the package, reported at the line of the program that calls it."""

from __future__ import annotations

import atexit
import sys
import warnings
from ctypes import byref, c_bool, c_char_p, c_int32, c_void_p, cast

from .errors import guarded
from .library import SUBINTERPRETER, bind, called_back, getter

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any

PACKAGE = __name__.partition(".")[0]

always = bind("tensor_is_warn_always_enabled", c_void_p)
listen = getter("tensor_set_warning_handler", c_int32, c_void_p, c_void_p, c_void_p)
given = set()  # messages that are reported once


def warn(text, category=UserWarning):
    """Warns with the line of the program, outside of the package, that is being executed."""
    frame: Any = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def warn_once(text):
    """Calls warn() for the first call, and for every call under set_warn_always."""
    on = c_bool()
    if text in given and (always(byref(on)) or not on.value):
        return
    warn(text)
    given.add(text)


@called_back(c_int32, c_void_p, c_char_p, c_char_p)
@guarded
def heard(_, kind, message):
    warn(message.decode("utf-8", "replace"))


if not SUBINTERPRETER:
    listen(cast(heard, c_void_p), None, None)
    atexit.register(listen, None, None, None)
