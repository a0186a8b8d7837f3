"""Records the operators of a module or a function, once for each of several sizes of its inputs, and finds which numbers depend on the sizes."""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

from .. import allclose, arange, get_rng_state, no_grad, ops, set_rng_state
from .. import equal as are_equal
from .._core.tensor import Tensor
from .._inert.compilation import exporting
from ..func import functional_call
from ..fx.experimental.proxy_tensor import OperatorTracer
from ..fx.graph import Graph
from ..fx.node import Node
from ..library.aten import AtenOverload
from ..library.lowering import choose
from ..nn import Module
from ..utils import _pytree as pytree
from .composites import COMPOSED, KEPT, RULES
from .dims import Size, Symbol

__all__ = ["Recording", "Sizes", "record", "unify"]


class Tracer(OperatorTracer):
    """Records operators, with the composite ones of `composites` whole."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in RULES:
            return RULES[func](self.call, *args, **kwargs)
        if func in COMPOSED:
            with self:
                return COMPOSED[func](*args, **kwargs)
        name = getattr(func, "__name__", "").rpartition(".")[2]
        if name in KEPT and not isinstance(func, AtenOverload):
            chosen = choose(name, args, kwargs)
            if chosen is not None:
                return self.__torch_dispatch__(chosen[0], types, chosen[1], chosen[2])
        return super().__torch_function__(func, types, args, kwargs)

    def call(self, operator: Any, *args: Any, **kwargs: Any) -> Any:
        """Runs and records an overload, or the one of a name such as "div.Tensor"."""
        if isinstance(operator, str):
            name, _, overload = operator.partition(".")
            operator = getattr(getattr(ops.aten, name), overload)
        return self.__torch_dispatch__(operator, (), args, kwargs)


class Recording:
    """A graph, whose placeholders are the state and the flat inputs, with the flat outputs and the sizes of each value."""

    def __init__(self, graph: Graph, spec: Any, constants: dict[str, tuple[str, Tensor]]) -> None:
        self.graph, self.spec, self.constants = graph, spec, constants
        self.nodes: list[Node] = list(graph.nodes)

    @property
    def outputs(self) -> list[Any]:
        """The flat results: nodes, numbers, strings and None."""
        return list(self.nodes[-1].args[0])

    def sizes(self, at: int) -> tuple[int, ...] | None:
        """Returns the shape of the value of node `at`; None if it is no tensor."""
        value = self.nodes[at].meta.get("val")
        return tuple(value.shape) if isinstance(value, Tensor) else None


def resize(value: Tensor, dim: int, size: int) -> Tensor:
    """Returns a tensor of another size along a dimension, of the same elements in turn: indices stay valid."""
    if value.size(dim) == size:
        return value
    if value.size(dim) == 0:
        raise ValueError("export: a variable size must not be 0 in the sample inputs")
    return value.index_select(dim, arange(size) % value.size(dim))


def sample(values: list[Any], sizes: list[dict[int, Size]], of: dict[Symbol, int]) -> list[Any]:
    """Returns copies of the flat inputs, with the sizes that symbols have."""
    made = []
    for value, variable in zip(values, sizes, strict=True):
        if isinstance(value, Tensor):
            value = value.detach().clone()
            for dim, (symbol, factor, offset) in variable.items():
                value = resize(value, dim, factor * of[symbol] + offset)
        made.append(value)
    return made


def record(function: Callable[..., Any], state: dict[str, tuple[str, Tensor]], names: list[str], values: list[Any], spec: Any) -> Recording:
    """Calls a function with flat inputs, whose structure is `spec`, and returns the operators.

    `state` has a name and the tensor of each parameter and buffer, by the name of its placeholder. Nothing that the function writes to is kept."""
    graph, root = Graph(), Module()
    tracer = Tracer(graph, root)
    copies = {target: value.detach().clone() if kind == "b" else value for kind, (target, value) in ((k[0], v) for k, v in state.items())}
    for placeholder, (target, _) in state.items():
        tracer.track(copies[target], graph.placeholder(placeholder))
    for name, value in zip(names, values, strict=True):
        node = graph.placeholder(name)
        if isinstance(value, Tensor):
            tracer.track(value, node)
    expected = call_plainly(function, copies, values, spec)
    before = get_rng_state()
    try:
        with no_grad(), tracer:
            result = call(function, copies, values, spec)
    finally:
        set_rng_state(before)
    flat, out_spec = pytree.tree_flatten(result)
    for i, (found, known) in enumerate(zip(flat, expected or flat, strict=True)):
        if not is_close(found, known):
            raise RuntimeError(f"export: output {i} of the recorded operators differs from that of the function; please report this")
    graph.output([tracer.find(x) for x in flat])
    constants = name_constants(function, graph, root)
    return Recording(graph, out_spec, constants)


def name_constants(function: Callable[..., Any], graph: Graph, root: Module) -> dict[str, tuple[str, Tensor]]:
    """Makes one node of those that read one tensor; returns the name and the tensor of each, by the name of its node.

    The name is that of the attribute of the module which the tensor is, or lifted_tensor_0 and so on."""
    attributes: dict[int, str] = {}
    for path, module in function.named_modules() if isinstance(function, Module) else ():
        attributes |= {id(v): f"{path}.{k}".lstrip(".") for k, v in vars(module).items() if isinstance(v, Tensor)}
    nodes: dict[str, Node] = {}
    constants: dict[str, tuple[str, Tensor]] = {}
    for node in [node for node in graph.nodes if node.op == "get_attr"]:
        target = str(node.target)
        if target in nodes:
            node.replace_all_uses_with(nodes[target])
            graph.erase_node(node)
            continue
        value = getattr(root, target)
        nodes[target] = node
        name = attributes.get(id(value), f"lifted_tensor_{len(nodes) - 1}")
        node.meta["val"] = value.detach()
        node._rename("c_" + re.sub(r"\W", "_", name))
        constants[node.name] = name, value.detach()
    return constants


def call(function: Callable[..., Any], state: dict[str, Tensor], values: list[Any], spec: Any) -> Any:
    args, kwargs = pytree.tree_unflatten(values, spec)
    before, exporting.active = exporting.active, True
    try:
        return functional_call(function, state, args, kwargs, tie_weights=False) if isinstance(function, Module) else function(*args, **kwargs)
    finally:
        exporting.active = before


def call_plainly(function: Callable[..., Any], state: dict[str, Tensor], values: list[Any], spec: Any) -> list[Any] | None:
    """Returns the flat outputs of a call without a record; None if they depend on random numbers. Writes to copies."""
    copies = {name: value.detach().clone() for name, value in state.items()}
    inputs = [value.clone() if isinstance(value, Tensor) else value for value in values]
    before = get_rng_state()
    with no_grad():
        result = pytree.tree_leaves(call(function, copies, inputs, spec))
    if are_equal(before, get_rng_state()):
        return result
    set_rng_state(before)
    return None


def is_close(found: Any, known: Any) -> bool:
    """Returns whether two outputs are equal but for rounding."""
    if not isinstance(found, Tensor) or not isinstance(known, Tensor):
        return type(found) is type(known) and (found == known or found != found)
    if found.shape != known.shape or found.dtype != known.dtype:
        return False
    if not (found.is_floating_point() or found.is_complex()):
        return are_equal(found, known)
    tolerance = 1e-9 if found.element_size() >= 8 and not found.is_complex() else 1e-4 if found.element_size() >= 4 else 2e-2
    return allclose(found, known, tolerance, tolerance, equal_nan=True)


# -------------------------------------------------------------------------------------------------- numbers that depend on sizes


class Sizes:
    """The values of the symbols in each recording, and expressions of them, as sympy's srepr writes them.

    `created` are the names of symbols for sizes that no expression was found for."""

    def __init__(self, symbols: list[Symbol], values: list[dict[Symbol, int]]) -> None:
        self.bases = {tuple(of[symbol] for of in values): write_symbol(symbol.name) for symbol in symbols}
        self.known: dict[tuple[int, ...], str] = {}
        self.created: list[str] = []
        self.count = len(symbols)

    def express(self, vector: tuple[int, ...]) -> int | str:
        """Returns a size, which has a value in each recording, as an integer or an expression."""
        if len(set(vector)) == 1:
            return vector[0]
        if vector not in self.known:
            self.known[vector] = self._find(vector)
        return self.known[vector]

    def _find(self, vector: tuple[int, ...]) -> str:
        for known, text in self.bases.items():
            line = find_line(known, vector)
            if line is not None:
                return write_line(text, *line)
        for (one, first), (two, second) in itertools.combinations_with_replacement(self.bases.items(), 2):
            factor = find_factor([a * b for a, b in zip(one, two, strict=True)], vector)
            if factor is not None:
                return write_line(f"Pow({first}, Integer(2))" if one == two else f"Mul({first}, {second})", factor, 0)
        for known, text in list(self.bases.items()):
            for divisor in range(2, 33):
                for offset in range(-divisor, divisor + 1):
                    quotient = tuple((x + offset) // divisor for x in known)
                    line = find_line(quotient, vector)
                    if line is not None:
                        self.bases[quotient] = f"FloorDiv({write_line(text, 1, offset)}, Integer({divisor}))"
                        return write_line(self.bases[quotient], *line)
        self.created.append(f"s{self.count + len(self.created)}")
        self.bases[vector] = write_symbol(self.created[-1])
        return self.bases[vector]


def write_symbol(name: str) -> str:
    return f"Symbol('{name}', positive=True, integer=True)"


def write_line(base: str, factor: int, offset: int) -> str:
    text = base if factor == 1 else f"Mul(Integer({factor}), {base})"
    return text if offset == 0 else f"Add({text}, Integer({offset}))"


def find_line(known: Sequence[int], vector: Sequence[int]) -> tuple[int, int] | None:
    """Returns (a, b) with vector = a * known + b; None without integers that fit."""
    other = next((i for i, x in enumerate(known) if x != known[0]), None)
    if other is None:
        return None
    factor, rest = divmod(vector[other] - vector[0], known[other] - known[0])
    offset = vector[0] - factor * known[0]
    fits = not rest and factor and all(v == factor * x + offset for v, x in zip(vector, known, strict=True))
    return (factor, offset) if fits else None


def find_factor(known: Sequence[int], vector: Sequence[int]) -> int | None:
    """Returns a with vector = a * known; None without an integer that fits."""
    if not known[0] or vector[0] % known[0]:
        return None
    factor = vector[0] // known[0]
    return factor if factor and all(v == factor * x for v, x in zip(vector, known, strict=True)) else None


class Unifier:
    """Replaces the numbers of the first recording that differ in the others by nodes that compute them from sizes of earlier values."""

    def __init__(self, recordings: list[Recording]) -> None:
        self.recordings = recordings
        self.graph = recordings[0].graph
        self.known: dict[tuple[int, ...], tuple[int, int]] = {}  # the node and the dimension of sizes, by their values in each recording
        self.made: dict[tuple[int, ...], Node] = {}

    def learn(self, at: int) -> None:
        """Makes the sizes of a node's value available."""
        shapes = [r.sizes(at) for r in self.recordings]
        if shapes[0] is None:
            return
        for dim, vector in enumerate(zip(*(shape or () for shape in shapes), strict=True)):
            if len(set(vector)) > 1:
                self.known.setdefault(vector, (at, dim))

    def call(self, target: Any, args: tuple[Any, ...], vector: tuple[int, ...]) -> Node:
        node = self.graph.call_function(target, args)
        node.meta["values"] = vector
        return node

    def size(self, vector: tuple[int, ...]) -> Node:
        """Returns a node of a size."""
        if vector not in self.made:
            at, dim = self.known[vector]
            self.made[vector] = self.call(ops.aten.sym_size.int, (self.recordings[0].nodes[at], dim), vector)
        return self.made[vector]

    def line(self, base: Node, known: Sequence[int], factor: int, offset: int) -> Node:
        if factor != 1:
            known = tuple(factor * x for x in known)
            base = self.call(operator.mul, (base, factor), known)
        return self.call(operator.add, (base, offset), tuple(x + offset for x in known)) if offset else base

    def number(self, vector: tuple[int, ...], where: str) -> Node:
        """Returns a node of a number that has a value in each recording."""
        if vector in self.made:
            return self.made[vector]
        if vector in self.known:
            return self.size(vector)
        found: Node | None = None
        for known in self.known:
            line = find_line(known, vector)
            if line is not None:
                found = self.line(self.size(known), known, *line)
                break
        if found is None:
            found = self.quotient(vector) or self.product(vector)
        if found is None:
            raise NotImplementedError(
                f"export: {where} depends on the variable sizes in a way that is not supported: {list(vector)} for these samples"
            )
        self.made[vector] = found
        return found

    def quotient(self, vector: tuple[int, ...]) -> Node | None:
        for known in self.known:
            for divisor in {x // v for x, v in zip(known, vector, strict=True) if v > 0} | {
                x // v + 1 for x, v in zip(known, vector, strict=True) if v > 0
            }:
                if divisor > 1 and all(x // divisor == v for x, v in zip(known, vector, strict=True)):
                    return self.call(operator.floordiv, (self.size(known), divisor), vector)
        return None

    def product(self, vector: tuple[int, ...]) -> Node | None:
        for one, two in itertools.combinations_with_replacement(self.known, 2):
            known = tuple(a * b for a, b in zip(one, two, strict=True))
            factor = find_factor(known, vector)
            if factor is not None:
                return self.line(self.call(operator.mul, (self.size(one), self.size(two)), known), known, factor, 0)
        return None

    def argument(self, values: tuple[Any, ...], where: str) -> Any:
        """Returns an argument of the first recording, with nodes for the numbers that differ."""
        first = values[0]
        if isinstance(first, list | tuple):
            if any(type(v) is not type(first) or len(v) != len(first) for v in values):
                raise NotImplementedError(f"export: the length of {where} depends on the variable sizes")
            return type(first)(self.argument(item, where) for item in zip(*values, strict=True))
        if isinstance(first, Node):
            if any(not isinstance(v, Node) or v.name != first.name for v in values):
                raise NotImplementedError(f"export: {where} is another value for other variable sizes")
            return first
        if all(type(v) is type(first) and v == first for v in values) or first is None:
            return first
        if all(type(v) is int for v in values):
            return self.number(values, where)
        raise NotImplementedError(f"export: {where} depends on the variable sizes: it is {', '.join(map(str, values))} for samples of other sizes")

    def run(self) -> None:
        for at, nodes in enumerate(zip(*(r.nodes for r in self.recordings), strict=True)):
            node = nodes[0]
            if node.op in ("call_function", "output"):
                names = list(node.kwargs)
                where = "an output" if node.op == "output" else f"an argument of {node.target}"
                with self.graph.inserting_before(node):
                    args = self.argument(tuple(n.args for n in nodes), where)
                    values = self.argument(tuple([n.kwargs[k] for k in names] for n in nodes), where)
                node.args, node.kwargs = args, dict(zip(names, values, strict=True))
            self.learn(at)


def unify(recordings: list[Recording]) -> Recording:
    """Returns a recording whose graph holds for every size. Raises NotImplementedError if the operators depend on the sizes."""
    first = recordings[0]
    for other in recordings[1:]:
        for a, b in itertools.zip_longest(first.nodes, other.nodes):
            if a is None or b is None or (a.op, a.target, a.name) != (b.op, b.target, b.name):
                operators = f"{getattr(a, 'target', 'the end')} and {getattr(b, 'target', 'the end')}"
                raise NotImplementedError(
                    f"export: the operators depend on the variable sizes ({operators} for samples of other sizes); make these sizes static"
                )
        if other.spec != first.spec:
            raise NotImplementedError("export: the structure of the result depends on the variable sizes")
    if len(recordings) > 1:
        Unifier(recordings).run()
    return first
