"""Finds and loads libtensor.so, and declares the C types of tensor.h."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from ctypes import c_bool, c_char_p, c_double, c_int32, c_int64, c_void_p

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"
VERSION = tuple(map(int, __version__.split(".")))


class Complex(ctypes.Structure):
    _fields_ = [("re", c_double), ("im", c_double)]


class ScalarValue(ctypes.Union):
    _fields_ = [("i", c_int64), ("f", Complex)]


class Scalar(ctypes.Structure):
    """tensor_scalar: a number with its kind (bool, integer, float, complex)."""

    _fields_ = [("kind", c_int32), ("value", ScalarValue)]

    @classmethod
    def of(cls, number):
        """Returns the tensor_scalar of a Python number."""
        kind = type(number)
        if kind is float or kind is complex:
            return cls(3 if kind is float else 4, ScalarValue(f=Complex(number.real, number.imag)))
        return cls(1 if kind is bool else 2 if number < 2**63 else 5, ScalarValue(i=number))


class Device(ctypes.Structure):
    """tensor_device."""

    _fields_ = [("type", c_int32), ("index", c_int32)]


class Cell(ctypes.Union):
    """The output argument of a C function."""

    _fields_ = [
        ("p", c_void_p),
        ("i", c_int64),
        ("b", c_bool),
        ("f", c_double),
        ("e", c_int32),
        ("d", Device),
    ]

    def __init__(self):
        self.address = ctypes.addressof(self)


# Unused cells. A call takes a cell from the list, so that no other thread, signal handler or finalizer can write to it during the call.
cells = [Cell() for _ in range(16)]


def is_subinterpreter():
    """Returns whether this is a subinterpreter: the library, which outlives it, must not keep addresses of its objects."""
    if sys.implementation.name != "cpython":
        return False
    this, main = (ctypes.PYFUNCTYPE(c_void_p)((f"PyInterpreterState_{name}", ctypes.pythonapi)) for name in ("Get", "Main"))
    return this() != main()


SUBINTERPRETER = is_subinterpreter()


def called_back(result: Any, *arguments: Any) -> Callable[[Any], Any]:
    """Decorates a function that C calls. The function is never freed, because the library may call it while the interpreter finalizes, when
    modules no longer exist: it should refer to other objects through default arguments only.
    """

    def made(function):
        of_c = ctypes.CFUNCTYPE(result, *arguments)(function)
        if not SUBINTERPRETER:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(of_c))
        return of_c

    return made


def folders():
    """Returns the folders of the package's shared libraries: in the package, or the build folder of its sources."""
    up = os.path.dirname
    package = up(up(os.path.abspath(__file__)))
    tree = up(up(up(package)))
    built = [os.path.join(tree, "build")] if package == os.path.join(tree, "bindings", "python", "libtensor") else []
    return [os.path.join(package, "lib"), *built]


def candidates():
    """Returns the paths where the library may be; the first that exists is loaded."""
    chosen = os.environ.get("LIBTENSOR_LIBRARY")
    return [chosen] if chosen else [os.path.join(folder, "libtensor.so") for folder in folders()]


def check_interpreter():
    """Raises an error in interpreters that the library does not support."""
    if "t" in getattr(sys, "abiflags", ""):  # direct calls count references themselves
        name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        raise ImportError(f"libtensor requires Python with the GIL, but this Python is free-threaded: use {name} instead of {name}t")
    try:
        os.confstr("CS_GNU_LIBC_VERSION")
    except (OSError, ValueError):
        raise ImportError(
            "libtensor requires glibc, but this Python is built for musl (Alpine Linux): use an image such as python:3-slim"
        ) from None


def load():
    check_interpreter()
    paths = candidates()
    problems = []
    for path in paths:
        if not os.path.exists(path):
            problems.append(f"{path}: no such file")
            continue
        try:
            found = ctypes.CDLL(path)
            number = found.tensor_version()
        except OSError as error:
            problems.append(f"{path}: {error}")
            continue
        except AttributeError:
            problems.append(f"{path}: it is another library, without tensor_version")
            continue
        if number // 100 != VERSION[0] * 100 + VERSION[1]:
            text = ".".join(str(number // 100**i % 100) for i in (2, 1, 0))
            problems.append(f"{path}: version {text}, this package needs {VERSION[0]}.{VERSION[1]}")
            continue
        return found, ctypes.PyDLL(path), path
    if not os.path.exists(__file__):
        problems.append("the package is in an archive, of which the system loads no libraries: unpack it")
    raise ImportError(
        "libtensor.so could not be loaded; set LIBTENSOR_LIBRARY to its path, or reinstall the package. Tried:\n  " + "\n  ".join(problems)
    )


# `plain` holds the GIL during a call: for getters that take a few nanoseconds.
library, plain, path = load()


def bind(name, *argtypes):
    """Declares a C function that returns a tensor_status."""
    try:
        function = getattr(library, name)
    except AttributeError:
        raise ImportError(f"{path} has no function {name}: it is of another build than this package") from None
    function.argtypes = argtypes
    return function


def getter(name, result, *argtypes):
    """Declares a C function that returns its result and does not block."""
    function = getattr(plain, name)
    function.argtypes = argtypes
    function.restype = result
    return function


# Freeing appends a handle to a queue, which is faster than releasing the GIL.
free = getter("tensor_free", c_int32, c_void_p)
storage_free = getter("tensor_storage_free", c_int32, c_void_p)
node_free = getter("tensor_node_free", c_int32, c_void_p)
generator_free = getter("tensor_generator_free", c_int32, c_void_p)
last_error = getter("tensor_last_error", c_char_p)
last_errno = getter("tensor_last_errno", c_int32)
live_handles = getter("tensor_live_handles", c_int64)
