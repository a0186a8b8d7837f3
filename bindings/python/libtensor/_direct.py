"""Calls of the library past ctypes: the decorators of the generated functions, and the base class of Tensor.

direct/direct.c explains what a decorated function takes straight to the library; everything else is left to the Python function.
Where direct.c cannot work (another interpreter than CPython, a subinterpreter, or LIBTENSOR_PLAIN_CALLS=1), the Python functions do
it all, through ctypes.
"""

import copyreg
import ctypes
import os
import sys
from ctypes import POINTER, c_bool, c_char_p, c_int, c_void_p, py_object
from functools import wraps
from operator import attrgetter

from . import _overrides
from ._errors import failure
from ._library import SUBINTERPRETER, Cell, Scalar, folders, free, library, path

MAKES, VIEWS, CHANGES, SEVERAL, LISTS, TELLS = range(6)
NUMBER, DTYPE, DEVICE, ELEMENT, LIST, CONTIGUOUS, LENGTH, SIZES, STRIDES = range(9)
CALLS, REFLECTS, SUBSCRIPTS, MAKES_TENSOR, RECEIVES, LENDS = range(6)
required = object()

# The library's functions that direct.h lists.
FUNCTIONS = (
    *("free", "list_free", "dim", "sizes", "strides", "get_dtype", "dtype_size", "get_device", "data_ptr", "words_scalar_operand"),
    *("from_data", "get_default_dtype", "get_default_device", "to_dlpack", "from_dlpack", "dlpack_free"),
)


def load():
    """The functions of libtensor_direct.so; None where they cannot work."""
    if sys.implementation.name != "cpython" or object.__basicsize__ != 2 * ctypes.sizeof(c_void_p):
        return None
    if SUBINTERPRETER or os.environ.get("LIBTENSOR_PLAIN_CALLS", "0") != "0":
        return None
    paths = [os.path.join(folder, "libtensor_direct.so") for folder in (os.path.dirname(path), *folders())]
    for each in paths:
        if os.path.exists(each):
            return ctypes.PyDLL(each)
    raise ImportError("libtensor_direct.so is missing; reinstall the package. Tried:\n  " + "\n  ".join(paths))


direct = load()

if direct:
    direct.direct_tensor_base.restype = direct.direct_function_class.restype = py_object
    TensorBase = direct.direct_tensor_base()
    # Pickled and copied by name, as functions are.
    copyreg.pickle(direct.direct_function_class(), attrgetter("__qualname__"))
    direct.direct_start.restype = c_bool
    direct.direct_start.argtypes = c_void_p, c_int, py_object
    _overrides.intercept = direct.direct_intercept
    direct.direct_entry.argtypes = c_void_p, c_void_p, c_int, py_object, c_int, c_char_p, c_int, py_object, py_object, py_object
    direct.direct_entry.restype = c_void_p
    direct.direct_function.argtypes = py_object, POINTER(c_void_p), c_int, c_int, c_bool, c_bool
    direct.direct_getter.argtypes = py_object, c_int, c_void_p, c_bool
    direct.direct_function.restype = direct.direct_getter.restype = py_object
else:

    class TensorBase:
        __slots__ = ("_h",)

        def __del__(self, free=free):
            if hasattr(self, "_h"):
                free(self._h)


def start(tensor, size, dtypes, cpu):
    """Tells the classes and constants of the Python side."""
    _overrides.Tensor = tensor
    if direct:
        functions = [address("tensor_" + name) for name in FUNCTIONS]
        python = tensor, size, dtypes, cpu, "dtype", failure, _overrides.dispatch, _overrides.NOBODY, signature
        if not direct.direct_start((c_void_p * len(functions))(*functions), len(functions), python):
            raise ImportError("libtensor_direct.so is of another build than this package")


def address(name):
    return ctypes.cast(library[name], c_void_p).value


def entry(function, result, several, kinds, words, number_words=None):
    """A word form with the names and defaults of the parameters of a Python function. `several` is the type of several results."""
    code, defaults = function.__code__, dict(function.__kwdefaults__ or {})
    positional = code.co_varnames[: code.co_argcount]
    defaults |= zip(reversed(positional), reversed(function.__defaults__ or ()), strict=False)
    names = code.co_varnames[: len(kinds)]
    absent = tuple(plain(defaults.get(name, required)) for name in names)
    number = number_words and address(number_words)
    results, taken = getattr(several, "n_fields", 0), min(len(positional), len(kinds))
    made = direct.direct_entry(address(words), number, result, several, results, kinds.encode(), taken, names, absent, required)
    assert made, f"{words} has too many parameters"
    return made


def plain(default):
    """A default as a caller would give it."""
    return Cell.from_buffer_copy(default).number() if isinstance(default, Scalar) else default


def signature(function):
    """What inspect and help() show: for several overloads the parameters of all, those that not every one has as optional."""
    from . import _signature

    return _signature.of(function)


def overridable(name):
    """Tells whether arguments with __torch_function__ take the calls of a function over: of the public ones, and of subscripts."""
    return name[0] != "_" or name in ("__getitem__", "__setitem__")


def callable_of(fallback, entries, how=CALLS, explains=False):
    taken_over = overridable(fallback.__name__) and how < MAKES_TENSOR
    if not direct:
        return guarded(fallback) if taken_over else fallback
    made = direct.direct_function(fallback, (c_void_p * len(entries))(*entries), len(entries), how, taken_over, explains)
    made.entries = entries
    return described(made, fallback)


def guarded(function):
    """A Python function whose calls arguments with __torch_function__ take over."""

    @wraps(function)
    def call(*args, **kwargs):
        found = _overrides.dispatch(call, args, kwargs) if _overrides.concerned(args, kwargs) else _overrides.NOBODY
        return function(*args, **kwargs) if found is _overrides.NOBODY else found

    return call


def described(made, fallback):
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(made, name, getattr(fallback, name))
    made.__wrapped__ = fallback
    return made


def open_to_overrides(function):
    """The decorator of a function without a way of its own to the library."""
    return callable_of(function, [])


def decorator(result):
    def decorate(kinds, *words, several=tuple):
        return lambda function: callable_of(function, [entry(function, result, several, kinds, *words)] if direct else [])

    return decorate


# Decorators of functions that make a tensor, make a view, change and return their first argument, give a tuple of tensors, tell
# whether something is so.
makes, views, changes, with_several, lists, tells = map(decorator, (MAKES, VIEWS, CHANGES, SEVERAL, LISTS, TELLS))


def several(type, kinds, *words):
    """The decorator of a function that gives a named tuple of tensors."""
    return with_several(kinds, *words, several=type)


def first(*overloads, how=CALLS, forms=(), explains=False):
    """The decorator of a function that calls one of others: they are tried in turn before it is called.

    `forms` are all overloads of which it chooses, for its signature; with `explains` it has an error of its own for what the
    library refuses.
    """

    def decorate(function):
        function.forms = forms or overloads
        return callable_of(function, [e for overload in overloads for e in getattr(overload, "entries", ())], how, explains)

    return decorate


def reflected(other):
    """The decorator of a method that calls a function with its two operands exchanged."""
    return first(other, how=REFLECTS)


def subscript(*overloads):
    """The decorator of __getitem__, with the functions that take an int, a slice and other keys."""
    return first(*overloads, how=SUBSCRIPTS)


def getter(reads, name, overridable=False):
    """The decorator of a method that asks a C function about a tensor."""

    def decorate(function):
        if not direct:
            return guarded(function) if overridable else function
        return described(direct.direct_getter(function, reads, address(name), overridable), function)

    return decorate


def element(name):
    """The decorator of a function that gives the one element of a tensor."""
    return getter(ELEMENT, name, overridable=True)


def special(how):
    """The decorator of a function of its own kind."""
    return lambda function: callable_of(function, [], how)
