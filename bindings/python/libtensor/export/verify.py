"""Compares a program's graph with recordings for more sizes and elements than those that the graph was made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

from .. import arange, no_grad
from .. import bool as torch_bool
from .. import uint8 as torch_uint8
from .._core.tensor import Tensor
from ..fx.node import Node
from ..library.aten import AtenOverload
from ..library.operators import OpOverload
from .dims import Size, Symbol
from .recording import Recording
from .thresholds import list_thresholds
from .trace import call_plainly, copy_state, have_same_constants, is_close, record, sample

__all__ = ["check_elements", "check_graphs", "check_sizes", "list_varying", "record_variations"]

FAR = (4096, 512, 96)  # sizes that are tried where no bound forbids them
NEAR = 24  # the number of thresholds of the function for which sizes are tried, the smallest ones
LIMIT = 1 << 18  # elements of inputs up to which a function is called for these sizes
VARIATIONS = 4  # recordings for other elements of the inputs
# Operators whose results have sizes that depend on elements; index and custom operators may do so, too.
VARYING = frozenset(("nonzero", "argwhere", "masked_select", "_unique", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive"))
VARYING |= frozenset(("bincount", "one_hot", "repeat_interleave"))
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
        if isinstance(value, Recording):
            return isinstance(found, Recording) and find_difference(value, found) is None
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
    with no_grad():
        found = first.run(*copy_state(state).values(), *inputs)
    return all(map(is_close, found, expected))


def _list_samples(symbols: list[Symbol], thresholds: list[int]) -> Iterator[tuple[Symbol, list[int]]]:
    """Returns the sizes to try for each symbol alone: in each list until the function accepts one."""
    near = dict.fromkeys(n + step for n in [n for n in thresholds if n > 1][:NEAR] for step in (0, 1, -1))
    for symbol in symbols:
        for n in near:
            if n != symbol.hint and n > 1 and n >= symbol.least and (symbol.most is None or n <= symbol.most):
                yield symbol, [n]
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
    """Raises NotImplementedError if the graph differs from what the function does for small and large sizes, and for those near the numbers that
    its code compares sizes with. A graph that does not hold for the size 1 requires 2 or more. Sizes for which the function fails are not
    compared: the program fails for them, too."""

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
    thresholds = list_thresholds(lambda: attempt(hints)) if symbols else []
    for symbol, candidates in _list_samples(symbols, thresholds):
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


def list_varying(recording: Recording) -> list[Node]:
    """Returns the nodes whose results may have sizes that depend on elements."""

    def varies(node: Node) -> bool:
        if not isinstance(node.target, AtenOverload):
            return node.op == "call_function" and isinstance(node.target, OpOverload)
        if node.target.op_name == "index":
            return any(isinstance(x, Node) and x.meta["val"].dtype in (torch_bool, torch_uint8) for x in node.args[1])
        return node.target.op_name in VARYING

    return [node for node in recording.nodes if varies(node)]


def check_graphs(recording: Recording) -> None:
    """Raises NotImplementedError if a graph of control flow has results with sizes that depend on elements."""
    for node in recording.nodes:
        for graph in (x for x in node.args if isinstance(x, Recording)):
            check_graphs(graph)
            varying = list_varying(graph)
            if varying:
                raise NotImplementedError(
                    f"export: a function of {node.target} calls {varying[0].target}, whose result has a size that depends on elements; call it "
                    "outside of the function, or use a mask"
                )


def _vary(value: Any, step: int, is_strong: bool) -> Any:
    """Returns a tensor with other elements, which are valid indices where those of `value` are: some of its elements, and others if `is_strong`."""
    if not isinstance(value, Tensor) or not value.numel():
        return value
    places = arange(value.numel())
    flat = value.detach().flatten()[(places * places + (2 * step + 1) * places + step) % value.numel()]
    is_changed = (places + step) % (step + 2) == 0
    if is_strong and value.dtype == torch_bool:
        flat = flat ^ is_changed
    elif is_strong:
        other = (1 - 2 * flat) * 100**step if value.is_floating_point() else 1 - flat.clamp(0, 1)
        flat = flat.where(~is_changed, other.to(flat.dtype))
    return flat.reshape(value.shape)


def record_variations(
    first: Recording, function: Callable[..., Any], state: dict[str, tuple[str, Tensor]], names: list[str], values: list[Any], spec: Any
) -> list[Recording]:
    """Returns recordings for other elements of the inputs, in which sizes that depend on elements differ; none if there are no such sizes.

    Raises NotImplementedError if the operators or constants depend on elements."""
    found = []
    for step in range(VARIATIONS if list_varying(first) else 0):
        for is_strong in (True, False):
            try:
                other = record(function, state, names, [_vary(v, step, is_strong) for v in values], spec)
            except ERRORS:
                continue
            pairs = zip_longest(first.nodes, other.nodes)
            if any(a is None or b is None or (a.op, a.target, a.name) != (b.op, b.target, b.name) for a, b in pairs) or first.spec != other.spec:
                raise NotImplementedError(
                    "export: the operators depend on elements of the inputs: Python code branches on, or repeats for, "
                    "a size such as that of nonzero(); "
                    "select with torch.where or masks"
                )
            if not have_same_constants(first, other):
                raise NotImplementedError(CONSTANTS)
            found.append(other)
            break
    return found


CONSTANTS = (
    "export: a constant tensor depends on elements of the inputs, or differs from call to call; make tensors with operators, "
    "not from numpy(), tolist() or random numbers of Python"
)


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
        raise NotImplementedError(CONSTANTS)
