"""Variable sizes of exported programs: Dim, and the argument dynamic_shapes of export."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.tensor import Tensor
from ..utils import _pytree as pytree

__all__ = ["Dim", "ShapesCollection", "Symbol", "dims", "expand_rest", "find_symbols"]


class Dim:
    """A named variable size, for the argument dynamic_shapes of export. The bounds `min` (0 by default) and `max` (none by default) are
    inclusive. `2 * dim + 1`, a positive integer times the Dim plus an integer, is a size that depends on it."""

    AUTO: Any
    DYNAMIC: Any
    STATIC: Any

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.min, self.max = 0 if min is None else min, max
        if self.max is not None and self.max <= self.min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={self.min}, max={self.max}")
        self.__name__ = name
        self.root, self.factor, self.offset = self, 1, 0

    def _derive(self, factor: int, offset: int) -> Dim:
        if type(factor) is not int or type(offset) is not int or factor < 1:
            raise NotImplementedError("a size that depends on a Dim is a positive integer times the Dim plus an integer")
        made: Dim = object.__new__(Dim)
        made.root, made.factor, made.offset = self.root, self.factor * factor, self.offset * factor + offset
        made.min = self.root.min * made.factor + made.offset
        made.max = None if self.root.max is None else self.root.max * made.factor + made.offset
        made.__name__ = f"{made.factor}*{self.root.__name__}" if made.factor != 1 else self.root.__name__
        made.__name__ += f" + {made.offset}" if made.offset > 0 else f" - {-made.offset}" if made.offset else ""
        return made

    def __add__(self, other: int) -> Dim:
        return self._derive(1, other)

    def __sub__(self, other: int) -> Dim:
        return self._derive(1, -other)

    def __mul__(self, other: int) -> Dim:
        return self._derive(other, 0)

    __radd__, __rmul__ = __add__, __mul__

    def __repr__(self) -> str:
        return f"Dim('{self.__name__}', min={self.min}" + ("" if self.max is None else f", max={self.max}") + ")"


class _Hint:
    """A size without a name. `Dim.AUTO`: variable if the function supports it, and otherwise fixed. `Dim.DYNAMIC`: variable; an error if
    the function requires a fixed size. `Dim.STATIC`: fixed. `Dim.AUTO(min=2, max=9)` sets inclusive bounds."""

    def __init__(self, name: str, least: int = 0, most: int | None = None) -> None:
        self.name, self.min, self.max = name, least, most

    def __call__(self, min: int | None = None, max: int | None = None) -> _Hint:
        if self.name == "STATIC":
            raise TypeError("Dim.STATIC has no bounds; use Dim.AUTO or Dim.DYNAMIC")
        least = 0 if min is None else min
        if least < 0 or (max is not None and max < least):
            raise ValueError(f"Dim.{self.name}: min={min}, max={max} are no bounds of a size; use 0 <= min <= max")
        return _Hint(self.name, least, max)

    def __repr__(self) -> str:
        bounds = [f"{name}={value}" for name, value in (("min", self.min or None), ("max", self.max)) if value is not None]
        return f"Dim.{self.name}" + (f"({', '.join(bounds)})" if bounds else "")


Dim.AUTO, Dim.DYNAMIC, Dim.STATIC = map(_Hint, ("AUTO", "DYNAMIC", "STATIC"))


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Returns a Dim for each name."""
    return tuple(Dim(name, min=min, max=max) for name in names)


class ShapesCollection:
    """Variable sizes by tensor: `shapes[x] = {0: Dim("batch")}`. export accepts it as dynamic_shapes."""

    def __init__(self) -> None:
        self._shapes: dict[int, tuple[Any, Any]] = {}

    def __setitem__(self, t: Any, shape: Any) -> None:
        if not isinstance(t, Tensor):
            raise AssertionError(f"Cannot assign shape to non-tensor type {type(t)}")
        self._shapes[id(t)] = t, shape

    def __getitem__(self, t: Any) -> Any:
        return self._shapes[id(t)][1]

    def __len__(self) -> int:
        return len(self._shapes)

    def dynamic_shapes(self, m: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        """Returns the sizes as the nested structure of the arguments."""
        found = pytree.tree_map(lambda x: self._shapes[id(x)][1] if id(x) in self._shapes else None, (tuple(args), dict(kwargs or {})))
        return list(found[0]) + list(found[1].values())


class Symbol:
    """A size that varies: its bounds, and its value in the sample inputs. `label` is the name of its Dim, or the place of the size."""

    def __init__(self, name: str, least: int, most: int | None, hint: int, label: str = "") -> None:
        self.name, self.least, self.most, self.hint, self.label = name, least, most, hint, label or name


# A size of an input: factor * symbol + offset.
Size = tuple[Symbol, int, int]


def _leaf_sizes(spec: Any, shape: tuple[int, ...], where: str) -> dict[int, Any]:
    """Returns the entries of a specification for a tensor, by dimension."""
    if isinstance(spec, dict):
        entries = dict(spec)
    elif isinstance(spec, list | tuple):
        if len(spec) != len(shape):
            raise ValueError(f"export: dynamic_shapes of {where} has {len(spec)} entries, but the tensor has {len(shape)} dimensions")
        entries = dict(enumerate(spec))
    else:
        raise ValueError(f"export: dynamic_shapes of {where} must be a dict, a list, a tuple or None, not {type(spec).__name__}")
    sizes = {}
    for dim, entry in entries.items():
        if type(dim) is not int or not -len(shape) <= dim < len(shape):
            raise ValueError(f"export: dynamic_shapes of {where} names dimension {dim!r}, but the tensor has {len(shape)} dimensions")
        if isinstance(entry, int) and entry != shape[dim]:
            raise ValueError(
                f"export: dynamic_shapes of {where} has the size {entry} for dimension {dim}, but the input has the size {shape[dim]}"
            )
        if entry is not None and entry is not Dim.STATIC and not isinstance(entry, int):
            if not isinstance(entry, Dim | _Hint):
                raise ValueError(f"export: dynamic_shapes of {where} must have Dims, integers and None, not {entry!r}")
            sizes[dim % len(shape)] = entry
    return sizes


def _walk(spec: Any, value: Any, where: str, visit: Callable[[Any, Any, str], None]) -> None:
    """Calls visit(spec, leaf, place) for each leaf of a value, in the order of pytrees."""
    children, tree = pytree.tree_flatten(value, is_leaf=lambda x: x is not value)
    if tree.is_leaf():
        visit(spec, value, where)
        return
    keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(children)))
    if spec is None:
        specs = [None] * len(children)
    elif isinstance(spec, dict) and isinstance(value, dict) and set(spec) == set(value):
        specs = [spec[key] for key in keys]
    elif isinstance(spec, list | tuple) and len(spec) == len(children):
        specs = list(spec)
    else:
        raise ValueError(f"export: dynamic_shapes of {where} must have the structure of the argument")
    for key, inner, child in zip(keys, specs, children, strict=True):
        _walk(inner, child, f"{where}[{key!r}]", visit)


def expand_rest(dynamic_shapes: Any, rest: str, named: int, count: int, keywords: int) -> Any:
    """Returns dynamic_shapes with an entry for each of the `count` arguments of *rest, which may be the items of one entry, as for a tuple.

    `named` and `keywords` are the numbers of the other positional arguments and of keyword arguments."""
    if isinstance(dynamic_shapes, dict) and rest in dynamic_shapes and count:
        others = {name: spec for name, spec in dynamic_shapes.items() if name != rest}
        return others | {f"{rest}_{i}": spec for i, spec in enumerate(_list_rest(dynamic_shapes[rest], rest, count))}
    if isinstance(dynamic_shapes, list | tuple) and count and len(dynamic_shapes) == named + 1 + keywords:
        spec = dynamic_shapes[named]
        is_nested = isinstance(spec, list | tuple) and all(isinstance(x, dict | list | tuple | None) for x in spec)
        if count > 1 or is_nested:
            return [*dynamic_shapes[:named], *_list_rest(spec, rest, count), *dynamic_shapes[named + 1 :]]
    return dynamic_shapes


def _list_rest(spec: Any, rest: str, count: int) -> list[Any]:
    if spec is None:
        return [None] * count
    if not isinstance(spec, list | tuple) or len(spec) != count:
        raise ValueError(f"export: dynamic_shapes of *{rest} must be a tuple of {count} entries, one for each argument, not {spec!r}")
    return list(spec)


def describe_outlier(where: str, size: int, dim: Dim | _Hint) -> str:
    """Returns the error for a size of a sample input that a Dim does not have. `where` is the size as Python writes it."""
    return f"export: {where} is {size}, outside {dim}; widen the Dim or use another sample"


class _Reader:
    """Collects the symbols of the tensors."""

    def __init__(self) -> None:
        self.sizes: list[dict[int, Size]] = []
        self.named: dict[str, tuple[Dim, Symbol]] = {}
        self.hinted: list[tuple[Symbol, _Hint]] = []

    def visit(self, spec: Any, value: Any, where: str) -> None:
        found: dict[int, Size] = {}
        if spec is not None and not isinstance(value, Tensor):
            if pytree.tree_leaves(spec):
                raise ValueError(f"export: dynamic_shapes of {where} must be None: the argument is no tensor")
        elif spec is not None:
            shape = tuple(value.shape)
            for dim, entry in _leaf_sizes(spec, shape, where).items():
                place = f"{where}.shape[{dim}]"
                if isinstance(entry, _Hint):
                    if shape[dim] < entry.min or (entry.max is not None and shape[dim] > entry.max):
                        raise ValueError(describe_outlier(place, shape[dim], entry))
                    symbol = Symbol(self.new_name(), entry.min, entry.max, shape[dim], place)
                    self.hinted.append((symbol, entry))
                    found[dim] = symbol, 1, 0
                else:
                    found[dim] = self.get(entry, shape[dim], place), entry.factor, entry.offset
        self.sizes.append(found)

    def new_name(self) -> str:
        return f"s{len(self.named) + len(self.hinted)}"

    def get(self, dim: Dim, size: int, where: str) -> Symbol:
        """Returns the symbol of a Dim, whose value follows from the size at `where`, such as x.shape[0]."""
        root = dim.root
        hint, rest = divmod(size - dim.offset, dim.factor)
        if rest:
            raise ValueError(
                f"export: {where} is {size}, but {dim.__name__} is not {size} for any integer {root.__name__}; use another sample"
            )
        if hint < root.min or (root.max is not None and hint > root.max):
            raise ValueError(describe_outlier(where, size, dim))
        other, symbol = self.named.setdefault(root.__name__, (root, Symbol(self.new_name(), root.min, root.max, hint, root.__name__)))
        if (other.min, other.max) != (root.min, root.max):
            raise ValueError(f"export: the Dims {other} and {root} have one name, but other bounds")
        if symbol.hint != hint:
            raise ValueError(
                f"export: {where} is {size}, where dynamic_shapes requires that {root.__name__} is {symbol.hint}, as in another input"
            )
        return symbol


def find_symbols(
    dynamic_shapes: Any, names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[dict[int, Size]], list[tuple[Symbol, _Hint]]]:
    """Returns the variable sizes of each flat input, and the symbols that Dim.AUTO and Dim.DYNAMIC have created.

    `names` are the names of the positional arguments. Raises ValueError if `dynamic_shapes` does not fit the arguments."""
    reader = _Reader()
    values = {**dict(zip(names, args, strict=True)), **kwargs}
    if isinstance(dynamic_shapes, ShapesCollection):
        dynamic_shapes = dynamic_shapes.dynamic_shapes(None, args, kwargs)
    if isinstance(dynamic_shapes, list | tuple):
        if len(dynamic_shapes) != len(values):
            raise ValueError(
                f"export: dynamic_shapes has {len(dynamic_shapes)} items, but there are {len(values)} arguments: {', '.join(values)}"
            )
        dynamic_shapes = dict(zip(values, dynamic_shapes, strict=True))
    given = dynamic_shapes or {}
    if not isinstance(given, dict):
        raise ValueError(f"export: dynamic_shapes must be a dict, a list or a tuple, not {type(given).__name__}")
    unknown = [name for name in given if name not in values]
    if unknown:
        raise ValueError(f"export: dynamic_shapes names {unknown[0]!r}, but the arguments are {', '.join(values)}")
    for name, value in values.items():
        _walk(given.get(name), value, name, reader.visit)
    return reader.sizes, reader.hinted
