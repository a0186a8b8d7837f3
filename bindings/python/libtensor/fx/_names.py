"""Names of functions and types in graphs and generated code, and names of nodes, which are distinct identifiers."""

import builtins
import inspect
import keyword
import re
import types
import typing
from collections import defaultdict
from typing import Any

from ._calls import torch_name

FORBIDDEN = re.compile(r"[^0-9a-zA-Z_]+")
SUFFIXED = re.compile(r"(.+)_(\d+)$")
RESERVED = {"inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree", *keyword.kwlist, *vars(builtins)}
METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType)


def snake_case(text: str) -> str:
    """Returns a name in CapWords as one in snake_case."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text).lower()


def is_from_torch(value: Any) -> bool:
    """Returns whether generated code finds a value by its name below torch."""
    module = getattr(value, "__module__", None)
    if isinstance(module, str):
        return module.partition(".")[0] in ("torch", __name__.partition(".")[0])
    return torch_name(value) is not None


def qualified_name(function: Any) -> str:
    """Returns the dotted name of a function, method or class; names of the package begin with torch."""
    name = getattr(function, "__name__", None)
    if name is None:
        raise RuntimeError(f"cannot find a name for {function!r}")
    if getattr(builtins, name, None) is function:
        return str(name)
    if isinstance(function, METHODS):
        owner = function.__objclass__
        return f"torch.Tensor.{name}" if is_from_torch(owner) else f"{owner.__module__}.{owner.__qualname__}.{name}"
    if name == "<lambda>":
        source = inspect.getsource(function).partition("=")[0].strip()
        if not source.isidentifier():
            raise RuntimeError(f"Unable to represent lambda {function!r}: define it with def")
        name = source
    known = torch_name(function)
    if known is not None:
        return known
    return f"{getattr(function, '__module__', None) or '__main__'}.{name}"


def target_name(target: Any) -> str:
    """Returns a target as graphs print it."""
    if isinstance(target, str):
        return target
    name, module = getattr(target, "__name__", None), getattr(target, "__module__", None)
    if name is not None and module in ("builtins", "_operator"):
        return f"{module.lstrip('_')}.{name}"
    if name is None:
        return str(target)
    return qualified_name(target)


def type_name(value: Any) -> str:
    """Returns an annotation as graphs print it."""
    if isinstance(value, type) and not isinstance(value, types.GenericAlias):
        if value.__module__ == "builtins":
            return value.__qualname__
        return torch_name(value) or f"{value.__module__}.{value.__qualname__}"
    if value is ...:
        return "..."
    if isinstance(value, types.FunctionType):
        return value.__name__
    return re.sub(rf"\b{__name__.partition('.')[0]}(?:\._[\w.]+)?\.", "torch.", repr(value))


def type_origin(annotation: Any) -> Any:
    """Returns the generic type of an annotation: typing.Dict for typing.Dict[str, int]."""
    origin = getattr(annotation, "__origin__", annotation)
    if isinstance(annotation, types.UnionType):
        return typing.Union
    name = getattr(annotation, "_name", None)
    return getattr(typing, name) if name and annotation.__module__ == "typing" and origin is not typing.Union else origin


class Namespace:
    """Names that are in use, by which object."""

    def __init__(self) -> None:
        self._owners: dict[Any, str] = {}
        self._used: set[str] = set()
        self._counts: dict[str, int] = defaultdict(int)

    def create_name(self, candidate: str, obj: Any) -> str:
        """Returns a unique name like `candidate` for an object; an object that has a name keeps it."""
        if obj is not None and obj in self._owners:
            return self._owners[obj]
        candidate = FORBIDDEN.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = "_" + candidate
        match = SUFFIXED.match(candidate)
        base, count = (match[1], int(match[2])) if match else (candidate, None)
        if count is None or candidate in self._used:
            count = self._counts[base]
        while candidate in self._used or self._is_reserved(candidate, obj):
            count += 1
            candidate = f"{base}_{count}"
        self._used.add(candidate)
        self._counts[base] = count
        if obj is not None:
            self._owners[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Registers the name that an object has."""
        self._owners.setdefault(obj, name)

    def _rename_object(self, obj: Any, name: str) -> None:
        self._owners[obj] = name
        self._used.add(name)

    @staticmethod
    def _is_reserved(name: str, obj: Any) -> bool:
        return name in RESERVED and not (obj is not None and getattr(builtins, name, None) is obj)
