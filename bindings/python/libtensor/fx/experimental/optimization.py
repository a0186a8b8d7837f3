"""Fusion of convolutions with batch normalization, and removal of dropout."""

import copy
from typing import Any

from ...nn import BatchNorm1d, BatchNorm2d, BatchNorm3d, Conv1d, Conv2d, Conv3d, Dropout, Module
from ...nn.utils.fusion import fuse_conv_bn_eval
from .._symbolic_trace import symbolic_trace
from ..graph import Graph
from ..graph_module import GraphModule
from ..interpreter import Transformer
from ..node import Node

__all__ = ["extract_subgraph", "fuse", "matches_module_pattern", "remove_dropout", "replace_node_module"]


def _parent_name(target: str) -> tuple[str, str]:
    parent, _, name = target.rpartition(".")
    return parent, name


def matches_module_pattern(pattern: Any, node: Node, modules: dict[str, Any]) -> bool:
    """Returns whether a node and the one of its first argument call modules of the classes in `pattern`: the earlier one first."""
    if not node.args or not isinstance(node.args[0], Node):
        return False
    return all(n.op == "call_module" and type(modules.get(n.target)) is cls for cls, n in zip(pattern, (node.args[0], node), strict=True))


def replace_node_module(node: Node, modules: dict[str, Any], new_module: Module) -> None:
    """Replaces the module that a node calls."""
    parent, name = _parent_name(node.target)
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: Module, inplace: bool = False, no_trace: bool = False) -> Module:
    """Returns the module with its convolutions fused with the batch normalization that follows them, for evaluation. With `no_trace` the
    module is a GraphModule. `inplace` changes the module."""
    patterns = [(Conv1d, BatchNorm1d), (Conv2d, BatchNorm2d), (Conv3d, BatchNorm3d)]
    if not inplace:
        model = copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    for pattern in patterns:
        for node in graph.nodes:
            if not matches_module_pattern(pattern, node, modules):
                continue
            convolution, norm = node.args[0], modules[node.target]
            if len(convolution.users) > 1 or not norm.track_running_stats:
                continue
            replace_node_module(convolution, modules, fuse_conv_bn_eval(modules[convolution.target], norm))
            node.replace_all_uses_with(convolution)
            graph.erase_node(node)
    return GraphModule(traced, graph)


def remove_dropout(model: Module) -> Module:
    """Returns the module without its Dropout modules."""

    class Remover(Transformer):
        def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if isinstance(self.submodules[target], Dropout) and len(args) == 1:
                return args[0]
            return super().call_module(target, args, kwargs)

    return Remover(symbolic_trace(model)).transform()


def extract_subgraph(orig_module: Module, nodes: list[Node], inputs: list[Node], outputs: list[Node]) -> GraphModule:
    """Returns a module of some nodes of a graph, with the given inputs and outputs."""
    graph = Graph()
    copies: dict[Node, Node] = {node: graph.placeholder(node.name) for node in inputs}
    for node in nodes:
        copies[node] = graph.node_copy(node, lambda n: copies[n])
    graph.output([copies[node] for node in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)
