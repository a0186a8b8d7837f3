"""Compares a program's graph with recordings for more sizes and elements than those that the graph was made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .. import no_grad
from .._core.tensor import Tensor
from ..fx.node import Node
from ..library.aten import AtenOverload
from .dims import Size, Symbol
from .trace import Recording, call_plainly, copy_state, have_same_constants, is_close, record, sample

__all__ = ["check_elements", "check_sizes"]

FAR = (4096, 512, 96)  # sizes that are tried where no bound forbids them
LIMIT = 1 << 18  # elements of inputs up to which a function is called for these sizes
ERRORS = (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError, ArithmeticError, AssertionError, MemoryError)


class _Evaluator:
    """Computes the numbers of a graph for the sizes of another recording."""

    def __init__(self, first: Recording, other: Recording) -> None:
        self.other = other
        self.order = {node: i for i, node in enumerate(first.nodes)}
        self.known: dict[Node, int] = {}

    def number(self, node: Node) -> int:
        if node not in self.known:
            first, second = node.args
            if isinstance(node.target, AtenOverload):
                self.known[node] = (self.other.sizes(self.order[first]) or ())[second]
            else:
                self.known[node] = node.target(*(self.number(x) if isinstance(x, Node) else x for x in node.args))
        return self.known[node]

    def agree(self, value: Any, found: Any) -> bool:
        """Returns whether an argument of the graph is an argument of the other recording."""
        if isinstance(value, Node):
            if "values" in value.meta:
                return type(found) is int and self.number(value) == found
            return isinstance(found, Node) and found.name == value.name
        if isinstance(value, list | tuple):
            return isinstance(found, list | tuple) and len(value) == len(found) and all(map(self.agree, value, found))
        return type(value) is type(found) and bool(value == found or value != value)


def find_difference(first: Recording, other: Recording) -> str | None:
    """Returns what differs between the graph of `first`, after unify, and another recording; None if nothing does."""
    evaluator = _Evaluator(first, other)
    for i in range(max(len(first.nodes), len(other.nodes))):
        a, b = (nodes[i] if i < len(nodes) else None for nodes in (first.nodes, other.nodes))
        if a is None or b is None or (a.op, a.target, a.name) != (b.op, b.target, b.name):
            return f"the operators are others ({getattr(a, 'target', 'the end')} and {getattr(b, 'target', 'the end')})"
        named = [(a.kwargs[k], b.kwargs.get(k)) for k in a.kwargs if k != "device"]
        if not evaluator.agree(a.args, b.args) or not all(evaluator.agree(*pair) for pair in named):
            return "an output is another" if a.op == "output" else f"an argument of {a.target} is another"
    if first.spec != other.spec:
        return "the structure of the result is another"
    return None if have_same_constants(first, other) else "a constant tensor is another"


def run_equals(first: Recording, function: Callable[..., Any], state: dict[str, tuple[str, Tensor]], inputs: list[Any], spec: Any) -> bool:
    """Returns whether a graph, after unify, computes the outputs of a function for the flat inputs."""
    expected = call_plainly(function, state, inputs, spec)
    if expected is None:
        return False
    given = iter([*copy_state(state).values(), *inputs])
    found: dict[Node, Any] = {}

    def value_of(x: Any) -> Any:
        if isinstance(x, Node):
            return found[x]
        return type(x)(map(value_of, x)) if isinstance(x, list | tuple) else x

    with no_grad():
        for node in first.graph.nodes:
            if node.op == "placeholder":
                found[node] = next(given)
            elif node.op == "get_attr":
                found[node] = first.constants[node.name][1]
            elif node.op == "call_function":
                found[node] = node.target(*value_of(node.args), **{k: value_of(v) for k, v in node.kwargs.items()})
            else:
                return all(map(is_close, value_of(list(node.args[0])), expected))
    return False


def _list_samples(symbols: list[Symbol]) -> Iterator[tuple[Symbol, list[int]]]:
    """Returns the sizes to try for each symbol alone: in each list until the function accepts one."""
    for symbol in symbols:
        most = symbol.most
        yield symbol, [n for n in ([] if most is None else [most]) + [n for n in FAR if most is None or n < most] if n > symbol.hint]
        yield symbol, [n for n in (symbol.least, 2, 3) if symbol.least <= n < symbol.hint and n > 1]
        yield symbol, [1] if symbol.least <= 1 < symbol.hint else []


def check_sizes(
    first: Recording,
    function: Callable[..., Any],
    state: dict[str, tuple[str, Tensor]],
    names: list[str],
    values: list[Any],
    spec: Any,
    sizes: list[dict[int, Size]],
    symbols: list[Symbol],
) -> None:
    """Raises NotImplementedError if the graph differs from what the function does for small and large sizes. A graph that does not hold for the
    size 1 requires 2 or more. Sizes for which the function fails are not compared: the program fails for them, too."""

    def attempt(of: dict[Symbol, int]) -> Recording | None:
        try:
            inputs = sample([v.detach().to("meta") if isinstance(v, Tensor) else v for v in values], sizes, of, "meta")
            return record(function, state, names, inputs, spec, "meta")
        except ERRORS:
            pass
        try:
            inputs = sample(values, sizes, of)
            if sum(v.numel() for v in inputs if isinstance(v, Tensor)) > LIMIT:
                return None
            return record(function, state, names, inputs, spec)
        except ERRORS:
            return None

    def holds(of: dict[Symbol, int]) -> bool:
        """Returns whether the graph has the results of the function for sizes, though the operators of the function are others."""
        inputs = sample(values, sizes, of)
        if sum(v.numel() for v in inputs if isinstance(v, Tensor)) > LIMIT:
            return False
        try:
            return run_equals(first, function, state, inputs, spec)
        except ERRORS:
            return False

    hints = {symbol: symbol.hint for symbol in symbols}
    for symbol, candidates in _list_samples(symbols):
        for size in candidates:
            other = attempt({**hints, symbol: size})
            if other is None:
                continue
            difference = find_difference(first, other)
            if difference is not None and holds({**hints, symbol: size}):
                break
            if difference is not None and size == 1:
                symbol.least = 2
            elif difference is not None:
                raise NotImplementedError(
                    f"export: the function depends on the variable size {symbol.name} in a way that no graph describes: for {size}, {difference} "
                    f"than for {symbol.hint}; make the size static, or bound it with min and max of Dim to sizes for which the function does the same"
                )
            break


def check_elements(
    first: Recording, function: Callable[..., Any], state: dict[str, tuple[str, Tensor]], names: list[str], values: list[Any], spec: Any
) -> None:
    """Raises NotImplementedError if constants of a graph depend on elements of the inputs."""
    if not any(name.startswith("lifted_tensor_") for name, _ in first.constants.values()):
        return
    inputs = [v.detach().clone() if isinstance(v, Tensor) else v for v in values]
    for v in inputs:
        if isinstance(v, Tensor) and v.numel():
            v.copy_(v.flatten().roll(1).reshape(v.shape) * (0.75 if v.is_floating_point() or v.is_complex() else 1))
    try:
        other = record(function, state, names, inputs, spec)
    except ERRORS:
        return
    if not have_same_constants(first, other):
        raise NotImplementedError(
            "export: a constant tensor depends on elements of the inputs, or differs from call to call; make tensors with operators, "
            "not from numpy(), tolist() or random numbers of Python"
        )
