"""Operators that C, C++ or Node have defined in the process (tensor_define_operator), as attributes of torch.ops."""

from __future__ import annotations

from ctypes import POINTER, byref, c_char_p, c_int64, c_void_p
from typing import Any

from .._base.errors import failure
from .._base.library import bind, getter
from .._core.tensor import Tensor
from . import calls
from .operators import OpOverload, OpOverloadPacket, others
from .schemas import Schema

__all__ = ["find_shared", "list_shared"]

c_names = bind("tensor_custom_operator_names", POINTER(POINTER(c_char_p)), POINTER(c_int64))
c_free_names = getter("tensor_string_list_free", None, c_void_p, c_int64)


class SharedOverload(OpOverload):
    """An operator that another language has defined. A call runs it through tensor_call."""

    def __init__(self, name: str, schema: str) -> None:
        qualname, _, overload = name.partition(".")
        super().__init__(qualname, overload or "default", Schema(schema), False)
        self.is_fixed = True

    def invoke(self, values: list[Any]) -> Any:
        return self.call(values)  # the library reports the call to the observer

    def call(self, values: list[Any]) -> Any:
        positional = [_plain(v) for a, v in zip(self.schema.arguments, values, strict=True) if not a.kwarg_only]
        keywords = {a.name: _plain(v) for a, v in zip(self.schema.arguments, values, strict=True) if a.kwarg_only}
        try:
            results = calls.call_operator(self.name(), positional, keywords)
        except calls.Unsupported:
            raise TypeError(f"{self.name()}: an argument has a class that operators of other languages do not accept") from None
        return results[0] if len(results) == 1 else tuple(results) if results else None


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value.as_subclass(Tensor) if isinstance(value, Tensor) and type(value) is not Tensor else value


class SharedPacket(OpOverloadPacket):
    """The overloads of an operator that another language has defined."""

    def __init__(self, qualname: str, infos: list[calls.Info]) -> None:
        super().__init__(qualname)
        made = [SharedOverload(info.name.decode(), info.schema.decode()) for info in infos]
        self._overloads = {op.overload: op for op in made}
        for op in made:
            op.overloadpacket = self


def find_shared(qualname: str) -> SharedPacket | None:
    """Returns the operator of a name such as ns::op that another language has defined; None if there is none."""
    infos = calls.describe(qualname)
    return SharedPacket(qualname, infos) if infos else None


def list_shared(namespace: str) -> list[str]:
    """Returns the names of the operators of a namespace that are defined in the library."""
    names, count = POINTER(c_char_p)(), c_int64()
    status = c_names(byref(names), byref(count))
    if status:
        raise failure(status)
    found = [names[i].decode().partition(".")[0].partition("::") for i in range(count.value)]
    c_free_names(names, count)
    return sorted({name for of, _, name in found if of == namespace})


others.find, others.names = find_shared, list_shared
