"""split_module divides a module into submodules."""

from collections.abc import Callable
from typing import Any

from ...nn import Module
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg

__all__ = ["Partition", "split_module"]


class Partition:
    """A part of a graph: the names of its nodes, inputs and results, and its graph."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names: list[str] = []
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.dependencies: dict[str, None] = {}
        self.dependents: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Any] = {}
        self.targets: dict[str, Any] = {}


def split_module(
    m: GraphModule,
    root_m: Module,
    split_callback: Callable[[Node], Any],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
    tuple_return: bool = False,
) -> GraphModule:
    """Returns a module that calls a submodule `submod_NAME` for each value NAME that split_callback(node) returns, with the nodes of that
    value. `root_m` has the modules and attributes of `m`. `qualname_map` receives the earlier name of each submodule. Raises RuntimeError
    if parts depend on each other in a cycle. Inputs of submodules are called as the nodes, or `arg_0`, `arg_1`, … without
    `keep_original_input_name`."""
    partitions: dict[str, Partition] = {}
    part_of: dict[Node, str] = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        name = str(split_callback(node))
        part_of[node] = name
        partitions.setdefault(name, Partition(name if partition_affix is None else f"{partition_affix}_{name}")).node_names.append(
            node.name
        )
    for node in m.graph.nodes:
        user = part_of.get(node)
        for used in node.all_input_nodes:
            source = part_of.get(used)
            if source == user:
                continue
            if source is not None:
                partitions[source].outputs.setdefault(used.name)
            if user is not None:
                partitions[user].inputs.setdefault(used.name)
                if source is not None:
                    partitions[user].dependencies.setdefault(source)
                    partitions[source].dependents.setdefault(user)
    order = _sort(partitions)
    nodes = {node.name: node for node in m.graph.nodes}
    for partition in partitions.values():
        for i, name in enumerate(partition.inputs):
            source_node = nodes[name]
            made = partition.graph.placeholder(name if keep_original_input_name else f"arg_{i}", type_expr=source_node.type)
            made.meta = source_node.meta.copy()
            partition.environment[source_node] = made
    for node in m.graph.nodes:
        if node in part_of:
            _copy_into(partitions[part_of[node]], node, root_m, qualname_map, bool(keep_original_node_name))
    return _assemble(m, root_m, partitions, order, nodes, tuple_return, bool(keep_original_node_name))


def _sort(partitions: dict[str, Partition]) -> list[str]:
    """Returns the names in an order in which each one follows those that it depends on."""
    order: list[str] = []
    ready = [name for name, partition in partitions.items() if not partition.dependencies]
    waiting = {name: len(partition.dependencies) for name, partition in partitions.items()}
    while ready:
        name = ready.pop()
        order.append(name)
        for dependent in partitions[name].dependents:
            waiting[dependent] -= 1
            if not waiting[dependent]:
                ready.append(dependent)
    if len(order) != len(partitions):
        raise RuntimeError("cycle exists between partitions!")
    return order


def _copy_into(partition: Partition, node: Node, root: Module, names: dict[str, str] | None, keeps_name: bool) -> None:
    args = map_arg(node.args, partition.environment.__getitem__)
    kwargs = map_arg(node.kwargs, partition.environment.__getitem__)
    target = node.target
    if node.op == "call_module":
        target = node.target.replace(".", "_")
        partition.targets[target] = root.get_submodule(node.target)
        if names is not None:
            names[f"{partition.submod_name}.{target}"] = node.target
    made = partition.graph.create_node(node.op, target, args, kwargs, node.name if keeps_name else None, node.type)
    made.meta = node.meta.copy()
    partition.environment[node] = made


def _assemble(
    m: GraphModule,
    root: Module,
    partitions: dict[str, Partition],
    order: list[str],
    nodes: dict[str, Node],
    tuple_return: bool,
    keeps_name: bool,
) -> GraphModule:
    """Returns the module that calls the parts in their order."""
    graph = Graph()
    values: dict[str, Any] = {}
    attributes: dict[str, Any] = {}
    for node in m.graph.nodes:
        if node.op == "placeholder":
            parameter = node.name if keeps_name and not node.target.startswith("*") else node.target
            made = graph.placeholder(parameter, node.type, *node.args)
        elif node.op == "get_attr":
            made = graph.get_attr(node.target)
            found: Any = root
            for name in node.target.split("."):
                found = getattr(found, name)
            attributes[node.target] = found
        else:
            continue
        made.meta = node.meta.copy()
        values[node.name] = made
    for name in order:
        partition = partitions[name]
        results = [partition.environment[nodes[output]] for output in partition.outputs]
        several = tuple_return or len(results) > 1
        if results:
            partition.graph.output(tuple(results) if several else results[0])
        attributes[partition.submod_name] = GraphModule(partition.targets, partition.graph)
        called = graph.call_module(partition.submod_name, tuple(values[used] for used in partition.inputs))
        for i, output in enumerate(partition.outputs):
            if several:
                from operator import getitem

                values[output] = graph.call_function(getitem, (called, i))
            else:
                values[output] = called
    for node in m.graph.nodes:
        if node.op == "output":
            graph.output(map_arg(node.args[0], lambda n: values[n.name]))
    return GraphModule(attributes, graph)
