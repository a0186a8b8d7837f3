"""Collects the comparisons of sizes that Python code makes while it is recorded, as expressions of the variable sizes.

During a collection the sizes of tensors are numbers that have an expression: arithmetic returns such numbers, and a comparison adds a Guard."""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import keyword
import math
import operator
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from .._base import overrides
from .._base.size import Size as TorchSize
from .._core.tensor import Tensor
from ..fx.experimental.proxy_tensor import OperatorTracer
from ..fx.graph import Graph
from ..fx.node import Node
from ..nn import Module
from .recording import Recording
from .trace import Tracer, record

__all__ = ["FUNCTIONS", "Collecting", "Expressions", "Guard", "Guards", "collecting", "find_expressions", "make_number", "plain", "record_guards"]
__all__ += ["write_python"]

OWN = str(Path(__file__).parents[1])
ROUNDING: dict[str, Callable[..., Any]] = {"abs": abs, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "round": round}
FUNCTIONS: dict[str, Callable[..., Any]] = {**ROUNDING, "max": max, "min": min}
SIGNS = {"Add": "+", "Mul": "*", "FloorDiv": "//", "CleanDiv": "//", "Mod": "%", "PythonMod": "%", "Pow": "**"}
# The sizes of tensors, as numbers or expressions of Python, by the path of the graph and the name of the node.
Expressions = dict[tuple[str, ...], dict[str, tuple[int | str, ...]]]


class Guard:
    """A comparison: its expression, its result, and the place of the code. `names` are the sizes that it depends on."""

    def __init__(self, text: str, outcome: bool, where: str, is_own: bool) -> None:
        self.text, self.outcome, self.where, self.is_own = text, outcome, where, is_own
        self.code: CodeType = compile(text, "guard", "eval")
        self.names: tuple[str, ...] = tuple(name for name in self.code.co_names if name not in FUNCTIONS)

    def holds(self, values: dict[str, int]) -> bool:
        """Returns whether the comparison has the same result for other sizes; True if it has none."""
        try:
            return bool(eval(self.code, {"__builtins__": {}, **FUNCTIONS}, values)) == self.outcome  # the text has numbers and operators alone
        except (ArithmeticError, ValueError, TypeError):
            return True


class Guards:
    """The comparisons of one call, in order. `escaped` has the names of sizes that became plain numbers, whose comparisons are not seen."""

    def __init__(self, sizes: Expressions) -> None:
        self.sizes = sizes
        self.tensors: list[SizedTensor] = []
        self.found: list[Guard] = []
        self.seen: set[tuple[str, bool]] = set()
        self.escaped: set[str] = set()

    def add(self, text: str, outcome: bool) -> None:
        if (text, outcome) in self.seen:
            return
        self.seen.add((text, outcome))
        frame = sys._getframe(2)
        is_own = frame.f_code.co_filename.startswith(OWN)
        self.found.append(Guard(text, outcome, f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}", is_own))

    def escape(self, text: str) -> None:
        self.escaped.update(compile(text, "guard", "eval").co_names)

    def release(self) -> None:
        """Makes the tensors of the collection plain ones."""
        for value in self.tensors:
            value.__class__ = Tensor  # type: ignore[assignment]
        self.tensors.clear()


class _Traced:
    """A number of Python with an expression."""

    text: str
    guards: Guards

    def __bool__(self) -> bool:
        outcome = bool(plain(self) != 0)
        self.guards.add(f"{self.text} != 0", outcome)
        return outcome

    def __int__(self) -> int:
        self.guards.escape(self.text)
        return int(plain(self))

    def __float__(self) -> float:
        self.guards.escape(self.text)
        return float(plain(self))

    def __hash__(self) -> int:
        self.guards.escape(self.text)
        return hash(plain(self))


class SizeInt(_Traced, int):
    """An integer with an expression."""


class SizeFloat(_Traced, float):
    """A float with an expression."""


def plain(value: Any) -> Any:
    """Returns a number without its expression."""
    return int.__add__(value, 0) if isinstance(value, SizeInt) else float.__add__(value, 0.0) if isinstance(value, SizeFloat) else value


def make_number(value: Any, text: str, guards: Guards) -> Any:
    kind: Any = {int: SizeInt, float: SizeFloat}.get(type(value))
    if kind is None:
        return value
    made = kind(value)
    made.text, made.guards = text, guards
    return made


def text_of(value: Any) -> str:
    return value.text if isinstance(value, _Traced) else repr(value)


def _define(name: str, call: Callable[..., Any], form: str) -> None:
    """Defines a method of numbers with expressions. `form` has {0} for the number, and {1} for the other operand."""
    count, compares = form.count("{1}"), name in COMPARISONS

    def method(self: Any, *others: Any) -> Any:
        if not all(isinstance(x, int | float) for x in others):
            return NotImplemented
        operands = [plain(self), *map(plain, others)]
        made = call(*(reversed(operands) if form.startswith("({1}") else operands))
        if len(others) != count:  # round(x, 2)
            self.guards.escape(self.text)
            return made
        text = form.format(self.text, *map(text_of, others))
        if not compares:
            return make_number(made, text, self.guards)
        self.guards.add(text, made)
        return made

    for kind in (SizeInt, SizeFloat):
        if hasattr(kind, name):
            setattr(kind, name, method)


def _divide(self: Any, other: Any) -> Any:
    return self // other, self % other


COMPARISONS = {"__eq__": "==", "__ne__": "!=", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "mod": "%", "pow": "**"}
ARITHMETIC |= {"and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>"}
for _name, _sign in ARITHMETIC.items():
    _call = getattr(operator, f"__{_name}__")
    _define(f"__{_name}__", _call, "({0}" + _sign + "{1})")
    _define(f"__r{_name}__", _call, "({1}" + _sign + "{0})")
for _name, _sign in COMPARISONS.items():
    _define(_name, getattr(operator, _name), "({0}" + _sign + "{1})")
for _name, _sign in {"neg": "-", "pos": "+", "invert": "~"}.items():
    _define(f"__{_name}__", getattr(operator, f"__{_name}__"), f"({_sign}{{0}})")
for _name, _call in ROUNDING.items():
    _define(f"__{_name}__", _call, _name + "({0})")
SizeInt.__divmod__ = SizeFloat.__divmod__ = _divide  # type: ignore[method-assign]


class SizedTensor(Tensor):
    """A tensor of a collection, whose sizes have expressions."""

    __torch_function__ = overrides.disabled_torch_function
    expressions: tuple[Any, ...]  # an expression or a number for each size
    guards: Guards

    def _number(self, dim: int) -> Any:
        value, expression = Tensor.size(self)[dim], self.expressions[dim]
        return make_number(value, expression, self.guards) if isinstance(expression, str) else value

    def size(self, dim: Any = None) -> Any:
        sizes = tuple.__new__(TorchSize, [self._number(i) for i in range(len(self.expressions))])
        return sizes if dim is None else sizes[dim] if -self.dim() <= dim < self.dim() else Tensor.size(self, dim)

    shape: Any = property(size)

    def numel(self) -> Any:
        return math.prod(self.size())

    nelement: Any = numel


class Collecting(OperatorTracer):
    """A part of tracers that collect comparisons of sizes. `path` is that of the graph, which is inside that of `outer`."""

    guards: Guards
    path: tuple[str, ...] = ()
    outer: Any = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_function__(func, types, drop_expressions(args), drop_expressions(dict(kwargs or {})))

    def find(self, value: Any) -> Any:
        return super().find(plain(value))

    def track(self, value: Any, node: Node) -> None:
        if type(value) is SizedTensor:  # the result of an in-place operator, which may have changed its shape
            value.__class__ = Tensor  # type: ignore[assignment]
        super().track(value, node)
        if self.outer is not None:
            self.guards = self.outer.guards
        sizes = self.guards.sizes.get(self.path, {}).get(node.name) if type(value) is Tensor else None
        if sizes is not None and len(sizes) == value.dim() and any(isinstance(x, str) for x in sizes):
            value.__class__ = SizedTensor
            value.expressions, value.guards = sizes, self.guards
            self.guards.tensors.append(value)


class GuardTracer(Collecting, Tracer):
    """Records operators, and collects comparisons of sizes."""

    def finish(self, results: list[Any]) -> list[Any]:
        self.guards.release()
        return list(map(plain, results))


def drop_expressions(value: Any) -> Any:
    """Returns arguments without the expressions of numbers."""
    if isinstance(value, list | tuple) and type(value) in (list, tuple, TorchSize):
        return type(value)(map(drop_expressions, value))
    if isinstance(value, dict):
        return {k: drop_expressions(v) for k, v in value.items()}
    if isinstance(value, slice):
        return slice(*map(drop_expressions, (value.start, value.stop, value.step)))
    return plain(value)


_lock = threading.Lock()
_active = 0
_len = builtins.len


def _sized_len(value: Any) -> int:
    size: int = value.size(0) if type(value) is SizedTensor and value.dim() else _len(value)
    return size


@contextlib.contextmanager
def collecting() -> Iterator[None]:
    """Makes len() return sizes with expressions, on all threads, until the end of the with statement."""
    global _active
    with _lock:
        _active += 1
        builtins.len = _sized_len
    try:
        yield
    finally:
        with _lock:
            _active -= 1
            if not _active:
                builtins.len = _len


@functools.lru_cache(4096)
def write_python(text: str) -> str:
    """Returns an expression of sizes, in sympy's srepr, as Python. Raises NotImplementedError for a function that is not known."""

    def visit(node: ast.expr) -> str:
        name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        args = node.args if isinstance(node, ast.Call) else []
        if name in SIGNS:
            return f"({SIGNS[name].join(map(visit, args))})"
        if name in ("Max", "Min"):
            return f"{name.lower()}({', '.join(map(visit, args))})"
        value = ast.literal_eval(args[0]) if name in ("Symbol", "Integer") else None
        if name == "Integer" and type(value) is int:
            return f"({value})"
        if name == "Symbol" and isinstance(value, str) and value.isidentifier() and not keyword.iskeyword(value) and value not in FUNCTIONS:
            return value
        raise NotImplementedError(f"run_decompositions: the size {text} is not supported")

    return visit(ast.parse(text, mode="eval").body)


def find_expressions(recordings: list[Recording], express: Callable[[tuple[int, ...]], int | str]) -> Expressions:
    """Returns the sizes of all tensors of recordings for several sizes."""
    found: Expressions = {}

    def write(vector: tuple[int, ...]) -> int | str:
        value = express(vector)
        return value if isinstance(value, int) else write_python(value)

    def visit(path: tuple[str, ...], graphs: list[Recording]) -> None:
        found[path] = {}
        for at, node in enumerate(graphs[0].nodes):
            shapes = [graph.sizes(at) for graph in graphs]
            if shapes[0] is not None:
                found[path][node.name] = tuple(write(vector) for vector in zip(*(shape or () for shape in shapes), strict=True))
            for i, part in enumerate(node.args):
                if isinstance(part, Recording):
                    visit((*path, part.name), [graph.nodes[at].args[i] for graph in graphs])

    visit((), recordings)
    return found


def record_guards(sizes: Expressions, call: tuple[Any, ...], values: list[Any], device: str) -> tuple[Recording, Guards]:
    """Returns the record of a call, and its comparisons of sizes. `call` has the other arguments of record."""
    function, state, names, spec = call
    tracer = GuardTracer(Graph(), Module())
    tracer.guards = Guards(sizes)
    try:
        with collecting():
            return record(function, state, names, values, spec, device, tracer), tracer.guards
    finally:
        tracer.guards.release()
