"""The callables that turn a Python call into one of the library, which direct/direct.c makes, and the base class of Tensor."""

import copyreg
import ctypes
import os
import sys
from ctypes import c_bool, c_char, c_char_p, c_int, c_void_p, py_object
from operator import attrgetter

from . import overrides as _overrides
from .errors import failure
from .library import folders, library, path

NUMBER, DTYPE, DEVICE, LIST, BYTES, CONTIGUOUS, LENGTH, SIZES, STRIDES = range(9)
CALLS, OPERATES, REFLECTS, SUBSCRIPTS, ASSIGNS, MAKES_TENSOR, OF_SEQUENCE, RECEIVES, LENDS, APPLIES, SWITCHES = range(11)

# The library's functions that direct.h lists.
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
    *("hold", "let_go", "scalar_operand", "get_default_device", "dim_by_name", "to_dlpack", "from_dlpack", "dlpack_free", "lend", "last_error"),
    *("list_begin", "list_open", "list_number", "list_beyond", "list_end"),
    *("is_transforming", "exchange_grad_enabled", "gradient_kinds", "sole_context", "detach", "view_as"),
    *("requires_grad", "new_handle", "record_function_weak", "node_free"),
)


def load():
    """libtensor_direct.so."""
    if sys.implementation.name != "cpython" or object.__basicsize__ != 2 * ctypes.sizeof(c_void_p):
        raise ImportError("libtensor works with CPython in its usual build, whose objects begin with a count and a class")
    paths = [os.path.join(folder, "libtensor_direct.so") for folder in (os.path.dirname(path), *folders())]
    for each in paths:
        if os.path.exists(each):
            return ctypes.PyDLL(each)
    raise ImportError("libtensor_direct.so is missing; reinstall the package. Tried:\n  " + "\n  ".join(paths))


def address(name):
    return ctypes.cast(library[name], c_void_p).value


def bind(name, result, *argtypes):
    """One of its functions; those that are called for an interpreter's callables begin with their state."""
    function = direct[f"direct_{name}"]
    function.restype, function.argtypes = result, argtypes
    return function


direct = load()
TensorBase = bind("tensor_base", py_object)()
NodeBase = bind("node_base", py_object)()
functions = [address("tensor_" + name) for name in FUNCTIONS]
state = bind("state", c_void_p, c_void_p, c_int)((c_void_p * len(functions))(*functions), len(functions))
if state is None:
    raise ImportError("libtensor_direct.so is of another build than this package")
d_start, d_help = (bind(name, c_bool, c_void_p, py_object) for name in ("start", "help"))
d_convert = bind("convert", None, c_void_p, c_char, py_object)
d_plain = bind("plain", c_bool, c_void_p, py_object)
d_kin = bind("kin", None, c_void_p, py_object)
d_intercept = bind("intercept", None, c_void_p, c_int)
d_function = bind("function", py_object, c_void_p, py_object, c_char_p, c_bool, c_int, c_bool, py_object, py_object, py_object)
d_getter = bind("getter", py_object, c_void_p, py_object, c_int, c_void_p)
d_apply_with = bind("apply_with", None, c_void_p, py_object, py_object)
d_ctx = bind("ctx", py_object, c_void_p)
# Pickled and copied by name, as functions are.
copyreg.pickle(bind("function_class", py_object, c_void_p)(state), attrgetter("__qualname__"))
_overrides.intercept = lambda change: d_intercept(state, change)


def start(tensor, size, dtypes, cpu):
    """Tells the classes and constants of the Python side."""
    _overrides.Tensor = tensor
    if not d_start(state, (tensor, size, dtypes, cpu, failure, _overrides.dispatch, _overrides.NOBODY)):
        raise ImportError("libtensor_direct.so is of another build than this package")


def help_with(*functions):
    """Tells the functions that refuse arguments and that make other objects than tensors, in the order of direct_help."""
    if not d_help(state, functions):
        raise ImportError("libtensor_direct.so is of another build than this package")


def kin(cls):
    """Tells a subclass of Tensor, with no slots of its own, that calls take no longer for than Tensor: they give it where an argument is one,
    and its __torch_function__ is not asked."""
    _overrides.Kin = cls
    d_kin(state, cls)


def plain(cls):
    """Registers a subclass of Tensor without slots, whose operations return Tensors: calls with its tensors take no longer than those with
    Tensors."""
    cls.__torch_function__ = _overrides.disabled_torch_function
    if not d_plain(state, cls):
        raise ImportError(f"libtensor_direct.so has no room for another plain subclass of Tensor, {cls.__name__}")
    return cls


def convert(kinds, function):
    """Tells what converts values that are not plain to arguments of some kinds, by their letters (capi/value.h)."""
    for kind in kinds:
        d_convert(state, kind.encode(), function)


def overridable(name):
    """Tells whether arguments with __torch_function__ take the calls of a function over: of the public ones, and of subscripts."""
    return name[0] != "_" or name in ("__getitem__", "__setitem__")


def function(name, operators="", how=CALLS, inplace=False, fallback=None, explains=None, results=None):
    """A callable without a name and documentation that Python sees. `explains` refuses the first argument of a call that the library
    has refused; of an operator with two operands it converts the other one, and of what takes sequences an item."""
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
    """The decorator of what stands for operators in help(): calls go to the first of them whose parameters the arguments fit; of what
    `switches`, those with the flag inplace to its form in place."""

    def decorate(stub):
        written = function(stub.__name__ + "_", names, inplace=True) if switches else None
        return described(function(stub.__name__, names, SWITCHES if switches else how, inplace, explains=written, results=results), stub)

    return decorate


def first(names, how=CALLS, inplace=False):
    """The decorator of a function that is called where an operator's parameters do not fit the arguments as they are."""
    return lambda fallback: described(function(fallback.__name__, names, how, inplace, fallback), fallback)


def special(how, item=None):
    """The decorator of a function of its own kind; `item` converts items of sequences."""
    return lambda fallback: described(function(fallback.__name__, how=how, fallback=fallback, explains=item), fallback)


def open_to_overrides(fallback):
    """The decorator of a function without a way of its own to the library."""
    return first("")(fallback)


def getter(reads, name):
    """The decorator of a method that asks a C function about a tensor, and is called where that has no answer."""
    return lambda fallback: described(d_getter(state, fallback, reads, address(name)), fallback)
