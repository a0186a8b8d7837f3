"""Graphs of functions and modules: `symbolic_trace` records the calls of a function, `GraphModule` executes them."""

from . import experimental as experimental
from . import operator_schemas as operator_schemas
from . import passes as passes
from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

__all__ = [
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
]
__all__ += ["symbolic_trace", "wrap"]
