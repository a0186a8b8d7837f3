"""Graphs: nodes in the order of their execution."""

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ._calls import torch_name
from ._codegen import CodeGen as CodeGen
from ._codegen import PythonCode as PythonCode
from ._codegen import _PyTreeCodeGen as _PyTreeCodeGen
from ._codegen import _PyTreeInfo as _PyTreeInfo
from ._codegen import inplace_methods as inplace_methods
from ._codegen import magic_methods as magic_methods
from ._codegen import reflectable_magic_methods as reflectable_magic_methods
from ._names import Namespace as _Namespace
from ._names import snake_case as _snake_case
from .node import Node, map_arg, nodes_from

__all__ = ["CodeGen", "Graph", "PythonCode"]

MISSING = object()


class _node_list:
    """The nodes of a graph in their order."""

    def __init__(self, graph: "Graph", direction: str = "_next") -> None:
        self.graph = graph
        self.direction = direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        return nodes_from(self.graph._root, self.direction == "_prev")

    def __reversed__(self) -> Iterator[Node]:
        return nodes_from(self.graph._root, self.direction != "_prev")


class _InsertPoint:
    """Makes a graph insert new nodes before a node, until the end of the with statement."""

    def __init__(self, graph: "Graph", insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.before, graph._insert = graph._insert, insert

    def __enter__(self) -> None:
        return None

    def __exit__(self, *raised: Any) -> None:
        self.graph._insert = self.before


class Graph:
    """The nodes of a function: inputs (placeholders), calls, and the output, in the order of execution.

    `symbolic_trace` creates graphs of functions and modules; `GraphModule` is a module of a graph. `owning_module` is that module.
    """

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: dict[str, Any] | None = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._order_changed = False
        self._graph_namespace = _Namespace()
        self._owners = 0
        self._owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen: CodeGen = CodeGen()
        self._co_fields: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        state = {key: value for key, value in self.__dict__.items() if key not in ("_insert", "_root")}
        return {**state, "_nodes": list(self.nodes)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        nodes = state.pop("_nodes")
        self.__dict__.update(state)
        self._root = Node(self, "", "root", "", (), {})
        self._insert = self._root.prepend
        for node in nodes:
            self._root.prepend(node)

    @property
    def owning_module(self) -> Any:
        """The GraphModule of the graph; None if several modules have it."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: Any) -> None:
        self._owning_module = mod

    @property
    def nodes(self) -> _node_list:
        """The nodes in their order; `reversed(graph.nodes)` iterates backwards."""
        return _node_list(self)

    def output_node(self) -> Node:
        """Returns the output."""
        last = self._root.prev
        if last.op != "output":
            raise AssertionError(f"Expected output node, got op={last.op}")
        return last

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """Returns the nodes of a kind, and of a target. A call_function requires its target."""
        if op == "call_function" and target is None:
            raise AssertionError("target must not be None for op='call_function'")
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def _update_order(self) -> None:
        """Numbers the nodes in their order, if it has changed."""
        if self._order_changed:
            for i, node in enumerate(self.nodes):
                node._position = i
            self._order_changed = False

    # ------------------------------------------------------------------------------------------------------------ copies

    def graph_copy(self, g: "Graph", val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Appends the nodes of `g` to this graph. `val_map` maps nodes to their copies, and is extended. Returns the output's argument
        here."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                found = map_arg(node.args[0], lambda n: val_map[n])
                return (found, node) if return_output_node else found
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> "Graph":
        memo = memo if memo else {}
        g = Graph(tracer_cls=self._tracer_cls)
        copies: dict[Node, Node] = {}
        output = g.graph_copy(self, copies, return_output_node=True)
        g._codegen = copy.deepcopy(self._codegen)
        if output is not None:
            value, old = output
            new = g.output(value, type_expr=getattr(old, "type", None))
            new.meta = copy.copy(old.meta)
            copies[old] = new
        for old, new in copies.items():
            memo[id(old)] = new
        return g

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """Inserts a copy of a node, of another graph as a rule. arg_transform(n) returns the node here for a node of its arguments."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    # ----------------------------------------------------------------------------------------------------------- creation

    def create_node(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Inserts a node at the insert point: at the end, or where `inserting_before` and `inserting_after` say. The name is made
        distinct."""
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError("args must be a tuple")
        if not isinstance(kwargs, dict):
            raise AssertionError("kwargs must be a dict")
        candidate = name if name is not None else self._target_to_str(target)
        chosen = self._graph_namespace.create_name(candidate, None)
        node = Node(self, chosen, op, target, args, kwargs, type_expr)
        for hook in getattr(self.owning_module, "_create_node_hooks", None) or ():
            hook(node)
        self._graph_namespace.associate_name_with_obj(chosen, node)
        self._insert(node)
        self._len += 1
        return node

    def _target_to_str(self, target: Any) -> str:
        """Returns the name of a node for its target."""
        if callable(target):
            text = getattr(target, "__name__", type(target).__name__)
            known = torch_name(target)
            if known is not None and "." not in text:  # names of overloads, such as add.Tensor, have one
                text = known.rpartition(".")[2]
        else:
            text = target
        if text[:2] == text[-2:] == "__" and len(text) > 4:
            text = text[2:-2]
        return _snake_case(text)

    def process_inputs(self, *args: Any) -> Any:
        """Returns the values of the placeholders for the arguments of a call."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """Returns the result of a call for the value of the output."""
        return self._codegen.process_outputs(out)

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = MISSING) -> Node:
        """Inserts an input, with a default where one is given."""
        return self.create_node("placeholder", name, () if default_value is MISSING else (default_value,), type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Inserts the attribute of the module with a dotted name. Warns if the owning module has no parameter, buffer or module of that
        name."""
        module = self.owning_module
        if module is not None and not _refers_to_tensor_or_module(module, qualified_name):
            warnings.warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                "GraphModule.add_submodule to "
                "add the necessary submodule, GraphModule.add_parameter to add the necessary Parameter, or nn.Module.register_buffer to "
                "add the "
                "necessary buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None, type_expr: Any = None
    ) -> Node:
        """Inserts a call of a submodule. Raises AttributeError if the owning module does not have it."""
        if self.owning_module is not None:
            self.owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self, method_name: str, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None, type_expr: Any = None
    ) -> Node:
        """Inserts a call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """Inserts a call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """Inserts the output: a node, or tuples, lists and dictionaries with nodes."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    # ------------------------------------------------------------------------------------------------------------ changes

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """Sets the insertion point before `n`, by default before the first node; as a context manager, until its end."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """Sets the insertion point after `n`, by default after the last node; as a context manager, until its end."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        at = [n]

        def insert(node: Node) -> None:
            at[0].append(node)
            at[0] = node

        return _InsertPoint(self, insert)

    def erase_node(self, to_erase: Node) -> None:
        """Removes a node that has no users. Raises RuntimeError if it has some."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", None) or ():
            hook(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._set_arguments((), {})

    def _clear_nodes(self) -> None:
        for node in reversed(self.nodes):
            node.users.clear()
            self.erase_node(node)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Removes nodes that nothing uses and that have no side effects (`Node.is_impure`, or is_impure_node(node)). Returns whether it
        removed some. In-place methods are removed as well."""
        self.lint()
        removed = False
        for node in reversed(self.nodes):
            kept = node.is_impure() if is_impure_node is None or node.op in ("placeholder", "output") else is_impure_node(node)
            if not kept and not node.users:
                self.erase_node(node)
                removed = True
        return removed

    def lint(self) -> None:
        """Checks the graph: nodes are used after their definition and only in this graph, names are distinct, and the owning module has the
        modules and attributes. Raises RuntimeError, or ValueError for a module or attribute.
        """
        seen_names: set[str] = set()
        seen: set[Node] = set()

        def check(arg: Node, node: Node) -> Node:
            if arg.graph is not self:
                raise RuntimeError(
                    f"Argument '{arg}' of Node '{node}' does not belong to this Graph, but was used as an argument! If you are copying "
                    "nodes from "
                    f"another graph, make sure to use ``arg_transform`` on node_copy() to remap values\n{self}"
                )
            if arg not in seen:
                raise RuntimeError(
                    f"Argument '{arg}' of Node '{node}' was used before it has been defined! Please check that Nodes in the graph are "
                    "topologically "
                    f"ordered\n{self}"
                )
            return arg

        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            map_arg(node.args, lambda arg, node=node: check(arg, node))  # type: ignore[misc]
            map_arg(node.kwargs, lambda arg, node=node: check(arg, node))  # type: ignore[misc]
            seen.add(node)
            if node.name in seen_names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen_names.add(node.name)
        if self.owning_module is not None:
            for node in self.nodes:
                if node.op in ("get_attr", "call_module"):
                    _check_target(self.owning_module, node)

    # --------------------------------------------------------------------------------------------------------------- code

    def python_code(self, root_module: str, **options: Any) -> PythonCode:
        """Returns the source of the function, and its globals. `root_module` is the name of the module in it. `verbose` adds comments with
        the lines that were traced."""
        namespace = _Namespace()

        def rename(node: Node) -> str:
            return namespace.create_name(node.name, node)

        before = {node: node._repr_fn for node in self.nodes}
        try:
            for node in before:
                node._repr_fn = rename
            return self._codegen._gen_python_code(self.nodes, root_module, namespace, **options)
        finally:
            for node, function in before.items():
                node._repr_fn = function

    def set_codegen(self, codegen: CodeGen) -> None:
        """Sets the code generator."""
        self._codegen = codegen

    @contextmanager
    def _transforming(self, make_transformer: Callable[[Any], Any], before: Any) -> Iterator[None]:
        try:
            yield
        finally:
            self._codegen._body_transformer = before

    def on_generate_code(self, make_transformer: Callable[[Any], Callable[[list[str]], list[str]]]) -> Any:
        """Registers a function on the lines of the code: make_transformer(current) returns it for the current one, or None. Returns a
        context manager that unregisters it."""
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)
        return self._transforming(make_transformer, before)

    def __str__(self) -> str:
        return "\n    ".join(("graph():", *(node.format_node() or "" for node in self.nodes)))

    def print_tabular(self) -> None:
        """Prints a table of the nodes. Requires the package tabulate."""
        try:
            from tabulate import tabulate  # type: ignore[import-untyped]
        except ImportError:
            print(
                "`print_tabular` relies on the library `tabulate`, which could not be found on this machine. Run `pip install tabulate` to "
                "install it"
            )
            raise
        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))


def _refers_to_tensor_or_module(module: Any, path: str) -> bool:
    """Returns whether a module has a submodule, parameter or buffer with a dotted name."""
    from ..nn import Module, Parameter

    at, _, name = path.rpartition(".")
    try:
        owner = module.get_submodule(at)
    except AttributeError:
        return False
    found = getattr(owner, name, None)
    return isinstance(found, (Module, Parameter)) or name in owner._buffers


def _check_target(module: Any, node: Node) -> None:
    """Raises RuntimeError if a module does not have the target of a node."""
    from .. import Tensor
    from ..nn import Module

    value, passed = module, []
    for name in node.target.split("."):
        passed.append(name)
        if not hasattr(value, name):
            raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {name} of {'.'.join(passed[:-1])}")
        value = getattr(value, name)
    if node.op == "call_module" and not isinstance(value, Module):
        raise RuntimeError(f"Node {node} target {node.target} {'.'.join(passed)} of {type(value)} does not reference an nn.Module")
    if node.op == "get_attr" and not isinstance(value, (Module, Tensor)) and name not in getattr(module, "_buffers", ()):
        warnings.warn(
            f"Node {node} target {node.target} {name} of {'.'.join(passed[:-1])} does not reference an nn.Module, nn.Parameter, or buffer, "
            "which is "
            "what 'get_attr' Nodes typically target",
            stacklevel=4,
        )
