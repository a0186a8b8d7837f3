"""The base class of passes."""

from typing import Any, NamedTuple

from ...graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The module that a pass returns, and whether the pass changed it."""

    graph_module: GraphModule
    modified: bool


class PassBase:
    """A pass over a GraphModule: `call(graph_module)` changes it and returns a PassResult or None; `requires` and `ensures` check the
    module before and after. The call of a pass runs all three."""

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Runs the pass. Subclasses override it."""
        raise NotImplementedError(f"{type(self).__name__} requires a method call(graph_module)")

    def requires(self, graph_module: GraphModule) -> Any:
        """Checks the module before the pass."""

    def ensures(self, graph_module: GraphModule) -> Any:
        """Checks the module after the pass."""
