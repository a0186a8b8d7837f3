"""Containers of modules and of parameters."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ... import typename
from ..._core.tensor import Tensor
from ..parameter import Parameter
from .module import Module

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]

_T = TypeVar("_T")


def _index(idx: Any, size: int) -> int:
    """Returns an index that counts from the start. Raises IndexError outside the container."""
    at = operator.index(idx)
    if not -size <= at < size:
        raise IndexError(f"index {at} is out of range")
    return at % size


def _iterable(what: str, value: Any, items: str = "") -> None:
    if not isinstance(value, Iterable):
        raise TypeError(f"{what} should be called with an iterable{items}, but got {type(value).__name__}")


class Container(Module):
    """A module with the children that keyword arguments name. Deprecated: assign attributes of a Module."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        warnings.warn(
            "nn.Container is deprecated. All of it's functionality is now implemented in nn.Module. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


class _ModuleSequence(Module):
    """Modules under the names 0, 1, 2, ..."""

    def _renumber(self, modules: Iterable[Module | None]) -> None:
        self.__dict__["_modules"] = {str(i): module for i, module in enumerate(modules)}

    def _get_abs_string_index(self, idx: Any) -> str:
        return str(_index(idx, len(self)))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __delitem__(self, idx: int | slice) -> None:
        kept = list(self._modules.values())
        del kept[idx if isinstance(idx, slice) else _index(idx, len(kept))]
        self._renumber(kept)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, module: Module) -> Self:
        """Appends a module, and returns the container."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Removes and returns the module at `key`."""
        found = self[key]  # type: ignore[index]
        del self[key]
        return found


class Sequential(_ModuleSequence):
    """Calls modules one after the other: the output of each is the input of the next.

    Takes modules, which are named 0, 1, 2, ..., or one OrderedDict of named modules. Indices, slices, `len`, iteration, `del`, `+` and `*`
    work as on a list; a slice is a Sequential of the same modules.

    >>> torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=1, bias=True)
      (1): ReLU()
    )
    """

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else ((str(i), m) for i, m in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    @overload
    def __getitem__(self, idx: slice) -> Self: ...
    @overload
    def __getitem__(self, idx: int) -> Any: ...
    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self.__class__(OrderedDict(list(self._modules.items())[idx]))
        return list(self._modules.values())[_index(idx, len(self))]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, list(self._modules)[_index(idx, len(self))], module)

    def __delitem__(self, idx: int | slice) -> None:
        for name in list(self._modules)[idx] if isinstance(idx, slice) else [list(self._modules)[_index(idx, len(self))]]:
            delattr(self, name)
        self._renumber(list(self._modules.values()))

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(list(other))

    def _check_factor(self, other: Any) -> None:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def __mul__(self, other: int) -> Sequential:
        self._check_factor(other)
        return Sequential(*list(self) * other)

    def __rmul__(self, other: int) -> Sequential:
        return self * other

    def __imul__(self, other: int) -> Self:
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))

    def insert(self, index: int, module: Module) -> Self:
        """Inserts a module before `index`, and returns the container. Raises IndexError outside the container."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Appends modules, and returns the container."""
        for module in sequential:
            self.append(module)
        return self

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(_ModuleSequence):
    """A list of modules, which it registers. Indices, slices, `len`, iteration, `del` and `+` work as on a list.

    >>> torch.nn.ModuleList([torch.nn.ReLU(), torch.nn.ReLU()])
    ModuleList(
      (0-1): 2 x ReLU()
    )
    """

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    @overload
    def __getitem__(self, idx: slice) -> Self: ...
    @overload
    def __getitem__(self, idx: int) -> Any: ...
    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self.__class__(list(self._modules.values())[idx])
        return self._modules[self._get_abs_string_index(idx)]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._get_abs_string_index(idx), module)

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def insert(self, index: int, module: Module) -> None:
        """Inserts a module before `index`."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Appends modules, and returns the container. Raises TypeError for an argument that is not an iterable."""
        _iterable("ModuleList.extend", modules)
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self) -> str:
        """Shows each run of modules with the same printed form once."""
        runs: list[list[Any]] = []
        for i, module in enumerate(self):
            shown = repr(module)
            if runs and runs[-1][2] == shown:
                runs[-1][1] = i
            else:
                runs.append([i, i, shown])
        if not runs:
            return f"{self._get_name()}()"
        lines = []
        for first, last, shown in runs:
            name, times = (f"{first}", "") if first == last else (f"{first}-{last}", f"{last - first + 1} x ")
            lines.append(f"  ({name}): {times}" + shown.replace("\n", "\n  "))
        return f"{self._get_name()}(\n" + "\n".join(lines) + "\n)"


class ModuleDict(Module):
    """A dictionary of modules, which it registers, in the order in which they were added.

    >>> choices = torch.nn.ModuleDict({"conv": torch.nn.Conv2d(10, 10, 3), "pool": torch.nn.MaxPool2d(3)})
    >>> choices["pool"]
    MaxPool2d(kernel_size=3, stride=3, padding=0, dilation=1, ceil_mode=False)
    """

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Removes all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Removes and returns the module `key`."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """Returns the names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Returns the pairs of names and modules."""
        return self._modules.items()

    def values(self) -> Any:
        """Returns the modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Adds the modules of a mapping or of pairs (name, module), which replace those of the same names."""
        for name, module in _pairs("ModuleDict", modules):
            self[name] = module


def _pairs(kind: str, given: Any) -> Iterable[tuple[Any, Any]]:
    """Returns the items of a mapping, a container or an iterable of pairs."""
    _iterable(f"{'ParametersDict' if kind == 'ParameterDict' else kind}.update", given, " of key/value pairs")
    if isinstance(given, (Mapping, ModuleDict, ParameterDict)):
        return list(given.items())
    pairs = []
    for j, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{kind} update sequence element #{j} should be Iterable; is{type(pair).__name__}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{kind} update sequence element #{j} has length {len(pair)}; 2 is required")
        pairs.append(pair)
    return pairs


def _described(value: Any, dtype: Any) -> str:
    """Returns a line of the printed form of a container for one value."""
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    size = "x".join(map(str, value.size()))
    where = "" if value.device.type in ("cpu", "meta") else f" ({value.device})"
    return f"{'Parameter' if isinstance(value, Parameter) else 'Tensor'} containing: [{dtype(value)} of size {size}{where}]"


def _registrable(value: Any) -> Any:
    """Returns a Parameter for a tensor, other values as they are."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


class ParameterList(Module):
    """A list of parameters, which it registers, and of other values. Tensors become parameters. Indices, slices, `len` and iteration work
    as on a list.

    >>> torch.nn.ParameterList([torch.ones(2), torch.ones(1, 2)])
    ParameterList(
        (0): Parameter containing: [torch.float32 of size 2]
        (1): Parameter containing: [torch.float32 of size 1x2]
    )
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _get_abs_string_index(self, idx: Any) -> str:
        return str(_index(idx, len(self)))

    @overload
    def __getitem__(self, idx: slice) -> Self: ...
    @overload
    def __getitem__(self, idx: int) -> Any: ...
    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self.__class__(getattr(self, str(i)) for i in range(*idx.indices(len(self))))
        return getattr(self, self._get_abs_string_index(idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, self._get_abs_string_index(idx), _registrable(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value: Any) -> Self:
        """Appends a value, and returns the container."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Appends values, and returns the container. Raises TypeError for an argument that is not an iterable, and for a tensor."""
        if isinstance(values, Tensor):
            raise TypeError("ParameterList.extend should be called with an iterable, but got Tensor; pass a list of tensors")
        _iterable("ParameterList.extend", values)
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(f"  ({i}): {_described(value, lambda tensor: tensor.dtype)}" for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters, which it registers, and of other values, in the order in which they were added. Tensors become
    parameters; keys are strings."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                f"Index given to ParameterDict cannot be used as a key as it is not a string (type is '{type(key).__name__}'). Open an "
                "issue on "
                "github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, self._key_to_attr(key), _registrable(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[self._key_to_attr(key)]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Returns another ParameterDict with the same values."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Returns the value of `key`, which is set to `default` if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Removes all values."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Removes and returns the value of `key`."""
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Removes and returns the last pair of key and value."""
        key = next(reversed(self))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Returns the value of `key`, or `default`."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Returns a ParameterDict with the same value for all keys."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Any:
        """Returns the keys."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Returns the pairs of keys and values."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """Returns the values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Adds the values of a mapping or of pairs (key, value), which replace those of the same keys."""
        pairs = _pairs("ParameterDict", parameters)
        ordered = isinstance(parameters, (OrderedDict, ParameterDict)) or not isinstance(parameters, Mapping)
        for key, value in pairs if ordered else sorted(pairs):
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(f"  ({key}): {_described(value, typename)}" for key, value in self.items())

    def __call__(self, input: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        made = other.copy()
        made.update(self)
        return made if isinstance(made, ParameterDict) else ParameterDict(made)

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self
