"""Records control flow: the functions of torch.cond, while_loop, map and scan become graphs, which are arguments of one node."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._base import overrides
from .._core.tensor import Tensor
from .._higher_order_ops import map, scan, while_loop
from ..fx.experimental.operator_tracer import OperatorTracer
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..library.aten import AtenOverload
from ..nn import Module
from ..utils import _pytree as pytree
from .higher_order import CONTROL_FLOW, HigherOrderOperator
from .recording import Recording

__all__ = ["ControlTracer", "assign_graphs", "list_written", "name_inputs"]

_state: Any = overrides.state
COND, WHILE_LOOP, MAP, SCAN = (CONTROL_FLOW[name] for name in ("cond", "while_loop", "map_impl", "scan"))


def suspended(record: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a method of the innermost active mode that runs without it."""

    @functools.wraps(record)
    def run(self: ControlTracer, *args: Any) -> Any:
        modes = _state.modes
        _state.modes = modes[:-1]
        try:
            return record(self, *args)
        finally:
            _state.modes = modes

    return run


def list_written(func: Any, args: Any, kwargs: dict[str, Any]) -> list[Tensor]:
    """Returns the tensors that an operator writes to."""
    arguments = func._schema.arguments if isinstance(func, AtenOverload) else []
    given = [args[i] if i < len(args) else kwargs.get(a.name) for i, a in enumerate(arguments) if a.is_write]
    return [x for value in given for x in (value if isinstance(value, list | tuple) else [value]) if isinstance(x, Tensor)]


class _Part:
    """A function of control flow that was traced: its flat results, and the tracer that has its graph."""

    def __init__(self, where: str, tracer: ControlTracer, result: Any) -> None:
        self.where, self.tracer, self.is_single = where, tracer, False
        self.flat, self.spec = pytree.tree_flatten(result)
        self.tensors = [x for x in self.flat if isinstance(x, Tensor)]

    def check_aliases(self) -> None:
        """Raises NotImplementedError if a result shares memory with an input or another result."""
        seen = self.tracer.list_memory()
        for value in self.tensors:
            memory = value.untyped_storage().data_ptr()
            if memory in seen or not self.tracer.creates(value):
                raise NotImplementedError(
                    f"export: {self.where} returns a tensor that shares memory with its inputs or another result; return it with clone()"
                )
            seen |= {memory} if memory else set()

    def finish(self, lifted: list[Tensor]) -> Recording:
        """Returns the graph, with the `lifted` tensors as its last inputs."""
        graph = self.tracer.graph
        end = graph.output([self.tracer.find(x) for x in self.tensors])
        for value in lifted:
            self.tracer.find(value)
        first = next((node for node in graph.nodes if node.op != "placeholder"), end)
        for value in lifted:
            first.prepend(self.tracer.find(value))
        return Recording(graph, None, {}, self.tracer.path[-1], self.is_single)


class ControlTracer(OperatorTracer):
    """Records operators, and control flow with its functions as graphs. Such a graph has a tracer, whose `outer` is that of the graph
    around it."""

    def __init__(self, graph: Graph, root: Any, outer: ControlTracer | None = None, where: str = "", path: tuple[str, ...] = ()) -> None:
        super().__init__(graph, root)
        self.outer, self.where = outer, where
        self.path = path  # the names of the graphs in which this one is, and its own
        self.lifted: dict[int, Tensor] = {}  # the tensors of the outer graph that this one has as inputs besides its operands
        # The tensors that functions of control flow have created, which no other graph can use.
        self.hidden: dict[int, tuple[Tensor, str]] = {}
        self.counts: dict[str, int] = {}  # the graphs of each name

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(self.is_outer(value) for value in list_written(func, args, kwargs or {})):
            raise NotImplementedError(f"export: {self.where} writes with {func} to a tensor that it does not create; clone() it first")
        return super().__torch_dispatch__(func, types, args, kwargs)

    # ------------------------------------------------------------------------------------------------------ tensors of other graphs

    def _get_constant(self, value: Tensor) -> Node:
        hidden = self.find_top().hidden.get(id(value))
        if hidden is not None:
            raise NotImplementedError(f"export: a tensor that {hidden[1]} creates is used outside of it; return it from the function")
        if self.outer is None:
            return super()._get_constant(value)
        placeholder = self.add_input(value, self.outer.find(value).name)
        self.lifted[id(value)] = value
        return placeholder

    def add_input(self, value: Tensor, name: str) -> Node:
        first = next((node for node in self.graph.nodes if node.op != "placeholder"), None)
        with contextlib.nullcontext() if first is None else self.graph.inserting_before(first):
            placeholder = self.graph.placeholder(name)
        self.track(value, placeholder)
        return placeholder

    def creates(self, value: Tensor) -> bool:
        """Returns whether a tensor is the result of a node of this graph."""
        found = self._nodes.get(id(value))
        return found is not None and found[1].op != "placeholder"

    def is_outer(self, value: Tensor) -> bool:
        """Returns whether a tensor in a function of control flow belongs to another graph, or shares memory with an input."""
        return self.outer is not None and (not self.creates(value) or value.untyped_storage().data_ptr() in self.list_memory())

    def list_memory(self) -> set[int]:
        """Returns the addresses of the memory of the graph's inputs."""
        inputs = (value for value, node in self._nodes.values() if node.op == "placeholder")
        return {value.untyped_storage().data_ptr() for value in inputs} - {0}

    # ------------------------------------------------------------------------------------------------------------------- functions

    def trace(self, name: str, where: str, function: Callable[[], Any], operands: Sequence[Tensor], inputs: Sequence[str] = ()) -> _Part:
        """Calls a function of the operands, and records its operators in a separate graph. `inputs` are the names of the operands in it."""
        number = self.counts[name] = self.counts.get(name, -1) + 1
        inner = type(self)(Graph(), self.root, self, where, (*self.path, f"{name}_graph_{number}"))
        inner.decompositions = self.decompositions
        for value, placeholder in zip(operands, inputs or [self.find(x).name for x in operands], strict=True):
            inner.track(value, inner.graph.placeholder(placeholder))
        with inner:
            result = function()
        part = _Part(where, inner, result)
        part.check_aliases()
        return part

    def find_top(self) -> ControlTracer:
        return self if self.outer is None else self.outer.find_top()

    def add_node(self, target: HigherOrderOperator, parts: list[_Part], args: Callable[[list[Recording], list[Node]], Any]) -> Node:
        """Adds the node of control flow. `args` returns its arguments for the graphs, and the tensors that these use besides their
        operands."""
        lifted = list({key: value for part in parts for key, value in part.tracer.lifted.items()}.values())
        graphs = [part.finish(lifted) for part in parts]
        return self.graph.call_function(target, args(graphs, map_nodes(self, lifted)), name=target.__name__)

    def finish_node(self, node: Node, parts: list[_Part], values: Sequence[Tensor]) -> None:
        """Makes the values results of the node. Other tensors of the functions cannot be used outside of them."""
        hidden = self.find_top().hidden
        for part in parts:
            hidden |= {key: (value, part.where) for key, (value, made) in part.tracer._nodes.items() if made.op != "placeholder"}
        for value in values:
            hidden.pop(id(value), None)
        self.track(tuple(values), node)

    # ---------------------------------------------------------------------------------------------------------------- control flow

    @suspended
    def record_cond(self, pred: Tensor, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
        """Records torch.cond, and returns the results of the function that `pred` selects."""
        tensors = [x for x in pytree.tree_leaves(operands) if isinstance(x, Tensor)]
        yes = self.trace("true", "true_fn of torch.cond", lambda: true_fn(*operands), tensors)
        no = self.trace("false", "false_fn of torch.cond", lambda: false_fn(*operands), tensors)
        check_equal("torch.cond", "true_fn", yes, "false_fn", no)
        if any(a.stride() != b.stride() for a, b in zip(yes.tensors, no.tensors, strict=True)):
            raise NotImplementedError(
                "export: true_fn and false_fn of torch.cond return tensors of different strides; use contiguous() in both"
            )
        node = self.add_node(COND, [yes, no], lambda graphs, rest: (self.find(pred), *graphs, [*map_nodes(self, tensors), *rest]))
        taken = yes if pred.device.type == "meta" or bool(pred) else no
        self.finish_node(node, [yes, no], taken.tensors)
        return pytree.tree_unflatten(taken.flat, taken.spec)

    @suspended
    def record_while(self, cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried: tuple[Any, ...]) -> Any:
        """Records torch.while_loop, and returns the values after the last iteration."""
        tensors, spec = pytree.tree_flatten(carried)
        check_tensors("torch.while_loop: carried_inputs", tensors)
        names, inner = [self.find(x).name for x in tensors], separate(tensors)
        values = spec.unflatten(inner)
        test = self.trace("while_loop_cond", "cond_fn of torch.while_loop", lambda: cond_fn(*values), inner, names)
        if len(test.flat) != 1 or len(test.tensors) != 1 or test.tensors[0].numel() != 1:
            raise RuntimeError("torch.while_loop: cond_fn must return a tensor with one element")
        test.is_single = True

        def step(*values: Any) -> Any:
            made = body_fn(*values)
            return tuple(made) if isinstance(made, tuple | list) else (made,)

        body = self.trace("while_loop_body", "body_fn of torch.while_loop", lambda: step(*values), inner, names)
        check_carried("torch.while_loop", "body_fn", tensors, spec, body)
        node = self.add_node(WHILE_LOOP, [test, body], lambda graphs, rest: (*graphs, map_nodes(self, tensors), rest))
        made = body.tensors if tensors[0].device.type == "meta" else pytree.tree_leaves(while_loop(cond_fn, step, carried))
        made = [x.clone() if any(x is value for value in tensors) else x for x in made]
        self.finish_node(node, [test, body], made)
        return pytree.tree_unflatten(made, spec)

    @suspended
    def record_map(self, f: Callable[..., Any], xs: list[Tensor], spec: Any, args: tuple[Any, ...]) -> Any:
        """Records map(f, xs, *args), and returns the stacked results."""
        rest = [x for x in pytree.tree_leaves(args) if isinstance(x, Tensor)]
        slices = [x[0] for x in xs]
        names = [f"{self.find(x).name}_slice" for x in xs] + [self.find(x).name for x in rest]
        body = self.trace("body", "the function of map", lambda: f(spec.unflatten(slices), *args), [*slices, *rest], names)
        check_tensors("map: the results of the function", body.flat)
        node = self.add_node(MAP, [body], lambda graphs, lifted: (*graphs, map_nodes(self, xs), [*map_nodes(self, rest), *lifted]))
        values = repeat(body.tensors, xs[0]) or pytree.tree_leaves(map(lambda leaves: f(spec.unflatten(leaves), *args), xs))
        self.finish_node(node, [body], values)
        return pytree.tree_unflatten(values, body.spec)

    @suspended
    def record_scan(self, combine_fn: Callable[..., Any], init: Any, xs: list[Tensor], spec: Any) -> Any:
        """Records scan(combine_fn, init, xs) along the first dimension, and returns the last carry and the stacked results."""
        first, init_spec = pytree.tree_flatten(init)
        check_tensors("scan: init", first)
        slices, inner = [x[0] for x in xs], separate(first)
        names = [self.find(x).name for x in first] + [f"{self.find(x).name}_slice" for x in xs]
        carry = init_spec.unflatten(inner)
        body = self.trace("scan_combine", "combine_fn of scan", lambda: combine_fn(carry, spec.unflatten(slices)), [*inner, *slices], names)
        parts = body.spec.children_specs
        if len(parts) != 2 or parts[0] != init_spec:
            raise RuntimeError(
                f"scan: combine_fn must return a pair of a carry, of the structure {init_spec}, and a result, not {body.spec}"
            )
        check_tensors("scan: the results of combine_fn", body.flat)
        count = len(first)
        check_sizes("scan: the carry that combine_fn returns", first, body.tensors[:count])
        node = self.add_node(SCAN, [body], lambda graphs, rest: (*graphs, map_nodes(self, first), map_nodes(self, xs), rest))
        made = repeat(body.tensors[count:], xs[0])
        last = body.tensors[:count]
        if xs[0].device.type != "meta":
            found, stacked = scan(lambda carry, leaves: combine_fn(carry, spec.unflatten(leaves)), init, xs)
            last, made = pytree.tree_leaves(found), pytree.tree_leaves(stacked)
        self.finish_node(node, [body], [*last, *made])
        return pytree.tree_unflatten(last, init_spec), pytree.tree_unflatten(made, parts[1])


def name_inputs(graph: Graph) -> None:
    """Renames the inputs of the graphs of control flow as the constants and the inputs that they are in the graph around them."""
    for node in graph.nodes:
        operands = [x for argument in node.args if isinstance(argument, list | tuple) for x in argument]
        for part in (x for x in node.args if isinstance(x, Recording)):
            for placeholder, operand in zip(part.nodes, operands, strict=False):
                if operand.op in ("get_attr", "placeholder") and operand.name != placeholder.name:
                    placeholder._rename(operand.name)
            name_inputs(part.graph)


def assign_graphs(graph: Graph, root: Module) -> None:
    """Makes the graphs that are arguments of control flow attributes of the module `root`, which the nodes then read."""
    for node in [node for node in graph.nodes if isinstance(node.target, HigherOrderOperator)]:
        args = [tuple(x) if isinstance(x, list) else x for x in node.args]
        for i, part in enumerate(args):
            if isinstance(part, Recording):
                inner = Module()
                assign_graphs(part.graph, inner)
                for placeholder in (x for x in part.graph.nodes if x.op == "placeholder"):
                    placeholder.target = placeholder.name  # which differs from those of others
                root.add_module(part.name, GraphModule(inner, part.graph))
                with graph.inserting_before(node):
                    args[i] = graph.get_attr(part.name)
        node.args = tuple(args)


def separate(values: Sequence[Tensor]) -> list[Tensor]:
    """Returns new tensors of the same memory: a carried value differs from a tensor that a function captures, or that is carried twice."""
    return [x.view_as(x) for x in values]


def map_nodes(tracer: OperatorTracer, values: Sequence[Tensor]) -> list[Node]:
    return [tracer.find(value) for value in values]


def repeat(values: list[Tensor], xs: Tensor) -> list[Tensor]:
    """Returns stacked results for tensors on the device meta, and otherwise nothing."""
    return [x.new_empty((xs.shape[0], *x.shape)) for x in values] if xs.device.type == "meta" else []


def check_tensors(what: str, values: list[Any]) -> None:
    others = [type(x).__name__ for x in values if not isinstance(x, Tensor)]
    if others or not values:
        kind = f"a {others[0]}" if others else "nothing"
        raise NotImplementedError(f"export: {what} must be tensors, not {kind}; make a tensor of a number with torch.tensor")


def check_sizes(what: str, expected: Sequence[Tensor], found: Sequence[Tensor]) -> None:
    for a, b in zip(expected, found, strict=True):
        if a.dtype != b.dtype or a.shape != b.shape:
            raise RuntimeError(f"{what} must have the shape {list(a.shape)} and {a.dtype}, not {list(b.shape)} and {b.dtype}")


def check_carried(what: str, name: str, tensors: list[Tensor], spec: Any, part: _Part) -> None:
    if part.spec != spec or len(part.tensors) != len(tensors):
        raise RuntimeError(f"{what}: {name} must return values of the structure of the carried ones, {spec}, not {part.spec}")
    check_sizes(f"{what}: a result of {name}", tensors, part.tensors)


def check_equal(what: str, first: str, one: _Part, second: str, two: _Part) -> None:
    """Raises RuntimeError if the results of two functions differ in more than the elements of tensors."""
    if one.spec != two.spec:
        raise RuntimeError(f"{what}: {first} and {second} must return the same structure, not {one.spec} and {two.spec}")
    for a, b in zip(one.flat, two.flat, strict=True):
        if not isinstance(a, Tensor) or not isinstance(b, Tensor):
            if type(a) is not type(b) or a != b:
                raise NotImplementedError(f"export: {first} and {second} of {what} return {a!r} and {b!r}; return tensors that differ")
        elif a.dtype != b.dtype:
            raise RuntimeError(f"When merging two branches' output in {what}, expected same dtype but got {a.dtype} and {b.dtype}")
        elif a.shape != b.shape:
            raise NotImplementedError(
                f"export: {first} and {second} of {what} return tensors of the shapes {list(a.shape)} and {list(b.shape)}; return one shape"
            )
