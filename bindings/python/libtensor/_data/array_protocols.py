"""NumPy's protocols __array_function__ and __array_ufunc__: NumPy functions of tensors return tensors.

NumPy computes on arrays that share memory with the tensors, and results are tensors that share memory with its arrays: nothing is copied,
and values and dtypes are NumPy's. If NumPy cannot read a tensor (because it requires grad, is on another device, of bfloat16, sparse, ...),
the libtensor function of array_functions.py is called, if there is one.
"""

from collections.abc import Sequence, ValuesView
from contextlib import nullcontext

from .._base import dtypes as _dtypes
from .._base import overrides as _overrides
from .._core.convert import foreign
from .._core.modes import no_grad
from .._core.tensor import Tensor
from .._gen import gen_functions as _f
from .dlpack import from_numpy, is_number, to_numpy
from .interop import FROM_TYPESTR

# The operator methods of a right operand: the operators of ndarray call the ufunc, which does not know that it was an operator.
REFLECTED = {
    "add": "__radd__",
    "subtract": "__rsub__",
    "multiply": "__rmul__",
    "divide": "__rtruediv__",
    "floor_divide": "__rfloordiv__",
    "remainder": "__rmod__",
    "power": "__rpow__",
    "matmul": "__rmatmul__",
    "bitwise_and": "__rand__",
    "bitwise_or": "__ror__",
    "bitwise_xor": "__rxor__",
    "left_shift": "__rlshift__",
    "right_shift": "__rrshift__",
    "equal": "__eq__",
    "not_equal": "__ne__",
    "less": "__gt__",
    "less_equal": "__ge__",
    "greater": "__lt__",
    "greater_equal": "__le__",
}

# Functions that write to their first argument.
WRITE = frozenset(("copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"))

# Functions that return properties of arrays, through which no gradient flows.
TELL = frozenset(("array2string", "array_repr", "array_str", "array_equiv", "common_type", "may_share_memory", "min_scalar_type"))
TELL |= {"result_type", "shares_memory"}


def is_sequence(value):
    """Returns whether a value can have tensors as items: a list, any tuple, a deque, the values of a dict."""
    if isinstance(value, (list, tuple)):
        return True
    return isinstance(value, (Sequence, ValuesView)) and not isinstance(value, (str, bytes, bytearray, memoryview, range))


def each(function, sequence):
    """Applies a function to the items of a sequence; returns a tuple for a tuple, a list for other sequences."""
    made = [function(item) for item in sequence]
    return tuple(made) if isinstance(sequence, tuple) else made


class Lent:
    """The arrays that share memory with the tensors of a call, and the reason why one of them has no array."""

    def __init__(self):
        self.owners, self.arrays, self.error = [], [], None

    def lend(self, value):
        """Replaces each tensor in a value by an array."""
        if isinstance(value, Tensor):
            self.owners.append(value)
            self.arrays.append(self.array(value))
            return self.arrays[-1]
        return each(self.lend, value) if is_sequence(value) else value

    def keywords(self, kwargs):
        """lend() for keyword arguments. An array that is written to is returned itself."""
        out = kwargs.get("out")
        for array in out if isinstance(out, tuple) else (out,):
            if array is not None and not isinstance(array, Tensor):
                self.owners.append(array)
                self.arrays.append(array)
        return {key: self.lend(value) for key, value in kwargs.items()}

    def array(self, tensor):
        if type(tensor) is not Tensor:
            with _overrides.disabled():
                return self.of_plain(tensor)
        return self.of_plain(tensor)

    def of_plain(self, tensor):
        try:
            if tensor.has_names():
                raise TypeError("NumPy does not support named dimensions; use rename(None) to drop the names")
            if tensor.dtype is _dtypes.bfloat16:
                raise TypeError("NumPy has no bfloat16; convert with float()")
            return to_numpy(tensor)
        except (BufferError, RuntimeError, TypeError) as error:
            self.error = str(error)  # the exception itself would form a reference cycle with this frame
            return None

    def kind(self):
        """Returns the class of results: the most derived one among the classes that results keep."""
        kinds = {type(owner) for owner in self.owners if _overrides.keeps(owner)}
        return max(kinds, key=lambda kind: len(kind.__mro__), default=Tensor)

    def taken(self, value):
        """Replaces each array and scalar in a NumPy result by a tensor. The array of an argument becomes that argument again."""
        if isinstance(value, tuple):
            made = [self.taken(item) for item in value]
            return value._make(made) if hasattr(value, "_make") else tuple(made)
        if value.__class__ is list:
            return [self.taken(item) for item in value]
        array = value.__array__() if is_number(value) else value
        if not is_array(array):
            return value
        for owner, lent in zip(self.owners, self.arrays, strict=True):
            if lent is value:
                return owner
        return _overrides.converted(from_numpy(array), self.kind())


def is_array(value):
    """Returns whether a value is a plain NumPy array of a dtype that tensors support."""
    import numpy

    return value.__class__ is numpy.ndarray and value.dtype.str in FROM_TYPESTR


def tensors_of(value):
    """Replaces each array in a value by a tensor, and each NumPy scalar by a Python number."""
    if is_sequence(value):
        return each(tensors_of, value)
    if is_number(value):
        number = foreign(value)
        return value if number is None else number
    return from_numpy(value) if is_array(value) else value


def stand_in(name, lent, find, args, kwargs):
    """Returns the result of libtensor's implementation of a NumPy function; `find` looks it up in array_functions."""
    from . import array_functions

    try:
        if any(not isinstance(owner, Tensor) for owner in lent.owners):
            raise array_functions.NotThere("out= is an array, which cannot take the result for this tensor")
        result = find(array_functions)(*tensors_of(args), **{key: tensors_of(value) for key, value in kwargs.items()})
    except array_functions.NotThere as missing:
        raise TypeError(f"{name}(): {missing}. NumPy cannot compute it either: {lent.error}") from None
    return _overrides.converted(result, lent.kind())


def written(value):
    """Increments the version of a tensor, or of the tensors of a tuple, after a write: a backward pass that needs the previous value raises
    an error.
    """
    for one in value if isinstance(value, tuple) else (value,):
        if isinstance(one, Tensor):
            _f.increment_version(one)


def array_function(tensor, function, types, args, kwargs):
    """Tensor.__array_function__."""
    import numpy

    plain = numpy.ndarray.__array_function__
    if not all(issubclass(kind, Tensor) or kind.__array_function__ is plain for kind in types):
        return NotImplemented
    lent, name = Lent(), function.__name__
    with no_grad() if name in TELL else nullcontext():
        arrays, named = lent.lend(args), lent.keywords(kwargs)
    if lent.error is not None:
        module = function.__module__
        return stand_in(f"{module}.{name}", lent, lambda table: table.function(f"{module}.{name}"), args, kwargs)
    if (
        not lent.owners
    ):  # numpy.zeros(2, like=tensor), or tensors inside objects that lend() does not search, which NumPy converts to arrays
        function = getattr(function, "_implementation", function)
    result = lent.taken(function(*arrays, **named))
    written((*args[:1], *map(kwargs.get, ("dst", "a", "arr"))) if name in WRITE else kwargs.get("out"))
    if isinstance(result, Tensor) and all(owner is not tensor for owner in lent.owners):
        return _overrides.converted(result.to(tensor.device), type(tensor))
    return result


def reflects(name, array, tensor):
    """Returns whether a ufunc call of an array and a tensor is the tensor's operator. Matrix products of tensors require equal dtypes,
    NumPy's do not.
    """
    import numpy

    if name not in REFLECTED or not isinstance(array, (numpy.ndarray, numpy.generic)):
        return False
    return name != "matmul" or array.dtype == tensor.dtype


def array_ufunc(tensor, ufunc, method, inputs, kwargs):
    """Tensor.__array_ufunc__."""
    import numpy

    plain, name = numpy.ndarray.__array_ufunc__, ufunc.__name__
    for value in (*inputs, *kwargs.get("out", ())):
        if not isinstance(value, Tensor) and getattr(type(value), "__array_ufunc__", plain) is not plain:
            return NotImplemented
    if method == "__call__" and not kwargs and len(inputs) == 2 and reflects(name, *inputs):
        result = getattr(inputs[1], REFLECTED[name])(inputs[0])
        if result is not NotImplemented:  # NumPy computes with arrays of dtypes that tensors do not support
            return result
    lent = Lent()
    arrays, named = lent.lend(inputs), lent.keywords(kwargs)
    if lent.error is not None:
        called = f"numpy.{name}" if method == "__call__" else f"numpy.{name}.{method}"
        return stand_in(called, lent, lambda table: table.ufunc(ufunc, method), inputs, kwargs)
    result = lent.taken(getattr(ufunc, method)(*arrays, **named))
    written(inputs[0] if method == "at" else kwargs.get("out"))
    return result
