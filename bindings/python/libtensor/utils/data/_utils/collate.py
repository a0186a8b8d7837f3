"""Collation: batches from samples."""

from __future__ import annotations

import collections.abc
import copy
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

from .... import as_tensor, float64, stack, strided, tensor
from ...._core.tensor import Tensor
from . import arena

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

CollateMap = Mapping[Any, Callable[..., Any]]
np_str_obj_array_pattern = re.compile(r"[SaUO]")
default_collate_err_msg_format = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


class _NumpyMeta(type):
    """The type of classes whose instances are those of NumPy classes, by name, without importing NumPy."""

    names: tuple[str, ...]

    def __instancecheck__(cls, instance: object) -> bool:
        numpy = sys.modules.get("numpy")
        return numpy is not None and isinstance(instance, tuple(getattr(numpy, name) for name in cls.names if hasattr(numpy, name)))


class NumpyArray(metaclass=_NumpyMeta):
    """NumPy's arrays."""

    names = ("ndarray",)


class NumpyScalar(metaclass=_NumpyMeta):
    """NumPy's numbers and bools."""

    names = ("bool_", "number", "object_")


def _copied_container(container: Any, entries: Any) -> Any:
    """Returns a container of the type of `container` with `entries`, keys or positions with values; None if the type cannot be filled."""
    try:
        if isinstance(container, collections.abc.Mapping):
            if not isinstance(container, collections.abc.MutableMapping):
                return type(container)(dict(entries))  # type: ignore[call-arg]
            made: Any = copy.copy(container)
            made.update(dict(entries))
        elif isinstance(container, collections.abc.MutableSequence):
            made = copy.copy(container)
            for i, value in entries:
                made[i] = value
        else:
            made = type(container)([value for _, value in entries])
    except TypeError:  # such as a range, whose constructor takes no list
        return None
    return made


def default_convert(data: Any) -> Any:
    """Returns `data` with NumPy arrays and scalars as tensors, at any depth of mappings, named tuples and sequences. Arrays of strings and
    objects are unchanged. DataLoader uses it for `batch_size=None`.

    >>> torch.utils.data.default_convert({"x": 1, "y": (2, "z")})
    {'x': 1, 'y': [2, 'z']}
    """
    if isinstance(data, Tensor):
        return data
    if isinstance(data, NumpyArray) or isinstance(data, NumpyScalar):  # noqa: SIM101 - no classes to type checkers
        array: Any = data
        return array if array.dtype.kind in "SUO" else as_tensor(array)
    if isinstance(data, collections.abc.Mapping):
        made = {key: default_convert(value) for key, value in data.items()}
        filled = _copied_container(data, made.items())
        return made if filled is None else filled
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, (str, bytes)):
        values = [default_convert(value) for value in data]
        filled = _copied_container(data, enumerate(values))
        return values if filled is None else filled
    return data


def collate(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Returns a batch of samples of one type: `collate_fn_map` has functions for types, or tuples of types, which take the samples and
    `collate_fn_map`; the values of mappings, named tuples and sequences are batched one by one.

    Raises RuntimeError for sequences of different lengths, TypeError for types without a function.
    """
    first = batch[0]
    kind = type(first)
    functions = collate_fn_map or {}
    if kind in functions:
        return functions[kind](batch, collate_fn_map=collate_fn_map)
    for known, function in functions.items():
        if isinstance(first, known):
            return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, collections.abc.Mapping):
        columns = {key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map) for key in first}
        filled = _copied_container(first, columns.items())
        return columns if filled is None else filled
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=True)))
    if isinstance(first, collections.abc.Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        values = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=True)]
        if isinstance(first, tuple):
            return values
        filled = _copied_container(first, enumerate(values))
        return values if filled is None else filled
    raise TypeError(default_collate_err_msg_format.format(kind))


def collate_tensor_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Stacks tensors; in a worker process in the shared memory of its batch."""
    first, out = batch[0], None
    if first.layout is not strided:
        raise RuntimeError(
            "Batches of sparse tensors are not currently supported by the default collate_fn; please provide a custom collate_fn to handle "
            "them appropriately."
        )
    if arena.current is not None and all(type(t) is Tensor and t.shape == first.shape and t.dtype is first.dtype for t in batch):
        out = arena.current.empty((len(batch), *first.shape), first)
    return stack(batch, 0, out=out)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Stacks arrays of numbers as tensors."""
    if batch[0].dtype.kind in "SUO":
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Returns a tensor of NumPy's scalars."""
    return as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Returns a float64 tensor of floats."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Returns a tensor of ints or bools."""
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Returns the strings unchanged."""
    return batch


default_collate_fn_map: dict[Any, Callable[..., Any]] = {
    Tensor: collate_tensor_fn,
    NumpyArray: collate_numpy_array_fn,
    NumpyScalar: collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """Returns a batch of samples: tensors and arrays are stacked along a new first dimension, numbers become a tensor, strings a list; the
    values of mappings, named tuples and sequences are batched one by one.

    Raises TypeError for samples of other types, RuntimeError for sequences or tensors of different sizes and for sparse tensors.

    >>> torch.utils.data.default_collate([{"x": 1, "y": (2.0, "a")}, {"x": 3, "y": (4.0, "b")}])
    {'x': tensor([1, 3]), 'y': [tensor([2., 4.], dtype=torch.float64), ('a', 'b')]}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
