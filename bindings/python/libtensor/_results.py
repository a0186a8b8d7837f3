"""Turns what C returns into Python objects."""

import ctypes
from ctypes import c_void_p

from ._direct import TensorBase
from ._errors import failure
from ._library import cells, list_free, string_free, string_list_free
from ._tensor import Tensor

new, put = TensorBase.__new__, cells.append


def made(status, cell):
    """The Tensor that a function has made, whose handle is in a cell."""
    if status:
        raise failure(status)
    tensor = new(Tensor)
    tensor._h = cell.p
    put(cell)
    return tensor


def wrap(handle):
    """The Tensor that owns a handle; None for NULL."""
    if not handle:
        return None
    tensor = new(Tensor)
    tensor._h = handle
    return tensor


def leaf(tensor, requires_grad):
    """A tensor that was just made, as one whose gradient is wanted or not."""
    return tensor.requires_grad_() if requires_grad else tensor


def wrap_list(array, count):
    """The Tensors of a list result, as a tuple."""
    handles = (c_void_p * count).from_address(array)[:]
    list_free(array, 0)
    return tuple(map(wrap, handles))


def string(address):
    """The text of a string result."""
    text = ctypes.string_at(address).decode()
    string_free(address)
    return text


def strings(array, count):
    """The texts of a list result, as a tuple."""
    texts = tuple(ctypes.string_at(address).decode() for address in (c_void_p * count).from_address(array))
    string_list_free(array, count)
    return texts


def result_type(name, fields):
    """The tuple type of a function with several results, as in torch.return_types."""

    def show(self):
        return f"torch.return_types.{name}(\n" + ",\n".join(f"{f}={v!r}" for f, v in zip(fields, self, strict=True)) + ")"

    def reduce(self):
        return rebuild, (name, fields, tuple(self))

    body = {"__slots__": (), "__repr__": show, "__reduce__": reduce, "_fields": fields, "__match_args__": fields}
    body |= {"n_fields": len(fields), "n_sequence_fields": len(fields), "__module__": "libtensor.return_types"}
    for i, field in enumerate(fields):
        body[field] = property(lambda self, i=i: self[i])
    kind = type(name, (tuple,), body)
    types.setdefault(name, kind)
    return kind


# The result types by name, which libtensor.return_types offers.
types = {}


def rebuild(name, fields, values):
    return result_type(name, fields)(values) if name not in types else types[name](values)
