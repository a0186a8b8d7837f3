"""Records the operators of a module or a function, once for each of several sizes of its inputs, and finds which numbers depend on the
sizes."""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import allclose, arange, get_rng_state, no_grad, ops, set_rng_state, strided
from .. import device as make_device
from .. import equal as are_equal
from .._core.tensor import Tensor
from .._inert.compilation import exporting
from ..func import functional_call
from ..fx.graph import Graph
from ..fx.node import Node
from ..library.aten import AtenOverload
from ..library.lowering import choose, choose_out, name_operator, write_out
from ..library.operators import OpOverload
from ..nn import Module
from ..utils import _pytree as pytree
from .composites import COMPOSED, KEPT, RULES
from .control import ControlTracer, list_written, name_inputs
from .dims import Size, Symbol
from .recording import Recording

__all__ = ["REGISTER", "Sizes", "record", "unify", "write_symbol"]

# What to do with classes that are no pytrees.
REGISTER = "Register a dataclass with torch.export.register_dataclass, another container with torch.utils._pytree.register_pytree_node"
REMEDY = "; make the size static, or compute with the size itself"  # the end of errors
MANY = 12  # known sizes beyond which no products of more than two of them are looked for


def is_meta_copy(func: Any, kwargs: Any) -> bool:
    """Returns whether an operator copies a tensor to the device meta."""
    return isinstance(func, AtenOverload) and func.op_name == "_to_copy" and str((kwargs or {}).get("device")) == "meta"


class Tracer(ControlTracer):
    """Records operators, with the composite ones of `composites` whole."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        out = self.take_out(func, kwargs)
        if out is not None:
            return self.record_out(func, types, args, kwargs, out)
        if isinstance(func, OpOverload):  # also one that consists of others, which PyTorch's programs keep whole
            return self.__torch_dispatch__(func, types, args, kwargs)
        if func in RULES:
            return RULES[func](self.call, *args, **kwargs)
        name = getattr(func, "__name__", "").rpartition(".")[2]
        if func in COMPOSED:
            with self:
                made = COMPOSED[func](*args, **kwargs)
            if made is not NotImplemented:
                return made
        if name in KEPT:
            chosen = choose(name, args, kwargs)
            if chosen is not None:
                return self.__torch_dispatch__(chosen[0], types, chosen[1], chosen[2])
        return super().__torch_function__(func, types, args, kwargs)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if is_meta_copy(func, kwargs) and id(args[0]) not in self._nodes:
            return func(*args, **kwargs)  # by torch.tensor, in a call with inputs on the device meta
        for value in list_written(func, args, kwargs or {}):
            if self.outer is None and self.is_constant(value):
                raise NotImplementedError(
                    f"export: {func} writes to a tensor that is neither an input nor a buffer; register it with register_buffer, or "
                    "clone() it"
                )
        return super().__torch_dispatch__(func, types, args, kwargs)

    def take_out(self, func: Any, kwargs: dict[str, Any]) -> Any:
        """Removes the tensors that results are written to from the keyword arguments of a call, and returns them; None without any."""
        if not isinstance(func, AtenOverload):
            return kwargs.pop("out", None)
        names = [a.name for a in func._schema.arguments if a.is_write and a.kwarg_only and a.name in kwargs]
        found = [kwargs.pop(name) for name in names]
        return found[0] if len(found) == 1 else found or None

    def record_out(self, func: Any, types: Any, args: Any, kwargs: dict[str, Any], out: Any) -> Any:
        """Records a call that writes to `out`: with the overload that does, or with copies of the results of another one."""
        chosen = choose_out(func.op_name if isinstance(func, AtenOverload) else name_operator(func), args, kwargs, out)
        targets = list(out) if isinstance(out, tuple | list) else [out]
        shapes = [target.shape for target in targets]
        if chosen is not None:
            made: Any = self.__torch_dispatch__(chosen[0], types, chosen[1], chosen[2])
            results = targets
        else:
            made = self.__torch_function__(func.overloadpacket if isinstance(func, AtenOverload) else func, types, args, kwargs)
            results = list(made) if isinstance(made, tuple | list) else [made]
        for shape, result in zip(shapes, results, strict=True):
            if shape != result.shape:
                raise NotImplementedError(
                    f"export: `out` has the shape {list(shape)}, but the result {list(result.shape)}; create it with the shape of the "
                    "result"
                )
        return made if chosen is not None else write_out(self.call, made, out)

    def finish(self, results: list[Any]) -> list[Any]:
        """Returns the flat results of the call, after it."""
        return results

    def track(self, value: Any, node: Node) -> None:
        if isinstance(value, Tensor) and value.layout is not strided:
            raise NotImplementedError(
                f"export: {node.target} has a tensor of the layout {value.layout}; exported programs have strided tensors: convert with "
                "to_dense()"
            )
        super().track(value, node)

    def is_constant(self, value: Tensor) -> bool:
        """Returns whether a tensor, or the tensor whose memory it shares, existed before the trace."""
        if id(value) not in self._nodes:
            return True
        memory = value.untyped_storage().data_ptr()
        return memory != 0 and any(memory == constant.untyped_storage().data_ptr() for constant, _ in self._constants.values())

    def call(self, operator: Any, *args: Any, **kwargs: Any) -> Any:
        """Runs and records an overload, or the one of a name such as "div.Tensor"."""
        if isinstance(operator, str):
            name, _, overload = operator.partition(".")
            operator = getattr(getattr(ops.aten, name), overload)
        return self.__torch_dispatch__(operator, (), args, kwargs)


def resize(value: Tensor, dim: int, size: int, device: str) -> Tensor:
    """Returns a tensor of another size along a dimension, of the same elements in turn: indices stay valid."""
    if value.size(dim) == size:
        return value
    if value.size(dim) == 0:
        raise ValueError("export: a variable size must not be 0 in the sample inputs")
    return value.index_select(dim, arange(size, device=device) % value.size(dim))


def sample(values: list[Any], sizes: list[dict[int, Size]], of: dict[Symbol, int], device: str = "cpu") -> list[Any]:
    """Returns copies of the flat inputs, which are on a device, with the sizes that symbols have."""
    made = []
    for value, variable in zip(values, sizes, strict=True):
        if isinstance(value, Tensor):
            value = value.detach().clone()
            for dim, (symbol, factor, offset) in variable.items():
                value = resize(value, dim, factor * of[symbol] + offset, device)
        made.append(value)
    return made


def copy_state(state: dict[str, tuple[str, Tensor]], device: str = "cpu") -> dict[str, Tensor]:
    """Returns copies of the parameters and buffers on a device, by name; tied ones are one tensor."""
    copies = {id(value): value.detach().clone() if device == "cpu" else value.detach().to(device) for _, value in state.values()}
    return {target: copies[id(value)] for target, value in state.values()}


def check_overlaps(state: dict[str, tuple[str, Tensor]], written: list[str]) -> None:
    """Raises NotImplementedError if one of the written buffers shares a part of its memory with other state."""
    tensors = dict(state.values())
    for name in written:
        ours = tensors[name]
        for other, value in tensors.items():
            same = (ours.data_ptr(), ours.shape, ours.stride(), ours.dtype) == (value.data_ptr(), value.shape, value.stride(), value.dtype)
            if ours.numel() and not same and ours.untyped_storage().data_ptr() == value.untyped_storage().data_ptr():
                raise NotImplementedError(
                    f"export: the function writes to the buffer {name}, which shares memory with {other}; clone() one of them"
                )


def record(
    function: Callable[..., Any],
    state: dict[str, tuple[str, Tensor]],
    names: list[str],
    values: list[Any],
    spec: Any,
    device: str = "cpu",
    tracer: Tracer | None = None,
) -> Recording:
    """Calls a function with flat inputs, whose structure is `spec`, and returns the operators.

    `state` has a name and the tensor of each parameter and buffer, by the name of its placeholder. Nothing that the function writes to is
    kept."""
    tracer = tracer or Tracer(Graph(), Module())
    graph, root = tracer.graph, tracer.root
    copies = copy_state(state, device)
    inputs = [value.clone() if isinstance(value, Tensor) else value for value in values]
    tracked = dict(copies)
    for placeholder, (target, _) in state.items():
        tracer.track(copies[target], graph.placeholder(placeholder))
    for name, value in zip(names, inputs, strict=True):
        node = graph.placeholder(name)
        if isinstance(value, Tensor):
            tracer.track(value, node)
    versions = {name: value._version for name, value in copies.items()}
    before = get_rng_state()
    try:
        with keeping_modules(function), no_grad(), contextlib.nullcontext() if device == "cpu" else make_device(device), tracer:
            result = call(function, copies, inputs, spec)
            assigned = {name: value for name, value in tracked.items() if copies[name] is not value}
            for name, value in assigned.items():
                assign(name, value, copies[name])
    finally:
        set_rng_state(before)
    check_overlaps(state, [name for name, value in tracked.items() if value._version != versions[name]])
    flat, out_spec = pytree.tree_flatten(result)
    flat = tracer.finish(flat)
    check_outputs(flat)
    expected = call_plainly(function, state, values, spec) if device == "cpu" else None
    for i, (found, known) in enumerate(zip(flat, expected or flat, strict=True)):
        if device == "cpu" and not is_close(found, known):
            check_assigned(i, found, assigned)
            raise RuntimeError(
                f"export: output {i} of the recorded operators differs from that of the function. The function must return the same for "
                "each call: "
                "it must not depend on attributes that it changes, except buffers. If it does not, please report this"
            )
    graph.output([tracer.find(x) for x in flat])
    constants = name_constants(function, graph, root)
    name_inputs(graph)
    return Recording(graph, out_spec, constants)


def assign(name: str, to: Tensor, value: Any) -> None:
    """Records that a module has assigned a tensor to the buffer `name`, as a copy."""
    if not isinstance(value, Tensor) or value.shape != to.shape or value.dtype != to.dtype:
        what = f"a tensor of shape {list(value.shape)} and {value.dtype}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
        raise NotImplementedError(f"export: the module assigns {what} to the buffer {name} of shape {list(to.shape)} and {to.dtype}")
    to.copy_(value)


def check_assigned(i: int, output: Any, assigned: dict[str, Tensor]) -> None:
    """Raises NotImplementedError if output `i` shares memory with the former tensor of a buffer that the module has assigned."""
    memory = output.untyped_storage().data_ptr() if isinstance(output, Tensor) else 0
    for name, value in assigned.items():
        if memory and memory == value.untyped_storage().data_ptr():
            raise NotImplementedError(
                f"export: output {i} shares memory with the buffer {name}, to which the module assigns another tensor. A program writes "
                "the new "
                "value to the buffer, which would change the output: return it with clone(), or write to the buffer with copy_()"
            )


def check_outputs(flat: list[Any]) -> None:
    for i, value in enumerate(flat):
        if value is not None and not isinstance(value, Tensor | bool | int | float | str):
            raise NotImplementedError(
                f"export: output {i} is a {type(value).__name__}; results can be tensors, numbers, strings and None, "
                f"in lists, tuples, dicts and registered dataclasses. {REGISTER}"
            )


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


@contextlib.contextmanager
def keeping_modules(function: Callable[..., Any]) -> Iterator[None]:
    """Restores the submodules of a module at the end. Raises NotImplementedError if some were added, replaced or deleted."""
    before = [(path, m, dict(m._modules)) for path, m in (function.named_modules() if isinstance(function, Module) else ())]
    missing, changed = object(), set[str]()
    try:
        yield
    finally:
        for path, module, modules in before:
            names = modules.keys() | module._modules.keys()
            different = (name for name in names if module._modules.get(name, missing) is not modules.get(name, missing))
            changed |= {f"{path}.{name}".lstrip(".") for name in different}
            module._modules.clear()
            module._modules.update(modules)
    if changed:
        raise NotImplementedError(
            f"export: the module adds, replaces or deletes the submodule {min(changed)} when it is called; do that before export"
        )


def call(function: Callable[..., Any], state: dict[str, Tensor], values: list[Any], spec: Any) -> Any:
    args, kwargs = pytree.tree_unflatten(values, spec)
    before, exporting.active = exporting.active, True
    try:
        return (
            functional_call(function, state, args, kwargs, tie_weights=False) if isinstance(function, Module) else function(*args, **kwargs)
        )
    finally:
        exporting.active = before


def call_plainly(function: Callable[..., Any], state: dict[str, tuple[str, Tensor]], values: list[Any], spec: Any) -> list[Any] | None:
    """Returns the flat outputs of a call without a record; None if they depend on random numbers. Writes to copies."""
    inputs = [value.clone() if isinstance(value, Tensor) else value for value in values]
    before = get_rng_state()
    with no_grad():
        result = pytree.tree_leaves(call(function, copy_state(state), inputs, spec))
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
    if found.element_size() == 1:  # float8
        found, known = found.float(), known.float()
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
        sizes = self.bases | self.known if len(self.bases) + len(self.known) <= MANY else self.bases
        for count in (2, 3, 4) if len(sizes) <= MANY else (2,):
            for factors in itertools.combinations_with_replacement(sizes.items(), count):
                factor = find_factor([math.prod(x) for x in zip(*(known for known, _ in factors), strict=True)], vector)
                if factor is not None:
                    return write_line(write_product([text for _, text in factors]), factor, 0)
        for known, text in list(self.bases.items()):
            for divisor in range(2, 33):
                for offset in range(-divisor, divisor + 1):
                    quotient = tuple((x + offset) // divisor for x in known)
                    line = find_line(quotient, vector)
                    if line is not None:
                        self.bases[quotient] = f"FloorDiv({write_line(text, 1, offset)}, Integer({divisor}))"
                        return write_line(self.bases[quotient], *line)
        return self._create(vector)

    def create_all(self, recordings: list[Recording], at: int) -> None:
        """Creates symbols for the sizes of the results of node `at` that are those of nothing before."""
        of = recordings[0].nodes[at]
        for i, node in enumerate(recordings[0].nodes):
            shapes = [r.sizes(i) for r in recordings] if node is of or of in node.args[:1] and node.target is operator.getitem else [None]
            for vector in zip(*(shape or () for shape in shapes), strict=True):
                if len(set(vector)) > 1 and vector not in self.bases and vector not in self.known:
                    self.known[vector] = self._create(vector)

    def _create(self, vector: tuple[int, ...]) -> str:
        self.created.append(f"s{self.count + len(self.created)}")
        self.bases[vector] = write_symbol(self.created[-1])
        return self.bases[vector]


def write_symbol(name: str) -> str:
    return f"Symbol('{name}', positive=True, integer=True)"


def write_product(factors: list[str]) -> str:
    if len(set(factors)) == 1:
        return f"Pow({factors[0]}, Integer({len(factors)}))"
    return f"Mul({', '.join(factors)})"


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

    def __init__(self, recordings: list[Recording], numbers: dict[tuple[int, ...], Node]) -> None:
        self.recordings = recordings
        self.graph = recordings[0].graph
        self.known: dict[tuple[int, ...], tuple[int, int]] = {}  # the node and the dimension of sizes, by their values in each recording
        self.made = dict(numbers)

    def learn(self, at: int) -> None:
        """Makes the sizes of a node's value available."""
        shapes = [r.sizes(at) for r in self.recordings]
        if shapes[0] is None:
            return
        if len({len(shape or ()) for shape in shapes}) > 1:
            raise NotImplementedError(
                f"export: the number of dimensions of the result of {self.recordings[0].nodes[at].target} depends on the variable sizes: "
                "its shape "
                f"is {', '.join(str(list(shape or ())) for shape in shapes)} for these samples; make the size static, or bound it with "
                "min=2"
            )
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
                f"export: {where} depends on the variable sizes in a way that is not supported: {list(vector)} for these samples{REMEDY}"
            )
        self.made[vector] = found
        return found

    def quotient(self, vector: tuple[int, ...]) -> Node | None:
        for known in self.known:
            guesses = {x // v for x, v in zip(known, vector, strict=True) if v > 0}
            for divisor in guesses | {x + 1 for x in guesses}:
                if divisor > 1 and all(x // divisor == v for x, v in zip(known, vector, strict=True)):
                    return self.call(operator.floordiv, (self.size(known), divisor), vector)
        return None

    def product(self, vector: tuple[int, ...]) -> Node | None:
        for count in (2, 3, 4) if len(self.known) <= MANY else (2,):
            for sizes in itertools.combinations_with_replacement(self.known, count):
                factor = find_factor([math.prod(x) for x in zip(*sizes, strict=True)], vector)
                if factor is not None:
                    found, known = self.size(sizes[0]), sizes[0]
                    for size in sizes[1:]:
                        known = tuple(a * b for a, b in zip(known, size, strict=True))
                        found = self.call(operator.mul, (found, self.size(size)), known)
                    return self.line(found, known, factor, 0)
        return None

    def argument(self, values: tuple[Any, ...], where: str) -> Any:
        """Returns an argument of the first recording, with nodes for the numbers that differ."""
        first = values[0]
        if isinstance(first, list | tuple):
            if any(type(v) is not type(first) or len(v) != len(first) for v in values):
                raise NotImplementedError(f"export: the length of {where} depends on the variable sizes{REMEDY}")
            return type(first)(self.argument(item, where) for item in zip(*values, strict=True))
        if isinstance(first, Recording):
            return unify(list(values))
        if isinstance(first, Node):
            if any(not isinstance(v, Node) or v.name != first.name for v in values):
                raise NotImplementedError(f"export: {where} is another value for other variable sizes{REMEDY}")
            return first
        if all(type(v) is type(first) and v == first for v in values):
            return first
        if all(type(v) is int for v in values):
            return self.number(values, where)
        raise NotImplementedError(
            f"export: {where} depends on the variable sizes: it is {', '.join(map(str, values))} for samples of other sizes{REMEDY}"
        )

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


def have_same_constants(one: Recording, two: Recording) -> bool:
    """Returns whether the constants of two recordings have the same elements, where they have elements: not on the device meta."""
    if one.constants.keys() != two.constants.keys():
        return False
    pairs = [(value, two.constants[name][1]) for name, (_, value) in one.constants.items()]
    return all(
        a.shape == b.shape and a.dtype == b.dtype and (a.is_meta or b.is_meta or a.data_ptr() == b.data_ptr() or is_close(a, b))
        for a, b in pairs
    )


def unify(recordings: list[Recording], numbers: dict[tuple[int, ...], Node] | None = None) -> Recording:
    """Returns a recording whose graph holds for every size. Raises NotImplementedError if the operators depend on the sizes.

    `numbers` are placeholders of numbers, by their values in each recording."""
    first = recordings[0]
    for other in recordings[1:]:
        for a, b in itertools.zip_longest(first.nodes, other.nodes):
            if a is None or b is None or (a.op, a.target, a.name) != (b.op, b.target, b.name):
                operators = f"{getattr(a, 'target', 'the end')} and {getattr(b, 'target', 'the end')}"
                raise NotImplementedError(
                    f"export: the operators depend on the variable sizes ({operators} for samples of other sizes); make these sizes static"
                )
        if other.spec != first.spec:
            raise NotImplementedError(f"export: the structure of the result depends on the variable sizes{REMEDY}")
        if not have_same_constants(first, other):
            raise NotImplementedError(
                "export: a tensor that the function makes from numbers, as torch.tensor(x.size(0)), depends on the variable sizes; "
                "make it with an operator: torch.full((), x.size(0)) or torch.arange"
            )
    if len(recordings) > 1:
        Unifier(recordings, numbers or {}).run()
    return first
