"""torch.ops.aten: PyTorch's operators by name and overload. An overload with the parameters of libtensor's function of its name runs that
function; others are called by name (tensor_call), unless an argument has a class that a C value does not represent."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable
from typing import Any

from .._base.overrides import NOBODY
from .._core.results import make_results
from .._core.tensor import Tensor
from . import calls
from .aten_overloads import OVERLOADS
from .operators import OpOverload, OpOverloadPacket, namespaces, take_over
from .schemas import Schema

__all__ = ["AtenNamespace", "AtenOverload", "AtenPacket"]

RENAMED: dict[str, Callable[..., Any]] = {
    "_to_copy": lambda self, **kwargs: self.to(**{**kwargs, "copy": True}),
    "_unsafe_view": lambda self, size: self.reshape(size),
    "_local_scalar_dense": lambda self: self.item(),
    "_conj": lambda self: self.conj(),
    "_reshape_alias": lambda self, size, stride: self.as_strided(size, stride, self.storage_offset()),
    "lift_fresh": lambda self: self,
    "sym_size": lambda self, dim: self.size(dim),
    "sym_stride": lambda self, dim: self.stride(dim),
    "sym_numel": lambda self: self.numel(),
    "sym_storage_offset": lambda self: self.storage_offset(),
}


@functools.cache
def find_function(name: str) -> Callable[..., Any] | None:
    """Returns libtensor's function of an operator's name; None if there is none."""
    if name in RENAMED:
        return RENAMED[name]
    from .. import _C, fft, linalg, nn, special
    from .._gen import gen_functions as functions

    for prefix, module in (("linalg_", linalg), ("special_", special), ("fft_", fft)):
        found = getattr(module, name.removeprefix(prefix), None) if name.startswith(prefix) else None
        if callable(found):
            return found  # type: ignore[no-any-return]
    for place in (functions, _C._VariableFunctions, _C._nn, nn.functional):
        found = getattr(place, name, None)
        if callable(found):
            return found  # type: ignore[no-any-return]
    found = getattr(Tensor, name, None)
    return found if callable(found) else None


class AtenOverload(OpOverload):
    """An overload of one of PyTorch's operators. A call raises NotImplementedError if libtensor has no function of its name."""

    def __init__(self, packet: AtenPacket, overload: str) -> None:
        self.overloadpacket, self.overload = packet, overload
        self.qualname, self.is_fixed = packet._qualified_op_name, True
        self.namespace, self.op_name = "aten", packet.__name__
        self.__name__ = f"{self.op_name}.{overload}"
        self.__module__ = "torch._ops.aten"
        self.definition = None

    @functools.cached_property
    def _schema(self) -> Schema:
        text = calls.find_schema(f"{self.qualname}.{self.overload}")
        if text is None:
            raise NotImplementedError(f"{self.qualname}.{self.overload}: libtensor does not have this overload")
        return Schema(text)

    @functools.cached_property
    def _function(self) -> Callable[..., Any] | None:
        """libtensor's function of the operator's name, if it has the parameters of the overload."""
        infos = calls.describe(f"{self.qualname}.{self.overload}")
        if len(infos) != 1 or self._written:
            return None
        expected = _list_parameters(infos[0])
        own = [info for info in calls.describe(self.op_name) if not info.name.startswith(b"aten::")]
        return find_function(self.op_name) if any(_list_parameters(info) == expected for info in own) else None

    @functools.cached_property
    def _written(self) -> list[tuple[int, str]] | None:
        """The indices and names of the arguments that are the results; None if the operator is not in the library's table."""
        infos = calls.describe(f"{self.qualname}.{self.overload}")
        if len(infos) != 1:
            return None
        indices = [infos[0].results[i].parameter for i in range(infos[0].result_count)]
        return [(at, infos[0].parameters[at].name.decode()) for at in indices if at >= 0]

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        taken = take_over(self, args, kwargs)
        if taken is not NOBODY:
            return taken
        if self._function is not None and "self" not in kwargs:
            if any(_has_bool(v) for v in (*args, *kwargs.values())):
                args, kwargs = self._convert_bools(args, kwargs)
            return self._function(*args, **kwargs)
        if self._written is None:
            return self.overloadpacket(*args, **kwargs)
        try:
            results = calls.call_operator(f"{self.qualname}.{self.overload}", args, kwargs)
        except calls.Unsupported:
            if find_function(self.op_name) is None:
                raise TypeError(
                    f"{self.qualname}.{self.overload}: arguments can be tensors, numbers, strings, dtypes, devices and lists of these; "
                    f"the schema is {self._schema}"
                ) from None
            return self.overloadpacket(*args, **kwargs)
        results += [args[at] if at < len(args) else kwargs[name] for at, name in self._written]
        return results[0] if len(results) == 1 else make_results(self.op_name, results) if results else None

    def _convert_bools(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns the arguments of a call with integers for the bools that are integers of the schema: functions reject bools."""
        kinds = {a.name: re.sub(r"[\d?]", "", a.kind).replace("SymInt", "int") for a in self._schema.arguments}

        def convert(kind: str | None, value: Any) -> Any:
            if kind not in ("int", "int[]") or not _has_bool(value):
                return value
            return int(value) if isinstance(value, bool) else [int(v) if isinstance(v, bool) else v for v in value]

        positional = [convert(kind, value) for kind, value in zip(kinds.values(), args, strict=False)]
        return (*positional, *args[len(positional) :]), {name: convert(kinds.get(name), value) for name, value in kwargs.items()}

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'OpOverload' object has no attribute '{name}'")


def _has_bool(value: Any) -> bool:
    return isinstance(value, bool) or isinstance(value, list | tuple) and any(isinstance(v, bool) for v in value)


def _list_parameters(info: calls.Info) -> list[tuple[bytes, bool]]:
    """The names of an overload's parameters, and whether they are keyword-only."""
    parameters = [info.parameters[i] for i in range(info.parameter_count)]
    return [(p.name, p.is_keyword_only) for p in parameters if p.name != b"pin_memory"]


class AtenPacket(OpOverloadPacket):
    """The overloads of one of PyTorch's operators. Each calls the function of the operator's name, which selects by its arguments."""

    def __init__(self, name: str, overloads: list[str]) -> None:
        super().__init__(f"aten::{name}")
        self._overloads = {overload: AtenOverload(self, overload) for overload in overloads}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        taken = take_over(self, args, kwargs)
        if taken is not NOBODY:
            return taken
        found = find_function(self.__name__)
        if found is None:
            return self._choose(args, kwargs)(*args, **kwargs)
        if "self" in kwargs:
            args = (kwargs.pop("self"), *args)
        return found(*args, **kwargs)

    def overloads(self) -> list[str]:
        """Returns the names of the overloads that libtensor has. PyTorch's other overloads are attributes, whose calls raise
        NotImplementedError if no function of the operator's name has such arguments."""
        known = {op.overload for op in self._callable}
        return [name for name in self._overloads if name in known]

    @functools.cached_property
    def _callable(self) -> list[OpOverload]:
        """The overloads that the library has, in the order in which a call tries them."""
        names = [info.name.decode().partition(".")[2] or "default" for info in calls.describe(self._qualified_op_name)]
        return [self._overloads[name] for name in names if name in self._overloads]

    def _choose(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> OpOverload:
        """Returns the first overload that arguments fit; the first one if they fit none, whose call raises."""
        if not self._callable:
            raise NotImplementedError(f"aten::{self.__name__}: the operator does not exist in libtensor")
        for op in self._callable:
            with contextlib.suppress(RuntimeError):
                op._schema.bind(op.name(), args, kwargs)
                return op
        return self._callable[0]


class AtenNamespace:
    """PyTorch's operators, as attributes."""

    _name = "aten"

    def __getattr__(self, name: str) -> Any:
        if name in namespaces.get("aten", ()):  # a custom operator
            return namespaces["aten"][name]
        overloads = _list_overloads().get(name)
        if overloads is None:
            raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")
        made = AtenPacket(name, overloads)
        setattr(self, name, made)
        return made

    def __dir__(self) -> list[str]:
        return sorted({*_list_overloads(), *namespaces.get("aten", ())})


@functools.cache
def _list_overloads() -> dict[str, list[str]]:
    """Returns the overloads of PyTorch's operators, with those of the library's table, by name."""
    found = {name: overloads.split() for overloads, names in OVERLOADS.items() for name in names.split()}
    for qualname in calls.list_operators():
        if qualname.startswith("aten::"):
            name, _, overload = qualname.removeprefix("aten::").partition(".")
            overloads = found.setdefault(name, [])
            if (overload or "default") not in overloads:
                overloads.append(overload or "default")
    return found
