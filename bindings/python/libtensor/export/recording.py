"""Graphs that a trace has recorded."""

from __future__ import annotations

from typing import Any

from .._core.tensor import Tensor
from ..fx.graph import Graph
from ..fx.node import Node

__all__ = ["Recording"]


class Recording:
    """A graph, whose placeholders are the state and the flat inputs, with the flat outputs and the sizes of each value.

    A graph that is an argument of control flow has a name, and no constants: tensors of other graphs are inputs."""

    def __init__(self, graph: Graph, spec: Any, constants: dict[str, tuple[str, Tensor]], name: str = "", is_single: bool = False) -> None:
        self.is_single = is_single  # whether PyTorch's form of the graph returns a tensor, not a tuple
        self.graph, self.spec, self.constants, self.name = graph, spec, constants, name
        self.nodes: list[Node] = list(graph.nodes)

    @property
    def outputs(self) -> list[Any]:
        """The flat results: nodes, numbers, strings and None."""
        return list(self.nodes[-1].args[0])

    def sizes(self, at: int) -> tuple[int, ...] | None:
        """Returns the shape of the value of node `at`; None if it is no tensor."""
        value = self.nodes[at].meta.get("val")
        return tuple(value.shape) if isinstance(value, Tensor) else None

    def __call__(self, *inputs: Any) -> list[Any]:
        return self.run(*inputs)

    def run(self, *inputs: Any) -> list[Any]:
        """Returns the outputs for values of the placeholders."""
        given = iter(inputs)
        found: dict[Node, Any] = {}

        def value_of(x: Any) -> Any:
            if isinstance(x, Node):
                return found[x]
            return type(x)(map(value_of, x)) if isinstance(x, list | tuple) else x

        for node in self.graph.nodes:
            if node.op == "placeholder":
                found[node] = next(given)
            elif node.op == "get_attr":
                found[node] = self.constants[node.name][1]
            elif node.op == "call_function":
                found[node] = node.target(*value_of(node.args), **{k: value_of(v) for k, v in node.kwargs.items()})
        outputs: list[Any] = value_of(self.outputs)
        return outputs
