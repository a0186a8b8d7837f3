"""ExportedProgram.run_decompositions(): programs of Core ATen operators, without mutation."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from .._core.tensor import Tensor
from ..library.aten import AtenOverload
from ..library.core_table_nn import TABLE
from ..library.operators import OpOverload
from .arguments import Node, Table, create_node, find_operator, list_names, replace_names
from .functionalize import find_returning, find_written, functionalize
from .lowering import Lowering
from .normalize import describe, normalize, walk_nodes
from .trace import write_symbol

__all__ = ["CustomDecompTable", "decompose", "default_decompositions"]

INLINED = {"torch.ops.higher_order.wrap_with_set_grad_enabled": 1, "torch.ops.higher_order.wrap_with_autocast": 4}  # where their graph is
ALIASES = ["contiguous.default", "flatten.using_ints", "ravel.default", "reshape.default", "reshape_as.default", "to.device", "to.dtype"]
ALIASES += ["to.dtype_layout", "to.other", "type_as.default"]
# Composite operators whose results are views.
ALIASES += ["broadcast_to.default", "chunk.default", "expand_as.default", "mT.default", "movedim.int", "movedim.intlist", "narrow.default"]
ALIASES += ["split.Tensor", "split.sizes", "swapaxes.default", "swapdims.default", "view_as.default"]
# Normalizations, which write to the running statistics (arguments 3 and 4) in training (argument 5), and whose schemas need not say so.
NORMALIZATIONS = {name: TABLE[name] for name in ("batch_norm.default", "instance_norm.default", "native_batch_norm.default")}
NORMALIZATIONS["_native_batch_norm_legit.default"] = TABLE["native_batch_norm.default"]
KEPT = ("_assert", "sym_constrain", "with_effects")  # the beginnings of names of operators that are called for their effects


class CustomDecompTable(dict[Any, Callable[..., Any]]):
    """Decompositions by operator, initially those of default_decompositions(). A function has the operator's parameters and calls others;
    the operator is kept where it returns NotImplemented, or if its decomposition is not valid for all sizes within the bounds of `Dim`.
    Removing an operator from the table keeps it."""

    def __init__(self) -> None:
        super().__init__({find_operator(f"torch.ops.aten.{name}"): function for name, function in TABLE.items()})

    def copy(self) -> CustomDecompTable:
        """Returns a copy of the table."""
        made = CustomDecompTable()
        made.clear()
        made.update(self)
        return made

    def materialize(self) -> dict[Any, Callable[..., Any]]:
        """Returns the decompositions as a dict."""
        return dict(self)


def default_decompositions() -> CustomDecompTable:
    """Returns the decompositions that run_decompositions() uses: those of the operators that are not in Core ATen IR.

    >>> table = torch.export.default_decompositions()
    >>> del table[torch.ops.aten.linear.default]  # which is kept
    >>> linear = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),))
    >>> list(linear.run_decompositions(table).operators)
    ['torch.ops.aten.linear.default']
    """
    return CustomDecompTable()


def list_all_names(graph: dict[str, Any]) -> set[str]:
    """Returns the names of all values and nodes of a graph and of the graphs of its control flow."""
    names = set(list_names([graph["inputs"], graph["outputs"]]))
    for node in walk_nodes(graph):
        names.update(list_names([x["arg"] for x in node["inputs"]]), list_names(node["outputs"]), filter(None, [node.get("name")]))
    return names


def inline(lowering: Lowering, graph: dict[str, Any]) -> None:
    """Replaces calls of graphs under no_grad, or with autocast disabled, by the nodes of these graphs. Raises NotImplementedError if
    autocast is enabled."""
    made: list[dict[str, Any]] = []
    renamed: dict[str, str] = {}
    for node in graph["nodes"]:
        node["inputs"] = replace_names(node["inputs"], renamed)
        for x in node["inputs"]:
            if "as_graph" in x["arg"]:
                inline(lowering, x["arg"]["as_graph"]["graph"])
        at = INLINED.get(node["target"])
        if at is None:
            made.append(node)
            continue
        if at == INLINED["torch.ops.higher_order.wrap_with_autocast"] and node["inputs"][2]["arg"].get("as_bool") is not False:
            raise NotImplementedError(
                f"run_decompositions: node {node['name']!r} enables autocast, which decomposed operators would ignore; run the program as "
                "it is, "
                "or call run_decompositions() in PyTorch before it is saved"
            )
        inner = node["inputs"][at]["arg"]["as_graph"]["graph"]
        names = dict(zip(list_names(inner["inputs"]), list_names([x["arg"] for x in node["inputs"][at + 1 :]]), strict=True))
        for part in inner["nodes"]:
            names |= {name: lowering.name(name) for name in list_names(part["outputs"])}
            for key in ("inputs", "outputs"):
                part[key] = replace_names(part[key], names)
            made.append(part)
        for kind in ("tensor_values", "sym_int_values", "sym_float_values", "sym_bool_values"):
            graph[kind] |= {names[name]: value for name, value in inner[kind].items() if name in names}
        renamed |= {name: names[inside] for name, inside in zip(list_names(node["outputs"]), list_names(inner["outputs"]), strict=True)}
    graph["nodes"] = made
    graph["outputs"] = replace_names(graph["outputs"], renamed)


def replace_out(lowering: Lowering, graph: dict[str, Any]) -> None:
    """Replaces overloads that write their results to arguments, such as add.out, by those that return them, and copies."""
    made: list[Node] = []
    for node in graph["nodes"]:
        for x in node["inputs"]:
            if "as_graph" in x["arg"]:
                replace_out(lowering, x["arg"]["as_graph"]["graph"])
        op = find_operator(node["target"])
        plain = find_returning(op) if isinstance(op, AtenOverload) else None
        if plain is None:
            made.append(node)
            continue
        written = {a.name for a in op._schema.arguments if a.is_write}
        targets = [name for x in node["inputs"] if x["name"] in written for name in list_names(x["arg"])]
        values = [lowering.name(name) for name in targets]
        graph["tensor_values"] |= {value: copy.deepcopy(describe(graph, name)) for name, value in zip(targets, values, strict=True)}
        outputs: list[Any] = [{"as_tensor": {"name": value}} for value in values]
        if plain._schema.result_kinds[0].endswith("[]"):
            outputs = [{"as_tensors": [{"name": value} for value in values]}]
        inputs = [x for x in node["inputs"] if x["name"] not in written]
        made.append({**node, "target": f"torch.ops.{plain}", "inputs": inputs, "outputs": outputs, "name": lowering.name(plain.op_name)})
        results = list(list_names(node["outputs"])) or [lowering.name(name) for name in targets]
        for target, value, result in zip(targets, values, results, strict=True):
            graph["tensor_values"].setdefault(result, copy.deepcopy(describe(graph, target)))
            arguments = {"self": {"as_tensor": {"name": target}}, "src": {"as_tensor": {"name": value}}}
            made.append(create_node("torch.ops.aten.copy_.default", arguments, [{"as_tensor": {"name": result}}], result))
    graph["nodes"] = made


def remove_unused(graph: dict[str, Any]) -> None:
    """Removes the nodes whose results nothing uses, and the descriptions of values that do not exist."""
    used = set(list_names(graph["outputs"]))
    kept = []
    for node in reversed(graph["nodes"]):
        for x in node["inputs"]:
            if "as_graph" in x["arg"]:
                remove_unused(x["arg"]["as_graph"]["graph"])
        parts = node["target"].split(".")
        is_called_for_effects = parts[1:3] != ["ops", "aten"] or parts[3].startswith(KEPT) or find_written(find_operator(node["target"]))
        is_pure = parts[0] != "torch" or not is_called_for_effects
        results = list(list_names(node["outputs"]))
        if is_pure and results and not used.intersection(results):
            continue
        used.update(list_names([x["arg"] for x in node["inputs"]]))
        kept.append(node)
    graph["nodes"] = kept[::-1]
    known = used | set(list_names([graph["inputs"], *(x["outputs"] for x in kept)]))
    for kind in ("tensor_values", "sym_int_values"):
        graph[kind] = {name: value for name, value in graph[kind].items() if name in known}


def updates_statistics(node: Node) -> bool:
    """Returns whether a node is a normalization that writes to running statistics."""
    if node["target"].removeprefix("torch.ops.aten.") not in NORMALIZATIONS:
        return False
    mean, training = (node["inputs"][i]["arg"] for i in (3, 5))
    return "as_none" not in mean and training.get("as_bool") is True


def replace_update(decomposition: Callable[..., Any], given: Callable[..., Any] | None) -> Callable[..., Any]:
    """Returns a decomposition of a normalization: `given`, and `decomposition` where that keeps an operator that writes."""

    def apply(*args: Any, **kwargs: Any) -> Any:
        made = NotImplemented if given is None else given(*args, **kwargs)
        return decomposition(*args, **kwargs) if made is NotImplemented and args[3] is not None and args[5] else made

    return apply


def add_guards(lowering: Lowering, graph: dict[str, Any]) -> None:
    """Adds assertions that sizes of inputs are at least 2, for the symbols that decompositions require to be so and that runs do not
    check."""
    sizes = [
        (x, d, size) for x in list_names(graph["inputs"]) for d, size in enumerate(graph["tensor_values"].get(x, {"sizes": []})["sizes"])
    ]
    nodes: list[Node] = []

    for symbol in sorted(lowering.required):
        name, dim, size = next((x for x in sizes if x[2].get("as_expr", {}).get("expr_str") == write_symbol(symbol)), (None, 0, {}))
        if name is None:
            continue
        number, holds, text = lowering.name("sym_size_int"), lowering.name("ge"), f"Guard failed: {name}.size()[{dim}] >= 2"
        dimension = {"self": {"as_tensor": {"name": name}}, "dim": {"as_int": dim}}
        nodes.append(create_node("torch.ops.aten.sym_size.int", dimension, [{"as_sym_int": {"as_name": number}}], number))
        compared = {"a": {"as_sym_int": {"as_name": number}}, "b": {"as_int": 2}}
        nodes.append(create_node("_operator.ge", compared, [{"as_sym_bool": {"as_name": holds}}], holds))
        asserted = {"self": {"as_sym_bool": {"as_name": holds}}, "assert_msg": {"as_string": text}}
        nodes.append(create_node("torch.ops.aten._assert_scalar.default", asserted, [], lowering.name("_assert_scalar_default")))
        graph["sym_int_values"][number] = copy.deepcopy(size)
        graph["sym_bool_values"][holds] = {
            "as_expr": {"expr_str": f"GreaterThan({write_symbol(symbol)}, Integer(2))", "hint": {"as_bool": True}}
        }
    graph["nodes"] = nodes + graph["nodes"]


def check_table(table: Table) -> Table:
    """Returns a copy of a table of decompositions. Raises TypeError for a key that is not an overload of an operator."""
    for key in table:
        if not isinstance(key, AtenOverload | OpOverload):
            raise TypeError(
                f"run_decompositions: the key {key!r:.100} of the table is not an overload of an operator, such as "
                "torch.ops.aten.silu.default"
            )
    return dict(table)


def decompose(text: dict[str, Any], table: Table | None) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Returns the JSON of a program after decompositions, the default ones for None, and the constants that these use, by name."""
    text = copy.deepcopy(text)
    graph, signature = text["graph_module"]["graph"], text["graph_module"]["signature"]
    has_writes = any(updates_statistics(node) or find_written(find_operator(node["target"])) for node in walk_nodes(graph))
    normalize(graph)
    chosen = default_decompositions() if table is None else check_table(table)
    lowering = Lowering(text, chosen, list_all_names(graph), not has_writes)
    inline(lowering, graph)
    replace_out(lowering, graph)
    if has_writes:
        # Whether these share memory with their argument depends on its dtype and strides: their decompositions decide.
        lowering.table |= {find_operator(f"torch.ops.aten.{name}"): TABLE[name] for name in ALIASES}
        normalizations = [(find_operator(f"torch.ops.aten.{name}"), function) for name, function in NORMALIZATIONS.items()]
        lowering.table |= {op: replace_update(function, lowering.table.get(op)) for op, function in normalizations}
    lowering.lower(graph)
    users = [spec for union in signature["output_specs"] for spec in union.values()]
    for spec, output in zip(users, graph["outputs"], strict=True):
        spec["arg"] = output["as_tensor"] if "name" in spec["arg"] else output
    functionalize(lowering, text)
    remove_unused(graph)
    add_guards(lowering, graph)
    # PyTorch's verifier of ATen programs accepts no operators that write, which custom ones may.
    text["verifiers"] = ["TRAINING" if any(find_written(find_operator(node["target"])) for node in walk_nodes(graph)) else "ATEN"]
    return text, {name: value for value, _, name in lowering.constants.values()}
