"""Collects the comparisons of sizes that Python code makes while it is recorded, as expressions of the variable sizes.

During a collection the sizes of tensors are numbers that have an expression: arithmetic returns such numbers, and a comparison adds a
Guard, a conversion a Conversion."""

from __future__ import annotations

import builtins
import contextlib
import math
import threading
from collections.abc import Callable, Iterator
from typing import Any

from .._base import overrides
from .._base.size import Size as TorchSize
from .._core.tensor import Tensor
from ..fx.experimental.operator_tracer import OperatorTracer
from ..fx.graph import Graph
from ..fx.node import Node
from ..nn import Module
from .expressions import write_python
from .recording import Recording
from .size_numbers import GuardList, make_number, plain
from .trace import Tracer, record

__all__ = ["Collecting", "Expressions", "Guards", "collecting", "find_expressions", "is_collecting", "record_guards"]

# The sizes of tensors, as numbers or expressions of Python, by the path of the graph and the name of the node.
Expressions = dict[tuple[str, ...], dict[str, tuple[int | str, ...]]]


class Guards(GuardList):
    """The comparisons and conversions of one call, with the expressions of the sizes of its tensors."""

    def __init__(self, sizes: Expressions) -> None:
        super().__init__()
        self.sizes = sizes
        self.tensors: list[SizedTensor] = []

    def release(self) -> None:
        """Makes the tensors of the collection plain ones."""
        for value in self.tensors:
            value.__class__ = Tensor  # type: ignore[assignment]
        self.tensors.clear()


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

    def stride(self, dim: Any = None) -> Any:
        """Returns strides with the expressions of products of sizes, as those of contiguous and of transposed tensors are."""
        strides, sizes, step = list(Tensor.stride(self)), self.size(), 1
        for d in sorted(range(len(strides)), key=lambda d: (strides[d], plain(sizes[d]))):
            if strides[d] == plain(step):
                strides[d], step = step, step * sizes[d]
        return tuple(strides) if dim is None else strides[dim] if -self.dim() <= dim < self.dim() else Tensor.stride(self, dim)

    @property
    def nbytes(self) -> Any:
        return self.numel() * self.element_size()


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


def is_collecting() -> bool:
    """Returns whether sizes can be numbers with expressions, on some thread."""
    return _active > 0


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


def find_expressions(recordings: list[Recording], express: Callable[[tuple[int, ...]], int | str]) -> Expressions:
    """Returns the sizes of the tensors of recordings for several sizes: of all tensors, or of those before the first operator that
    differs."""
    found: Expressions = {}

    def write(vector: tuple[int, ...]) -> int | str:
        value = express(vector)
        return value if isinstance(value, int) else write_python(value)

    def visit(path: tuple[str, ...], graphs: list[Recording]) -> None:
        found[path] = {}
        for at, nodes in enumerate(zip(*(graph.nodes for graph in graphs), strict=False)):
            node, shapes = nodes[0], [graph.sizes(at) for graph in graphs]
            if len({(x.op, x.target, x.name) for x in nodes}) > 1 or len({len(shape or ()) for shape in shapes}) > 1:
                return
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
