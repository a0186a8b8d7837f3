"""Replaces operators that write to tensors by those that return new ones: run_decompositions() returns programs without mutation."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from .._core.tensor import Tensor
from ..library.aten import AtenOverload
from ..library.core_table import aten
from ..library.operators import OpOverload
from .arguments import Node, create_node, find_operator, list_names, replace_names
from .lowering import Lowering
from .normalize import describe

__all__ = ["functionalize"]

RESHAPED = frozenset(("view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "_unsafe_view", "view_as", "reshape_as"))
# In-place operators that change only the shape and the strides of their argument.
SHAPED = frozenset(("squeeze_", "unsqueeze_", "t_", "transpose_", "swapaxes_", "swapdims_", "as_strided_"))
# Operators whose operands can have sizes that depend on elements, as in x[mask] = y: they cannot be recorded on the device meta.
ASSIGNING = frozenset(("index_put_", "masked_scatter_"))
RESIZING = frozenset(("resize_", "resize_as_"))
SAME = frozenset(("alias", "detach", "contiguous", "to", "lift_fresh"))


def find_written(op: Any) -> list[int]:
    """Returns the indices of the arguments that an operator writes to."""
    return [i for i, a in enumerate(op._schema.arguments) if a.is_write] if isinstance(op, OpOverload) else []


def is_view(op: Any) -> bool:
    """Returns whether the results of an operator share memory with its first argument."""
    if not isinstance(op, AtenOverload):
        return False
    first = op._schema.arguments[:1]
    return bool(
        first and first[0].alias_info and not first[0].is_write and "->" in str(op._schema) and "(a" in str(op._schema).partition("->")[2]
    )


def write_back(op: AtenOverload, index: int) -> Callable[..., Any]:
    """Returns a function of a tensor, the new value of result `index` of a view of it, and the view's arguments: the tensor with that
    value."""

    def scatter(parent: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> Any:
        name = op.op_name
        given = {a.name: v for a, v in zip(op._schema.arguments[1:], args, strict=False)} | kwargs
        given = {a.name: given.get(a.name, a.default_value) for a in op._schema.arguments[1:]}
        if name in SAME:
            return value
        if op.op_name == "view" and op.overload == "dtype":
            return aten.view.dtype(value, parent.dtype)
        if name in RESHAPED:
            return aten.reshape.default(value, list(parent.shape))
        if name in ("permute", "transpose", "t", "mT", "numpy_T"):
            order = list(range(parent.dim()))
            if name == "permute":
                order = [d % parent.dim() for d in given["dims"]]
            elif name == "numpy_T":
                order.reverse()
            elif parent.dim() > 1:
                one, two = (given["dim0"], given["dim1"]) if name == "transpose" else (-2, -1)
                order[one], order[two] = order[two], order[one]
            return aten.permute.default(value, [order.index(d) for d in range(parent.dim())])
        if name == "select":
            return aten.select_scatter.default(parent, value, given["dim"], given["index"])
        if name == "unbind":
            return aten.select_scatter.default(parent, value, given["dim"], index)
        if name == "slice":
            return aten.slice_scatter.default(parent, value, given["dim"], given["start"], given["end"], given["step"])
        if name == "split_with_sizes":
            start = sum(given["split_sizes"][:index])
            return aten.slice_scatter.default(parent, value, given["dim"], start, start + given["split_sizes"][index])
        if name == "diagonal":
            return aten.diagonal_scatter.default(parent, value, given["offset"], given["dim1"], given["dim2"])
        if name == "as_strided":
            return aten.as_strided_scatter.default(parent, value, given["size"], given["stride"], given["storage_offset"])
        raise RuntimeError(
            f"run_decompositions: the program writes to a view that {op} returns, which is not supported; clone() it before the write"
        )

    return scatter


def find_plain(op: AtenOverload) -> AtenOverload | None:
    """Returns the overload that returns what an in-place operator writes: the one with the same parameters; None without one."""
    parameters = [(a.name, a.kind) for a in op._schema.arguments]
    packet = getattr(aten, op.op_name.rstrip("_"), None)
    overloads = [op.overload, *packet.overloads()] if packet is not None else []
    for found in (getattr(packet, x, None) for x in overloads if not x.endswith("out")):
        if (
            found is not None
            and not find_written(found)
            and [(a.name, a.kind) for a in found._schema.arguments][: len(parameters)] == parameters
        ):
            plain: AtenOverload = found
            return plain
    return None


def find_returning(op: AtenOverload) -> AtenOverload | None:
    """Returns the overload that returns what `op` writes to keyword arguments such as out; None for other operators."""
    written = [a for a in op._schema.arguments if a.is_write]
    if not written or not all(a.kwarg_only for a in written):
        return None
    parameters = [(a.name, a.kind) for a in op._schema.arguments if not a.is_write]
    packet = getattr(aten, op.op_name)
    for found in (getattr(packet, x, None) for x in packet.overloads()):
        if (
            found is not None
            and not find_written(found)
            and [(a.name, a.kind) for a in found._schema.arguments][: len(parameters)] == parameters
        ):
            returning: AtenOverload = found
            return returning
    return None


def find_functional(op: AtenOverload) -> Callable[..., Any]:
    """Returns a function that returns the value that an operator writes to its first argument."""
    found = find_plain(op)
    if op.op_name in RESIZING:
        raise RuntimeError(
            f"run_decompositions: the program calls {op}, which changes the size of its argument; use reshape() or new_empty() instead"
        )
    if found is None:
        raise RuntimeError(
            f"run_decompositions: the program calls {op}, which writes to its argument and has no form that returns a new tensor"
        )

    def apply(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        made = found(self, *args, **kwargs)
        return made if made.dtype == self.dtype else made.to(self.dtype)

    return apply


class _Functionalizer:
    """The values of a graph: the present name of each, which changes where the graph writes to its memory."""

    def __init__(self, lowering: Lowering, graph: dict[str, Any]) -> None:
        self.lowering, self.graph = lowering, graph
        self.made: list[Node] = []
        self.parents: dict[str, tuple[str, Node, int]] = {}  # of views: the viewed value, the node, and which result of it
        self.names: dict[str, str] = {}
        self.seen: dict[str, int] = {}  # the number of writes to the memory of a value that its present name contains
        self.shaped: dict[str, str] = {}  # values after an operator that has changed their shape
        self.writes: dict[str, int] = {}  # by the value that no other contains

    def root(self, name: str) -> str:
        while name in self.parents:
            name = self.parents[name][0]
        return name

    def present(self, name: str) -> str:
        """Returns the name of a value with all writes before: a view of a tensor that has been written to is computed again."""
        writes = self.writes.get(self.root(name), 0)
        if name in self.parents and self.seen.get(name, 0) != writes:
            parent, node, index = self.parents[name]
            whole = self.present(parent)
            self.seen[name] = writes
            if node is ALIAS:
                self.names[name] = whole
                return whole
            outputs = list(list_names(node["outputs"]))
            fresh = {x: self.lowering.name(x) for x in outputs}
            inputs = replace_names(node["inputs"], {parent: whole})
            title = fresh[outputs[0]] if len(outputs) == 1 else self.lowering.name(node.get("name") or "view")
            self.made.append({**node, "inputs": inputs, "outputs": replace_names(node["outputs"], fresh), "name": title})
            for x in outputs:
                self.graph["tensor_values"][fresh[x]] = copy.deepcopy(describe(self.graph, x))
            self.names[name] = fresh[outputs[index]]
        return self.names.get(name, name)

    def last(self, name: str) -> str:
        """Returns the present name of a value of the file."""
        return self.present(self.shaped.get(name, name))

    def expand(self, node: Node, function: Callable[..., Any], base: str) -> str:
        """Adds the nodes of a function of a node's inputs; returns the name of its result."""
        name = self.lowering.name(base)
        self.graph["tensor_values"][name] = copy.deepcopy(describe(self.graph, base))
        found = self.lowering.expand(self.graph, {**node, "outputs": [{"as_tensor": {"name": name}}]}, function)
        if found is None:
            raise RuntimeError(f"run_decompositions: a write by {node['target']} is not supported")
        self.made += found[0]
        return found[1].get(name, name)

    def rename(self, node: Node, op: AtenOverload) -> str | None:
        """Adds the node with the form of an operator that returns what it writes to its first argument; returns the name of the result."""
        plain, target = find_plain(op), next(list_names(node["inputs"][0]["arg"]))
        if plain is None:
            return None
        name = self.lowering.name(target)
        self.graph["tensor_values"][name] = copy.deepcopy(describe(self.graph, target))
        self.made.append({**node, "target": f"torch.ops.{plain}", "outputs": [{"as_tensor": {"name": name}}], "name": name})
        return name

    def write(self, node: Node, op: AtenOverload) -> None:
        target = next(list_names(node["inputs"][0]["arg"]))
        result = next(list_names(node["outputs"]), None)
        inputs = replace_names(node["inputs"], self.present)
        value = self.rename({**node, "inputs": inputs}, op) if op.op_name in ASSIGNING else None
        self.store(target, value or self.expand({**node, "inputs": inputs}, find_functional(op), target))
        if result is not None:
            self.parents[result] = target, ALIAS, 0
            self.names[result], self.seen[result] = self.names[target], self.writes[self.root(target)]

    def write_list(self, node: Node, op: AtenOverload) -> None:
        """Replaces an operator that writes to the tensors of a list, such as _foreach_add_. If tensors may share memory, the operator is
        called for one after the other, as it is executed."""
        plain = find_plain(op)
        if plain is None:
            raise RuntimeError(
                f"run_decompositions: the program calls {op}, which writes to its arguments and has no form that returns new tensors"
            )
        lists = [x["arg"]["as_tensors"] for x in node["inputs"] if "as_tensors" in x["arg"]]
        roots = [self.root(x["name"]) for items in lists for x in items]
        if len(set(roots)) == len(roots):
            self.write_items(node, plain)
            return
        count = len(lists[0])
        for i in range(count):
            self.write_items({**node, "inputs": [select_item(x, i, count) for x in node["inputs"]]}, plain)

    def write_items(self, node: Node, plain: AtenOverload) -> None:
        targets = list(list_names(node["inputs"][0]["arg"]))
        values = [self.lowering.name(name) for name in targets]
        for name, value in zip(targets, values, strict=True):
            self.graph["tensor_values"][value] = copy.deepcopy(describe(self.graph, name))
        outputs = [{"as_tensors": [{"name": value} for value in values]}]
        inputs = replace_names(node["inputs"], self.present)
        name = self.lowering.name(plain.op_name)
        self.made.append({**node, "target": f"torch.ops.{plain}", "inputs": inputs, "outputs": outputs, "name": name})
        for target, value in zip(targets, values, strict=True):
            self.store(target, value)

    def write_custom(self, node: Node, op: OpOverload, constant: set[str]) -> None:
        """Calls a custom operator that writes to arguments with copies of these, or with views of copies of the values that they are views
        of. `constant` are the inputs that the program must not write to."""
        arguments = op._schema.arguments
        written = [x["arg"] for a, x in zip(arguments, node["inputs"], strict=False) if a.is_write and x["kind"] != 2]
        written += [x["arg"] for a in arguments for x in node["inputs"] if a.is_write and x["kind"] == 2 and x["name"] == a.name]
        for root in dict.fromkeys(map(self.root, list_names(written))):
            self.check_write(root, constant)
            copied = self.lowering.name(root)
            self.graph["tensor_values"][copied] = copy.deepcopy(describe(self.graph, root))
            clone = {"self": {"as_tensor": {"name": self.present(root)}}}
            self.made.append(create_node("torch.ops.aten.clone.default", clone, [{"as_tensor": {"name": copied}}], copied))
            self.store(root, copied)
        self.made.append({**node, "inputs": replace_names(node["inputs"], self.present)})

    def check_write(self, root: str, constant: set[str]) -> None:
        if root in constant:
            raise RuntimeError(f"run_decompositions: the program writes to {root}, which is neither a buffer, a parameter nor an input")

    def store(self, target: str, value: str) -> None:
        """Makes `value` that of a tensor, and the values of the tensors that it is a view of contain it."""
        root = self.root(target)
        chain = []
        name = target
        while True:
            chain.append((name, value))
            if name not in self.parents:
                break
            parent, view, index = self.parents[name]
            whole = self.present(parent)
            rest = [{**x, "arg": replace_names(x["arg"], self.present)} for x in view["inputs"][1:]]
            given = [{"name": "", "arg": {"as_tensor": {"name": x}}, "kind": 1} for x in (whole, value)]
            value = self.expand({**view, "inputs": given + rest}, write_back(find_operator(view["target"]), index), parent)
            name = parent
        self.writes[root] = self.writes.get(root, 0) + 1
        for name, value in chain:
            self.names[name], self.seen[name] = value, self.writes[root]

    def run(self, may_write: frozenset[str]) -> None:
        inputs = set(list_names(self.graph["inputs"]))
        for node in self.graph["nodes"]:
            node = {**node, "inputs": replace_names(node["inputs"], self.shaped)}
            op = find_operator(node["target"])
            if isinstance(op, AtenOverload) and op.op_name in SHAPED:
                viewed, result = next(list_names(node["inputs"])), next(list_names(node["outputs"]))
                self.shaped |= {name: result for name, value in self.shaped.items() if value == viewed} | {viewed: result}
                op = find_plain(op) or op
                node["target"] = f"torch.ops.{op}"
                function = self.lowering.table.get(op)
                expanded = None if function is None else self.lowering.expand(self.graph, node, function)
                if expanded is not None and len(expanded[0]) == 1:
                    node = expanded[0][0]
                    op = find_operator(node["target"])
            written = find_written(op)
            for x in node["inputs"]:
                if "as_graph" in x["arg"]:
                    _Functionalizer(self.lowering, x["arg"]["as_graph"]["graph"]).run(frozenset())
            if written and not isinstance(op, AtenOverload):
                self.write_custom(node, op, inputs - may_write)
                continue
            if written:
                if written != [0] or not op.op_name.endswith("_"):
                    raise RuntimeError(f"run_decompositions: the program calls {op}, whose writes are not supported")
                for root in map(self.root, list_names(node["inputs"][0]["arg"])):
                    self.check_write(root, inputs - may_write)
                (self.write_list if "as_tensors" in node["inputs"][0]["arg"] else self.write)(node, op)
                continue
            if is_view(op):
                viewed = next(list_names(node["inputs"][0]["arg"]))
                for i, name in enumerate(list_names(node["outputs"])):
                    self.parents[name] = viewed, node, i
                    self.seen[name] = self.writes.get(self.root(viewed), 0)
            self.made.append({**node, "inputs": replace_names(node["inputs"], self.present)})
        self.graph["outputs"] = replace_names(self.graph["outputs"], self.last)
        self.graph["nodes"] = self.made


def select_item(argument: dict[str, Any], i: int, count: int) -> dict[str, Any]:
    """Returns an argument of an operator on lists of `count` tensors for item i alone."""
    ((kind, value),) = argument["arg"].items()
    is_list = kind in ("as_tensors", "as_ints", "as_floats", "as_bools") and len(value) == count
    return {**argument, "arg": {kind: [value[i]]}} if is_list else argument


ALIAS = create_node("torch.ops.aten.alias.default", {"self": {"as_tensor": {"name": ""}}}, [{"as_tensor": {"name": ""}}])


def functionalize(lowering: Lowering, text: dict[str, Any]) -> None:
    """Replaces the writes of a program, and adds the tensors that it writes to as outputs."""
    graph, signature = text["graph_module"]["graph"], text["graph_module"]["signature"]
    targets: dict[str, tuple[str, dict[str, str]]] = {}
    for union in signature["input_specs"]:
        ((kind, spec),) = union.items()
        if kind in ("buffer", "parameter"):
            targets[spec["arg"]["name"]] = f"{kind}_mutation", {f"{kind}_name": spec[f"{kind}_name"]}
        elif kind == "user_input":
            for name in list_names(spec["arg"]):
                targets[name] = "user_input_mutation", {"user_input_name": name}
    made = _Functionalizer(lowering, graph)
    made.run(frozenset(targets))
    specs, outputs = [], []
    for name, (kind, target) in targets.items():
        if made.writes.get(name):
            present = made.present(name)
            specs.append({kind: {"arg": {"name": present}, **target}})
            outputs.append({"as_tensor": {"name": present}})
    for union in signature["output_specs"]:
        ((kind, spec),) = union.items()
        specs.append({kind: {**spec, "arg": replace_names(spec["arg"], made.last)}})
    signature["output_specs"] = specs
    graph["outputs"] = outputs + graph["outputs"]
