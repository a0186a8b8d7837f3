"""The graph of an exported program as a torch.fx.GraphModule."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import libtensor

from .. import empty, ops
from .._base.dtypes import EXPORTED
from ..fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from .arguments import find_operator, list_names, read_argument
from .evaluate import NUMBERS
from .expressions import evaluate
from .higher_order import HIGHER, HIGHER_ORDER
from .samples import Samples

__all__ = ["build_graph_module"]

MODULES = {"_operator": operator, "math": math, "torch": libtensor, "builtins": builtins}


class GraphReader:
    """Reads the graphs of a program with the JSON `text`."""

    def __init__(self, text: dict[str, Any]) -> None:
        self.sizes = {name: symbol.hint for name, symbol in Samples(text).symbols.items()}

    def read(
        self,
        graph: dict[str, Any],
        inputs: Iterable[tuple[str, str, str, Any]],
        outputs: Sequence[Any],
        root: dict[str, Any],
        written: Iterable[tuple[str, Any]] = (),
    ) -> GraphModule:
        """Returns the module of a graph. `inputs` are the operation, the target, the name and the constant value of each input, `root` has
        the attributes of the module by their dotted names, and `written` the names of inputs with the values that are copied to them."""
        made, values = Graph(), {}
        for op, target, name, constant in inputs:
            values[name] = made.create_node(op, target, name=target.replace(".", "_") if op == "get_attr" else None)
            if constant is None:
                self.describe(values[name], graph, name)
            else:
                values[name].meta["val"] = constant
        for node in graph["nodes"]:
            self.read_node(made, graph, node, values, root)
        for name, value in written:
            made.call_function(ops.aten.copy_.default, (values[name], read_argument(value, values)))
        made.output(tuple(read_argument(x, values) for x in outputs))
        return GraphModule(root, made)

    def read_node(self, made: Graph, graph: dict[str, Any], node: dict[str, Any], values: dict[str, Any], root: dict[str, Any]) -> None:
        arguments = [(x, self.read_value(made, x["arg"], values, root)) for x in node["inputs"]]
        is_higher = node["target"].startswith(HIGHER)
        if is_higher:
            arguments = [(x, tuple(value) if isinstance(value, list) else value) for x, value in arguments]
        args = tuple(value for x, value in arguments if x["kind"] != 2)
        kwargs = {x["name"]: value for x, value in arguments if x["kind"] == 2}
        outputs = node["outputs"]
        names = list(list_names(outputs))
        is_tuple = len(outputs) != 1 or not outputs[0].keys().isdisjoint(("as_tensors", "as_optional_tensors"))
        is_tuple = is_tuple or (is_higher and not node.get("is_hop_single_tensor_return"))
        name = node.get("name") or node["target"].split(".")[-1 if is_higher else -2]
        call = made.call_function(find_target(node["target"]), args, kwargs, name=name if is_tuple or not names else names[0])
        if not is_tuple:
            values |= dict.fromkeys(names, call)
            self.describe(call, graph, next(iter(names), ""))
            return
        for i, item in enumerate(names):
            values[item] = made.call_function(operator.getitem, (call, i), name=item)
            self.describe(values[item], graph, item)
        call.meta["val"] = tuple(values[item].meta.get("val") for item in names)

    def read_value(self, made: Graph, arg: dict[str, Any], values: dict[str, Any], root: dict[str, Any]) -> Any:
        """Returns an argument; a graph becomes an attribute of the module."""
        if "as_graph" not in arg:
            return read_argument(arg, values)
        name, graph = arg["as_graph"]["name"], arg["as_graph"]["graph"]
        inputs = [("placeholder", x, x, None) for x in list_names(graph["inputs"])]
        root[name] = self.read(graph, inputs, graph["outputs"], {})
        return made.get_attr(name)

    def describe(self, node: Node, graph: dict[str, Any], name: str) -> None:
        """Stores the value of the samples in the metadata of a node: a tensor on the device meta, or a number."""
        found = graph["tensor_values"].get(name)
        number = graph.get("sym_int_values", {}).get(name)
        try:
            if found is not None:
                shape = [self.read_size(x) for x in found["sizes"]]
                node.meta["val"] = empty(shape, dtype=EXPORTED[found["dtype"]], device="meta")
            elif number is not None:
                node.meta["val"] = self.read_size(number)
        except (NotImplementedError, RuntimeError, KeyError):  # a size without an example
            return

    def read_size(self, size: dict[str, Any]) -> int:
        return int(size["as_int"]) if "as_int" in size else evaluate(size["as_expr"]["expr_str"], self.sizes)


def find_target(target: str) -> Callable[..., Any]:
    """Returns the operator or the function of numbers that a node calls."""
    found = HIGHER_ORDER.get(target.removeprefix(HIGHER)) if target.startswith(HIGHER) else find_operator(target)
    if found is None:
        module, _, name = target.rpartition(".")
        found = getattr(MODULES.get(module), name, None) if name in NUMBERS else None
    if found is None:
        raise NotImplementedError(f"the graph calls {target}, which has no function in Python")
    made: Callable[..., Any] = found
    return made


def list_inputs(specs: list[dict[str, Any]], is_lifted: bool) -> list[tuple[str, str, str, Any]]:
    """Returns the operation, target, name and constant value of each input: attributes of the module for the state, unless it
    `is_lifted`."""
    made = []
    for union in specs:
        ((kind, spec),) = union.items()
        name = spec["name"] if kind == "constant_input" else next(iter(list_names(spec["arg"])), "")
        path = spec.get("parameter_name") or spec.get("buffer_name") or spec.get("tensor_constant_name")
        constant = read_argument(spec["value"], {}) if kind == "constant_input" else None
        made.append(("placeholder", name, name, constant) if is_lifted or not path else ("get_attr", path, name, None))
    return made


def list_written(inputs: list[tuple[str, str, str, Any]], outputs: list[tuple[Any, dict[str, Any]]]) -> list[tuple[str, Any]]:
    """Returns the names of the inputs that a program writes to, and the outputs that are their new values."""
    names = {target: name for _, target, name, _ in inputs}
    found = []
    for value, union in outputs:
        ((kind, spec),) = union.items()
        if kind.endswith("_mutation"):
            found.append((names[spec.get("buffer_name") or spec.get("parameter_name") or spec["user_input_name"]], value))
    return found


def build_graph_module(text: dict[str, Any], state: dict[str, Any] | None = None, info: _PyTreeInfo | None = None) -> GraphModule:
    """Returns the graph of a program with the JSON `text`. Parameters, buffers and constants are inputs before those of the program;
    attributes with a `state`, which has them by name, and then the module is called as `info` describes.

    Raises NotImplementedError for functions that Python lacks, and RuntimeError for a damaged program."""
    module = text["graph_module"]
    outputs, signature = list(module["graph"]["outputs"]), module["signature"]
    inputs, written = list_inputs(signature["input_specs"], state is None), []
    if state is not None:
        pairs = list(zip(outputs, signature["output_specs"], strict=True))
        outputs = [x for x, union in pairs if "user_output" in union]
        written = list_written(inputs, pairs)
    try:
        made = GraphReader(text).read(module["graph"], inputs, outputs, dict(state or {}), written)
    except (KeyError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise RuntimeError(f"graph: the program is damaged: {type(error).__name__}: {error}") from error
    if info is not None:
        made.graph.set_codegen(_PyTreeCodeGen(info))
        made.recompile()
    return made
