"""The callables that convert a Python call to a call of the library, which direct/direct.c creates, and the base class of Tensor."""

import copyreg
import ctypes
import os
import sys
from ctypes import c_bool, c_char, c_char_p, c_int, c_void_p, py_object
from operator import attrgetter

from . import overrides as _overrides
from .errors import failure
from .library import folders, library, path

NUMBER, DTYPE, DEVICE, LIST, ELEMENTS, BYTES, CONTIGUOUS, LENGTH, SIZES, STRIDES = range(10)
CALLS, OPERATES, REFLECTS, SUBSCRIPTS, ASSIGNS, MAKES_TENSOR, OF_SEQUENCE, RECEIVES, LENDS, APPLIES, SWITCHES, NEGATES = range(12)

# The functions of the library that direct.h lists.
FUNCTIONS = (
    *(
        "operator",
        "free",
        "list_free",
        "string_free",
        "string_list_free",
        "dim",
        "numel",
        "same_memory",
        "lazy",
        "sizes",
        "strides",
        "get_dtype",
        "dtype_size",
        "get_device",
        "get_layout",
    ),
    *(
        "hold",
        "let_go",
        "scalar_operand",
        "get_default_device",
        "dim_by_name",
        "to_dlpack",
        "from_dlpack",
        "dlpack_free",
        "lend",
        "last_error",
    ),
    *("list_begin", "list_open", "list_number", "list_beyond", "list_end"),
    *("is_transforming", "exchange_grad_enabled", "gradient_kinds", "sole_context", "detach", "view_as"),
    *("requires_grad", "new_handle", "record_function_weak", "node_free"),
)


def load():
    """Loads libtensor_direct.so."""
    if sys.implementation.name != "cpython" or object.__basicsize__ != 2 * ctypes.sizeof(c_void_p):
        raise ImportError("libtensor requires a standard build of CPython (not free-threaded, no Py_TRACE_REFS)")
    paths = [os.path.join(folder, "libtensor_direct.so") for folder in (os.path.dirname(path), *folders())]
    for each in paths:
        if os.path.exists(each):
            return ctypes.PyDLL(each)
    raise ImportError("libtensor_direct.so is missing; reinstall the package. Tried:\n  " + "\n  ".join(paths))


def address(name):
    return ctypes.cast(library[name], c_void_p).value


def bind(name, result, *argtypes):
    """Returns a function of libtensor_direct.so. Functions that an interpreter's callables use take its state as the first argument."""
    function = direct[f"direct_{name}"]
    function.restype, function.argtypes = result, argtypes
    return function


direct = load()
TensorBase = bind("tensor_base", py_object)()
NodeBase = bind("node_base", py_object)()
functions = [address("tensor_" + name) for name in FUNCTIONS]
state = bind("state", c_void_p, c_void_p, c_int)((c_void_p * len(functions))(*functions), len(functions))
if state is None:
    raise ImportError("libtensor_direct.so is from another build than this package; reinstall the package")
d_start, d_help = (bind(name, c_bool, c_void_p, py_object) for name in ("start", "help"))
d_convert = bind("convert", None, c_void_p, c_char, py_object)
d_plain = bind("plain", c_bool, c_void_p, py_object)
d_kin = bind("kin", None, c_void_p, py_object)
d_intercept = bind("intercept", None, c_void_p, c_int)
d_function = bind("function", py_object, c_void_p, py_object, c_char_p, c_bool, c_int, c_bool, py_object, py_object, py_object)
d_getter = bind("getter", py_object, c_void_p, py_object, c_int, c_void_p)
d_apply_with = bind("apply_with", None, c_void_p, py_object, py_object)
d_ctx = bind("ctx", py_object, c_void_p)
# Pickled and copied by name, like functions.
copyreg.pickle(bind("function_class", py_object, c_void_p)(state), attrgetter("__qualname__"))
_overrides.intercept = lambda change: d_intercept(state, change)


def start(tensor, size, dtypes, cpu):
    """Passes the classes and constants of the Python side to C."""
    _overrides.Tensor = tensor
    if not d_start(state, (tensor, size, dtypes, cpu, failure, _overrides.dispatch, _overrides.NOBODY)):
        raise ImportError("libtensor_direct.so is from another build than this package; reinstall the package")


def help_with(*functions):
    """Passes the functions that report invalid arguments and that create other objects than tensors, in the order of direct_help."""
    if not d_help(state, functions):
        raise ImportError("libtensor_direct.so is from another build than this package; reinstall the package")


def kin(cls):
    """Registers the subclass of Tensor without slots whose calls are as fast as Tensor's: a call returns this class if an argument is an
    instance, and does not ask its __torch_function__.
    """
    _overrides.Kin = cls
    d_kin(state, cls)


def plain(cls):
    """Registers a subclass of Tensor without slots, whose operations return Tensors: calls with its tensors take no longer than those with
    Tensors.
    """
    cls.__torch_function__ = _overrides.disabled_torch_function
    if not d_plain(state, cls):
        raise ImportError(f"libtensor_direct.so supports no further subclass of Tensor: {cls.__name__}")
    return cls


def convert(kinds, function):
    """Registers the converters of arguments that C does not convert, by the letters of their kinds (capi/value.h)."""
    for kind in kinds:
        d_convert(state, kind.encode(), function)


def overridable(name):
    """Sets whether arguments with __torch_function__ are asked: by public functions, and by subscripts."""
    return name[0] != "_" or name in ("__getitem__", "__setitem__")


def function(name, operators="", how=CALLS, inplace=False, fallback=None, explains=None, results=None):
    """Returns a callable without a name and documentation that Python sees. `explains` raises the error for the first invalid argument of a
    failed call; for an operator with two operands it converts the other operand, for a function of sequences an item.
    """
    taken_over = overridable(name) and (how < MAKES_TENSOR or how == SWITCHES)
    made = d_function(state, name, operators.encode(), inplace, how, taken_over, fallback, explains, results)
    if made is None:
        raise ImportError(f"{path} has not all operators of {name} ({operators}): it is of another build than this package")
    made.operators = operators
    return made


def described(made, function):
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(made, name, getattr(function, name))
    made.__wrapped__ = function
    return made


def operators(names, inplace=False, results=None, how=CALLS, switches=False):
    """Decorates a function that represents operators in help(): a call selects the first operator whose parameters accept the arguments;
    with `switches`, the flag inplace selects the in-place variant.
    """

    def decorate(stub):
        written = function(stub.__name__ + "_", names, inplace=True) if switches else None
        return described(function(stub.__name__, names, SWITCHES if switches else how, inplace, explains=written, results=results), stub)

    return decorate


def first(names, how=CALLS, inplace=False):
    """Decorates a function that is called if the operator's parameters do not accept the arguments."""
    return lambda fallback: described(function(fallback.__name__, names, how, inplace, fallback), fallback)


def special(how, item=None):
    """Decorates a function of a special kind; `item` converts items of sequences."""
    return lambda fallback: described(function(fallback.__name__, how=how, fallback=fallback, explains=item), fallback)


def open_to_overrides(fallback):
    """Decorates a function that is implemented in Python alone."""
    return first("")(fallback)


def getter(reads, name):
    """Decorates a method that queries a tensor through a C function; the method is the fallback."""
    return lambda fallback: described(d_getter(state, fallback, reads, address(name)), fallback)
