"""Lowers the graphs of programs: each operator of a table becomes the operators that its decomposition calls."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from typing import Any

from .. import ops
from .._core.tensor import Tensor
from ..library.aten import AtenOverload
from ..library.core_table import TABLE
from .arguments import Node, Table, find_operator, list_names, replace_names
from .decomposition_checks import DecompositionCall, find_numbers, find_required, holds_for_sizes
from .expressions import list_symbols
from .recording import Recording
from .samples import KnownSizes, Samples, walk_expressions
from .trace import Sizes, unify
from .writer import is_number, make_dense, write_call, write_meta, write_size

__all__ = ["Lowering"]

STATE = frozenset(("token", "parameter", "buffer", "tensor_constant"))  # the kinds of inputs before those of the caller


class Lowering:
    """Lowers one program. `taken` are the names of its values; views of it become copies where strides require that if it `may_copy`."""

    def __init__(self, text: dict[str, Any], table: Table, taken: set[str], may_copy: bool) -> None:
        self.table, self.taken, self.may_copy = table, taken, may_copy
        self.moved: set[str] = set()  # values with other strides than in the file
        self.samples = Samples(text)
        self.graph, self.signature = text["graph_module"]["graph"], text["graph_module"]["signature"]
        self.constants: dict[tuple[Any, ...], tuple[Tensor, str, str]] = {}  # tensors that decompositions use, their values and names
        self.required: set[str] = set()  # symbols whose size must be at least 2 for the results of a decomposition to be right
        self.checked: dict[tuple[Callable[..., Any], str], bool] = {}  # whether decompositions hold for all sizes

    def name(self, base: str) -> str:
        """Returns a name that no value has."""
        base = re.sub(r"_\d+$", "", base)
        name, number = base, 0
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        return name

    def lower(self, graph: dict[str, Any]) -> None:
        """Replaces the operators of a graph and of the graphs of its control flow."""
        made: list[Node] = []
        renamed: dict[str, str] = {}
        for node in graph["nodes"]:
            for x in node["inputs"]:
                if "as_graph" in x["arg"]:
                    self.lower(x["arg"]["as_graph"]["graph"])
            node["inputs"] = replace_names(node["inputs"], renamed)
            op = find_operator(node["target"])
            function = self.table.get(op)
            if function is None and self.moved.intersection(list_names(node["inputs"])):
                # The strides of its results may differ from those of the file, and a view may need a copy.
                function = TABLE["reshape.default"] if op is ops.aten.view.default and self.may_copy else op
            expanded = None if function is None else self.expand(graph, node, function, op)
            if expanded is None:
                made.append(node)
            else:
                made += expanded[0]
                renamed |= expanded[1]
        graph["nodes"] = made
        graph["outputs"] = replace_names(graph["outputs"], renamed)

    def expand(
        self, graph: dict[str, Any], node: Node, function: Callable[..., Any], operator: Any = None
    ) -> tuple[list[Node], dict[str, str]] | None:
        """Returns the nodes of a decomposition, whose results have the names of the node's, and the names of those that are other values.

        Returns None if the decomposition does not apply, or not to all sizes for which `operator` is defined. Descriptions of new values
        are added to the graph."""
        names = list(dict.fromkeys(list_names(node["inputs"])))
        try:
            described = [self._describe(graph, name) for name in names]
            texts = [x["expr_str"] for x in walk_expressions(described)]
            symbols = list(dict.fromkeys(symbol for text in texts for symbol in list_symbols(text)))
        except NotImplementedError:
            return None
        results = [x["expr_str"] for name in list_names(node["outputs"]) for x in walk_expressions(graph["tensor_values"].get(name))]
        call = DecompositionCall(self.table, graph, node, function, names, operator)
        index = {name: str(i) for i, name in enumerate(names)}
        key = function, json.dumps([described, [[x["name"], replace_names(x["arg"], index)] for x in node["inputs"]]])
        for plan in self.samples.list_plans(symbols):
            try:
                recordings = [call.record_graph(sizes) for sizes in plan.values]
                first = unify(recordings, find_numbers(recordings))
                known = KnownSizes(plan, texts + [text for text in results if set(list_symbols(text)) <= set(symbols)])
                if symbols and key not in self.checked:
                    self.checked[key] = function is operator or holds_for_sizes(call, first, recordings, plan, known)
                    if self.checked[key] and function is not operator and self.samples.assumed.intersection(symbols):
                        self.required |= find_required(call, first, recordings, plan, known, self.samples.assumed)
            except NotImplementedError:
                return None
            except (RuntimeError, ValueError, IndexError, ArithmeticError):
                if call.has_empty_tensor(plan.values[0]):
                    return None  # the operator may accept empty tensors where its decomposition does not
                if self.samples.known.issuperset(symbols):
                    call.check_example(plan.values[0])
            except Exception as error:  # of the code of a decomposition, or for arguments of other types than the operator has
                raise call.describe_failure(error) from error
            else:
                break
        else:
            return None
        if symbols and not self.checked[key]:
            return None
        try:
            return self._write(graph, node, recordings, first, known)
        except NotImplementedError:  # a size of a new value has no expression
            return None

    def _describe(self, graph: dict[str, Any], name: str) -> Any:
        """Returns the description of a tensor or a number."""
        for kind in ("tensor_values", "sym_int_values", "sym_float_values", "sym_bool_values"):
            if name in graph[kind]:
                return graph[kind][name]
        raise NotImplementedError(f"run_decompositions: the value {name} is neither a tensor nor a number")

    def lift(self, graph: dict[str, Any], node: Node, value: Tensor) -> str:
        """Adds a tensor that a decomposition uses as a constant input; returns its name."""
        if graph is not self.graph:
            raise RuntimeError(
                f"run_decompositions: the decomposition of {node['target']}, which a function of torch.cond or other control flow calls, "
                "uses a "
                "tensor that is not an argument; this is supported outside of control flow alone"
            )
        key = value.data_ptr(), value.dtype, value.shape, value.stride()
        if key not in self.constants:
            name, specs = self.name("c_lifted_tensor"), self.signature["input_specs"]
            targets = {x.get("tensor_constant_name") for union in specs for x in union.values()}
            target = next(x for x in (f"lifted_tensor_{i}" for i in itertools.count()) if x not in targets)
            self.constants[key] = value, name, target
            at = next((i for i, x in enumerate(specs) if not x.keys() & STATE), len(specs))
            specs.insert(at, {"tensor_constant": {"arg": {"name": name}, "tensor_constant_name": target}})
            graph["inputs"].insert(at, {"as_tensor": {"name": name}})
            graph["tensor_values"][name] = write_meta((make_dense(value),), Sizes([], [{}]), False)
        return self.constants[key][1]

    def _write(
        self, graph: dict[str, Any], node: Node, recordings: list[Recording], first: Recording, sizes: Sizes
    ) -> tuple[list[Node], dict[str, str]]:
        results = [x for y in node["outputs"] for x in y.get("as_tensors", [y])]
        expected = [next(list_names(x), None) for x in results]
        order = {x: i for i, x in enumerate(first.nodes)}
        outputs: list[Any] = first.nodes[-1].args[0]
        renamed: dict[str, str] = {}
        named: dict[Any, str] = {}
        for x in first.graph.nodes:
            if x.op == "placeholder":
                named[x] = x.meta["name"]
            elif x.op == "get_attr":
                named[x] = self.lift(graph, node, first.constants[x.name][1])
        for name, x in zip(expected, outputs, strict=False):
            if name is None or x is None:
                continue
            if x in named:
                renamed[name] = named[x]
            else:
                named[x] = name
        nodes = [x for x in first.graph.nodes if x.op == "call_function"]
        for x in nodes:
            if x not in named:
                named[x] = self.name(x.name)
        tensors, numbers = {}, {}
        for x in nodes:
            if x in order and isinstance(x.meta.get("val"), Tensor):
                tensors[named[x]] = write_meta(tuple(r.nodes[order[x]].meta["val"] for r in recordings), sizes, False)
            elif is_number(x):
                numbers[named[x]] = write_size(sizes.express(x.meta["values"]), x.meta["values"][0])
        for x, name in named.items():
            x.name = name
        for name, after in tensors.items():
            before = graph["tensor_values"].get(name)
            if before is None or any(before[key] != after[key] for key in ("strides", "sizes", "dtype")):
                self.moved.add(name)
        graph["tensor_values"] |= tensors
        graph["sym_int_values"] |= numbers
        made = [write_call(x) for x in nodes if not is_getitem(x)]
        for entry in made:
            entry["metadata"] = node["metadata"]
        return made, renamed


def is_getitem(node: Any) -> bool:
    return getattr(node.target, "__name__", "") == "getitem" and not isinstance(node.target, AtenOverload)
