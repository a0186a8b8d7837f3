"""Python functions that the library calls. Each has a number, which is the context that C passes on."""

from ctypes import POINTER, c_bool, c_int32, c_int64, c_void_p, cast
from itertools import count

from .._base.errors import guarded
from .._base.library import SUBINTERPRETER, called_back
from .._core.results import wrap
from .._core.tensor import Tensor
from .._gen import gen_functions as _f

handles = POINTER(c_void_p)

# Objects that the library refers to, until it calls the deleter.
kept = {}
numbers = count(1)  # not NULL


def keep(thing):
    """Returns the number of an object, which is kept until the library calls the deleter."""
    if SUBINTERPRETER:
        raise NotImplementedError("callbacks are not supported in a subinterpreter, which can end before the library")
    number = next(numbers)
    kept[number] = thing
    return number


def kept_by(take, thing):
    """Returns the result of a library function that takes ownership of the number of an object, unless it fails."""
    number = keep(thing)
    try:
        return take(number)
    except BaseException:
        kept.pop(number, None)
        raise


def address(function):
    return cast(function, c_void_p).value


def taken(handle_array, i):
    """Returns the tensor of an output argument, which owns the handle; None if the handle is null."""
    handle = handle_array[i]
    if not handle:
        return None
    handle_array[i] = None
    return wrap(handle)


def handed(tensor):
    """Returns a new handle to a tensor, which the library owns."""
    made = _f.new_handle(tensor)
    handle, made._h = made._h, 0
    return handle


@called_back(c_int32, c_void_p, handles, c_int64, handles, c_int64)
@guarded
def call(context, given, given_len, made, made_len):
    results = kept[context]([taken(given, i) for i in range(given_len)], made_len)
    for i, tensor in enumerate(results or ()):
        if tensor is not None:
            made[i] = handed(tensor)


@called_back(c_int32, c_void_p, handles, handles)
@guarded
def pack(context, saved, packed):
    packed[0] = keep(kept[context][0](taken(saved, 0)))


@called_back(c_int32, c_void_p, c_void_p, handles)
@guarded
def unpack(context, packed, made):
    tensor = kept[context][1](kept[packed])
    if not isinstance(tensor, Tensor):
        raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(tensor).__name__}")
    made[0] = handed(tensor)


@called_back(None, c_void_p)
def release(context, pop=kept.pop):
    pop(context, None)


CALL, PACK, UNPACK, DELETER = map(address, (call, pack, unpack, release))


def watcher(function):
    """Returns a tensor_watcher that calls function(handle of a node, whether its gradient has failed)."""
    return called_back(None, c_void_p, c_void_p, c_bool)(lambda _, node, failed: function(node, failed))
