"""Conversion of a tensor_status to the exception that PyTorch raises."""

from __future__ import annotations

import re
from contextlib import contextmanager
from threading import local

from .library import last_errno, last_error

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any


class ForkedError(RuntimeError):
    """A forked child used an object that it does not inherit from its parent, such as a tensor with a grad_fn, or was forked inside a
    callback."""


ForkedError.__module__ = "libtensor"


class LinAlgError(RuntimeError):
    """A factorization of a matrix does not exist, or a system of equations has no solution."""


LinAlgError.__module__ = "libtensor.linalg"


class OutOfMemoryError(MemoryError, RuntimeError):
    """An allocation failed or exceeded the memory limit."""


OutOfMemoryError.__module__ = "libtensor"

KINDS = {
    1: RuntimeError,
    2: ValueError,
    3: TypeError,
    4: IndexError,
    5: NotImplementedError,
    6: OutOfMemoryError,
    7: RuntimeError,  # handle
    8: ForkedError,
    9: RuntimeError,  # internal
    10: OSError,
    12: LinAlgError,
}


CALLBACK, CANCELLED = 11, 13
SPAWN = "; torch.multiprocessing.get_context('spawn'), also as mp_context= of ProcessPoolExecutor, starts processes without fork()"


class Raised(local):
    """The exception of a function that the library called on this thread, until the outer call of the library returns."""

    error: BaseException | None = None

    def take(self):
        error, self.error = self.error, None
        return error


raised = Raised()


def keep_for_caller(error):
    """Stores an exception for the outer call of the library, as guarded does."""
    raised.error = error


def guarded(function: Any) -> Any:
    """Wraps a function that C calls and that returns a status: an exception is stored for the outer call."""

    def guard(*args):
        try:
            function(*args)
        except BaseException as error:
            raised.error = error
            return CALLBACK
        return 0

    return guard


# The library's name of the first argument, which Python's functions call `input`. Quoted words and parts of paths are values.
SELF = re.compile(r"""(?<![\w.`"'/])self(?!\w|[`"'/]|\.\w)""")


def failure(status):
    """Returns the exception of the failed call of this thread."""
    if status in (CALLBACK, CANCELLED) and raised.error:
        return raised.take()
    kind, message, number = KINDS.get(status, RuntimeError), last_error().decode("utf-8", "replace"), last_errno()
    message = SELF.sub("input", message)
    if kind is ForkedError:
        message += SPAWN
    return kind(number, message) if number else kind(message)  # with its errno, an OSError is a FileNotFoundError and so on


@contextmanager
def in_name_of(function):
    """Decorates a function: errors of the functions that it calls are reported with its name, "load_bytes: ..." as "load: ..."."""
    try:
        yield
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        parts = re.fullmatch(r"(?s)(?:([\w.]+)(\(\):? | is not implemented for |: ))?(.*)", str(error))
        assert parts is not None  # every group is optional
        step, separator, text = parts.groups()
        if step in (None, function) or error.args != (str(error),):
            raise
        raise type(error)(function + separator + text) from None


def misfit(text):
    """Returns the exception for a value of a class that an argument does not accept; another overload may accept it."""
    error: Any = TypeError(text)
    error.misfit = True
    return error


def wrong_type(function, argument, wanted, value):
    return misfit(f"{function}(): argument '{argument}' must be {wanted}, not {type(value).__name__}")


def no_overload(function, signatures, args, kwargs):
    """Returns the exception for arguments that no overload accepts."""
    for value in (*args, *(kwargs or {}).values()):
        if getattr(value, "code", 0) < 0:
            return NotImplementedError(f"{function}(): tensors of {value} are not supported; use float8_e4m3fn, float16 or float32")
    given = [type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in (kwargs or {}).items()]
    forms = "".join(f"\n * {s}" for s in signatures)
    return TypeError(f"{function}() received an invalid combination of arguments - got ({', '.join(given)}), but expected one of:{forms}")


def invertible(tensor):
    """Raises TypeError for dtypes without bitwise inversion."""
    if tensor.is_floating_point() or tensor.is_complex():
        raise TypeError(f"~ (bitwise_not) is only supported for integer and bool tensors, not {tensor.dtype}")
