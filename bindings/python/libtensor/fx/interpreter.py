"""Interpreter executes a graph node by node; Transformer creates a new graph from it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..nn import Module
from . import traceback as fx_traceback
from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_aggregate, map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs the graph of a module node by node: `run(*args)` returns the result of the module. Subclasses override the methods for kinds of
    nodes, such as `call_function`, which take the target, args and kwargs with values instead of nodes, or `run_node`.

    With `garbage_collect_values` values are released after their last use. `graph` replaces the graph of the module.
    """

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = graph if graph is not None else module.graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            seen: set[Node] = set()
            for node in reversed(self.graph.nodes):
                for used in node.all_input_nodes:
                    if used not in seen:
                        seen.add(used)
                        self.user_to_last_uses.setdefault(node, []).append(used)

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """Runs the graph with arguments, and returns the result. `initial_env` maps nodes to values that are not computed again."""
        self.env = dict(initial_env) if initial_env is not None else {}
        given = self.graph.process_inputs(*args) if enable_io_processing else args
        self.args_iter: Iterator[Any] = iter(given)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    said = f"While executing {node.format_node()}"
                    said = f"{error.args[0]}\n\n{said}" if error.args else said
                    error.args = (f"{said}\nOriginal traceback:\n{node.stack_trace}", *error.args[1:])
                    if isinstance(error, KeyError):
                        raise RuntimeError(*error.args) from error
                raise
            for used in self.user_to_last_uses.get(node, ()):
                self.env.pop(used, None)
            if node.op == "output":
                out = self.env[node]
                return self.graph.process_outputs(out) if enable_io_processing else out
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Runs the graph with the arguments in a list, which is emptied so that they are freed after their last use."""
        args = list(args_list)
        args_list.clear()
        return self.run(*args, enable_io_processing=False)

    @contextmanager
    def _set_current_node(self, node: Node) -> Iterator[None]:
        with fx_traceback.set_current_meta(node):
            yield

    def run_node(self, n: Node) -> Any:
        """Returns the value of a node."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Returns the next argument of the call; the default of the input without one."""
        if target[0] == "*":
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!") from None

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Returns an attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a method of the first argument."""
        receiver, *rest = args
        return getattr(receiver, target)(*rest, **kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Returns the result."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """Returns the attribute of the module with a dotted name."""
        found: Any = self.module
        names = target.split(".")
        for i, name in enumerate(names):
            if not hasattr(found, name):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(names[: i + 1])}")
            found = getattr(found, name)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns the arguments of a node, with values instead of nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Returns arguments with values instead of nodes."""

        def load(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues")
            return self.env[node]

        return map_arg(args, load)


class _TransformerTracer(Tracer):
    """Appends to a graph, with every module as a leaf."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.tensor_attrs = {}

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Returns True."""
        return True


class Transformer(Interpreter):
    """Creates a new module from a GraphModule: `transform()` returns it. Subclasses override the methods of the kinds of nodes; they take
    proxies, and their calls with proxies are the nodes of the new graph.
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        """Inserts an input."""
        default = next(iter(args)) if args else None
        made = self.new_graph.placeholder(target, default_value=default) if args else self.new_graph.placeholder(target)
        return Proxy(made, self.tracer)

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        """Inserts an attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Inserts the call of a submodule."""
        return self.tracer.call_module(self.fetch_attr(target), self.fetch_attr(target).forward, args, kwargs)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Inserts the call of a function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """Returns the new module."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            made = self.new_graph.output(map_aggregate(result, lambda x: x.node if isinstance(x, Proxy) else x))
            old = next((node for node in self.graph.nodes if node.op == "output"), None)
            if old is not None:
                made.meta.update(old.meta)
        return GraphModule(self.module, self.new_graph)
