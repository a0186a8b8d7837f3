"""Lowers the graphs of programs: each operator of a table becomes the operators that its decomposition calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

from .. import autocast, empty_strided, no_grad, ops
from .. import device as make_device
from .. import preserve_format as torch_preserve_format
from .. import strided as torch_strided
from .._base.device import device as _device
from .._base.dtypes import EXPORTED
from .._core.tensor import Tensor
from ..fx.experimental.proxy_tensor import OperatorTracer
from ..fx.graph import Graph
from ..library.aten import AtenOverload
from ..library.core_table import TABLE
from ..nn import Module
from .recording import Recording
from .signature import FORMATS
from .trace import Sizes, unify
from .writer import is_number, write_call, write_meta, write_size

__all__ = ["Lowering", "Table", "find_operator", "list_names", "replace_names"]

Table = dict[Any, Callable[..., Any]]
Node = dict[str, Any]
SIZES = 1000  # the number of the first symbol that a lowering creates
STEPS = ((3, 5, 2, 7, 4), (7, 2, 5, 3, 8), (11, 13, 6, 9, 10))  # that samples of symbols are larger than their hints, in turn


# --------------------------------------------------------------------------------------------------------- values in the JSON


def list_names(value: Any) -> Iterator[str]:
    """Yields the names of the graph's values in an argument, in order."""
    if isinstance(value, list):
        for item in value:
            yield from list_names(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "as_graph":
                continue
            if key == "as_name" or (key == "name" and len(value) == 1):
                yield item
            else:
                yield from list_names(item)


def replace_names(value: Any, names: dict[str, str] | Callable[[str], str]) -> Any:
    """Returns a copy of an argument with other names of values: those that a dict or a function has for them."""
    if isinstance(value, list):
        return [replace_names(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for k, v in value.items():
        if k == "as_name" or (k == "name" and len(value) == 1):
            made[k] = names.get(v, v) if isinstance(names, dict) else names(v)
        else:
            made[k] = v if k == "as_graph" else replace_names(v, names)
    return made


def find_operator(target: str) -> Any:
    """Returns the overload of a node's target, such as torch.ops.aten.relu.default; None for others."""
    parts = target.split(".")
    if len(parts) != 5 or parts[:2] != ["torch", "ops"] or parts[2] == "higher_order":
        return None
    try:
        return getattr(getattr(getattr(ops, parts[2]), parts[3]), parts[4])
    except AttributeError:
        return None


# -------------------------------------------------------------------------------------------------------------------- symbols


def evaluate(text: str, symbols: dict[str, int]) -> int:
    """Returns the value of an expression in sympy's srepr. Raises NotImplementedError for a function that is not known."""

    def visit(node: ast.expr) -> Any:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -visit(node.operand)
        if isinstance(node, ast.Constant):
            return node.value
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise NotImplementedError(f"run_decompositions: the size {text} is not supported")
        name = node.func.id
        values = [visit(x) for x in node.args]
        if name == "Symbol":
            return symbols[values[0]]
        if name == "Integer":
            return values[0]
        if name in ("Add", "Mul", "Max", "Min"):
            total = values[0]
            for x in values[1:]:
                total = total + x if name == "Add" else total * x if name == "Mul" else max(total, x) if name == "Max" else min(total, x)
            return total
        if len(values) == 2 and name in ("FloorDiv", "CleanDiv", "Mod", "PythonMod", "Pow"):
            return values[0] // values[1] if "Div" in name else values[0] ** values[1] if name == "Pow" else values[0] % values[1]
        raise NotImplementedError(f"run_decompositions: the size {text} is not supported")

    return int(visit(ast.parse(text, mode="eval").body))


def walk_expressions(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "expr_str" in value:
            yield value
        else:
            for item in value.values():
                yield from walk_expressions(item)
    elif isinstance(value, list):
        for item in value:
            yield from walk_expressions(item)


class Samples:
    """Values of the symbols of a program, for which its operators are recorded. The first are those of the export."""

    def __init__(self, text: dict[str, Any]) -> None:
        self.texts: dict[str, str] = {}
        hints: dict[str, int] = {}
        for x in walk_expressions(text):
            for found in re.finditer(r"Symbol\('([^']*)'[^)]*\)", x["expr_str"]):
                self.texts.setdefault(found[1], found[0])
                if found[0] == x["expr_str"] and x.get("hint"):
                    hints.setdefault(found[1], x["hint"]["as_int"])
        for name in self.texts:
            least = (text["range_constraints"].get(name) or {}).get("min_val") or 0
            hints.setdefault(name, max(least, 4 + len(hints)))
        self.offset, self.multiple = [hints], [hints]
        for steps in STEPS:
            numbered = [(name, n, steps[i % len(steps)], i // len(steps)) for i, (name, n) in enumerate(hints.items())]
            self.offset.append({name: n + step * (1 + more) for name, n, step, more in numbered})
            self.multiple.append({name: n * (1 + step + more) for name, n, step, more in numbered})
        self.sizes = [self._express(plan) for plan in (self.offset, self.multiple)]

    def _express(self, plan: list[dict[str, int]]) -> Sizes:
        sizes = Sizes([], [])
        sizes.bases = {tuple(of[name] for of in plan): text for name, text in self.texts.items()}
        sizes.count = SIZES
        return sizes

    @property
    def created(self) -> list[str]:
        """The names of new symbols, for sizes that no expression describes."""
        return [name for sizes in self.sizes for name in sizes.created]


# ---------------------------------------------------------------------------------------------------------- decompositions


class _Tracer(OperatorTracer):
    """Records the operators of decompositions, which run on the device meta, as operators on the CPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if isinstance(func, AtenOverload):
            return self.__torch_dispatch__(func, types, args, kwargs)
        return super().__torch_function__(func, types, args, kwargs)

    def choose_keywords(self, func: Any, args: Any, kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        creates = isinstance(func, AtenOverload) and any(a.name == "device" for a in func._schema.arguments)
        if not creates or ("device" not in kwargs and any(isinstance(x, Tensor) for x in args)):
            return kwargs, kwargs
        return {**kwargs, "device": _device("meta")}, {**kwargs, "device": _device("cpu")}


class Lowering:
    """Lowers one program. `taken` are the names of its values; views of it become copies where strides require that if it `may_copy`."""

    def __init__(self, text: dict[str, Any], table: Table, taken: set[str], may_copy: bool) -> None:
        self.table, self.taken, self.may_copy = table, taken, may_copy
        self.moved: set[str] = set()  # values with other strides than in the file
        self.samples = Samples(text)

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
            expanded = None if function is None else self.expand(graph, node, function)
            if expanded is None:
                made.append(node)
            else:
                made += expanded[0]
                renamed |= expanded[1]
        graph["nodes"] = made
        graph["outputs"] = replace_names(graph["outputs"], renamed)

    def expand(self, graph: dict[str, Any], node: Node, function: Callable[..., Any]) -> tuple[list[Node], dict[str, str]] | None:
        """Returns the nodes of a decomposition, whose results have the names of the node's, and the names of those that are other values.

        Returns None if the decomposition does not apply. Descriptions of new values are added to the graph."""
        names = list(dict.fromkeys(list_names(node["inputs"])))
        described = [x for name in names for x in walk_expressions(self._describe(graph, name))]
        plans = [(self.samples.offset, self.samples.sizes[0]), (self.samples.multiple, self.samples.sizes[1])]
        if not described:
            plans = [(self.samples.offset[:1], Sizes([], [{}]))]
        for i, (plan, sizes) in enumerate(plans):
            try:
                recordings = [self._record(graph, node, function, names, of) for of in plan]
                if any(r is None for r in recordings):
                    return None
                found = [r for r in recordings if r is not None]
                seeds = self._find_numbers(graph, names, plan, found[0])
                first = unify(found, seeds)
            except NotImplementedError:
                return None
            except (RuntimeError, ValueError, IndexError):
                if i + 1 == len(plans):
                    raise
                continue
            for x in described:
                sizes.known.setdefault(tuple(evaluate(x["expr_str"], of) for of in plan), x["expr_str"])
            return self._write(graph, node, found, first, sizes)
        return None

    def _describe(self, graph: dict[str, Any], name: str) -> Any:
        """Returns the description of a tensor or a number."""
        for kind in ("tensor_values", "sym_int_values", "sym_float_values", "sym_bool_values"):
            if name in graph[kind]:
                return graph[kind][name]
        raise NotImplementedError(f"run_decompositions: the value {name} is neither a tensor nor a number")

    def _find_numbers(self, graph: dict[str, Any], names: list[str], plan: list[dict[str, int]], first: Recording) -> dict[tuple[int, ...], Any]:
        """Returns the placeholders of numbers by their values."""
        numbers: dict[tuple[int, ...], Any] = {}
        for placeholder in first.nodes:
            name = placeholder.meta.get("number")
            if name is not None:
                vector = tuple(self._number(graph, name, of) for of in plan)
                placeholder.meta["values"] = vector
                numbers.setdefault(vector, placeholder)
        return numbers

    def _number(self, graph: dict[str, Any], name: str, of: dict[str, int]) -> int:
        if name not in graph["sym_int_values"]:
            raise NotImplementedError(f"run_decompositions: the number {name} is no integer")
        value = graph["sym_int_values"][name]
        return size_in(value, of)

    def _record(self, graph: dict[str, Any], node: Node, function: Callable[..., Any], names: list[str], of: dict[str, int]) -> Recording | None:
        """Calls a decomposition with tensors of the sizes that symbols have; returns None if it does not apply."""
        recorded, root = Graph(), Module()
        tracer = _Tracer(recorded, root, self.table)
        values: dict[str, Any] = {}
        for i, name in enumerate(names):
            placeholder = recorded.placeholder(f"input_{i}")
            if name in graph["tensor_values"]:
                meta = graph["tensor_values"][name]
                sizes, strides = ([size_in(x, of) for x in meta[k]] for k in ("sizes", "strides"))
                values[name] = empty_strided(sizes, strides, dtype=EXPORTED[meta["dtype"]], device="meta")
                tracer.track(values[name], placeholder)
            else:
                values[name] = self._number(graph, name, of)
                placeholder.meta["number"] = name
            placeholder.meta["name"] = name
        args = [read_argument(x["arg"], values) for x in node["inputs"] if x["kind"] != 2]
        kwargs = {x["name"]: read_argument(x["arg"], values) for x in node["inputs"] if x["kind"] == 2}
        with no_grad(), autocast("cpu", enabled=False), make_device("meta"), tracer:
            result = function(*args, **kwargs)
        if result is NotImplemented:
            return None
        flat = list(result) if isinstance(result, list | tuple) else [result]
        check_results(graph, node, flat)
        recorded.output(tracer.find(flat))
        if any(n.op == "get_attr" for n in recorded.nodes):
            raise RuntimeError(
                f"run_decompositions: the decomposition of {node['target']} creates a tensor from numbers, which is not an operator; use torch.full"
            )
        return Recording(recorded, None, {})

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
        for name, x in zip(expected, outputs, strict=False):
            if name is None or x is None:
                continue
            if x in named:
                renamed[name] = named[x]
            else:
                named[x] = name
        nodes = [x for x in first.graph.nodes if x.op not in ("placeholder", "output")]
        for x in nodes:
            if x not in named:
                named[x] = self.name(x.name)
        for x in first.graph.nodes:
            if x.op != "output":
                x.name = named[x]
            value = x.meta.get("val")
            if x in order and x.op == "call_function" and isinstance(value, Tensor):
                before = graph["tensor_values"].get(x.name)
                after = write_meta(tuple(r.nodes[order[x]].meta["val"] for r in recordings), sizes, False)
                graph["tensor_values"][x.name] = after
                if before is None or any(before[key] != after[key] for key in ("strides", "sizes", "dtype")):
                    self.moved.add(x.name)
            elif is_number(x) and x.op == "call_function":
                graph["sym_int_values"][x.name] = write_size(sizes.express(x.meta["values"]), x.meta["values"][0])
        made = [write_call(x) for x in nodes if not is_getitem(x)]
        for entry in made:
            entry["metadata"] = node["metadata"]
        return made, renamed


def list_results(node: Node) -> list[dict[str, Any]]:
    """Returns the results of a node one by one, also those of lists."""
    return [{"as_tensor": x} if "name" in x else x for y in node["outputs"] for x in y.get("as_tensors", [y])]


def check_results(graph: dict[str, Any], node: Node, found: list[Any]) -> None:
    """Raises RuntimeError if a decomposition returns another number of results than its operator, or a result of another shape."""
    where, results = f"run_decompositions: the decomposition of {node['target']}", list_results(node)
    if len(found) < len(results):
        raise RuntimeError(f"{where} returns {len(found)} results, but the operator returns {len(results)}")
    for i, (result, value) in enumerate(zip(results, found, strict=False)):
        name = result.get("as_tensor", {}).get("name")
        if name is None:
            continue
        if not isinstance(value, Tensor):
            raise RuntimeError(f"{where} returns {value!r} as result {i}, which must be a tensor, or NotImplemented to keep the operator")
        sizes = graph["tensor_values"][name]["sizes"] if name in graph["tensor_values"] else None
        if sizes is not None and (len(sizes) != value.dim() or any(s.get("as_int", n) != n for s, n in zip(sizes, value.shape, strict=True))):
            shape = ", ".join(str(s.get("as_int", "?")) for s in sizes)
            raise RuntimeError(f"{where} returns a tensor of shape {list(value.shape)} as result {i}; that of the operator has the shape [{shape}]")


def is_getitem(node: Any) -> bool:
    return getattr(node.target, "__name__", "") == "getitem" and not isinstance(node.target, AtenOverload)


def size_in(size: dict[str, Any], of: dict[str, int]) -> int:
    """Returns a size of the JSON for values of symbols."""
    return size["as_int"] if "as_int" in size else evaluate(size["as_expr"]["expr_str"], of)


def read_argument(arg: dict[str, Any], values: dict[str, Any]) -> Any:
    """Returns an argument of the JSON. Raises NotImplementedError for one that no decomposition takes."""
    if "name" in arg and len(arg) == 1:
        return values[arg["name"]]
    ((kind, value),) = arg.items()
    if kind in ("as_tensor", "as_name"):
        return values[value["name"] if kind == "as_tensor" else value]
    if kind in ("as_sym_int", "as_sym_float", "as_sym_bool", "as_optional_tensor"):
        return read_argument(value, values)
    if kind in ("as_tensors", "as_sym_ints", "as_sym_floats", "as_sym_bools", "as_optional_tensors"):
        return [read_argument(x, values) for x in value]
    if kind == "as_none":
        return None
    if kind == "as_scalar_type":
        return EXPORTED[value]
    if kind == "as_memory_format":
        from .. import channels_last, channels_last_3d, contiguous_format

        formats = {"contiguous_format": contiguous_format, "channels_last": channels_last, "channels_last_3d": channels_last_3d}
        return formats.get(FORMATS[value], torch_preserve_format)
    if kind == "as_layout":
        return torch_strided
    if kind == "as_device":
        return _device("cpu")
    if kind == "as_complex":
        return complex(value["real"], value["imag"])
    if kind == "as_float":
        return float(value)
    if kind == "as_floats":
        return [float(x) for x in value]
    if kind in ("as_int", "as_bool", "as_string", "as_ints", "as_bools", "as_strings"):
        return list(value) if isinstance(value, list) else value
    raise NotImplementedError(f"run_decompositions: an argument of the kind {kind} is not supported")
