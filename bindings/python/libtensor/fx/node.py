"""Nodes of graphs: a call, an input, an attribute or the output, with the nodes that it uses and that use it."""

import operator
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ._names import is_from_torch, target_name, type_name
from ._names import qualified_name as _get_qualified_name  # noqa: F401
from .immutable_collections import immutable_dict, immutable_list

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

Argument = Any
BaseArgumentTypes = Any
Target = Any
F = TypeVar("F")
_legal_ops = dict.fromkeys(["placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"])
_type_repr = type_name


def _assert_functions() -> set[Any]:
    from .. import _assert  # type: ignore[attr-defined]

    return {_assert, operator.setitem}


_side_effectful_functions: set[Any] = _assert_functions()


def has_side_effect(fn: F) -> F:
    """Registers a function whose calls `Graph.eliminate_dead_code()` keeps, and returns it."""
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """Returns an argument with fn(x) for each value x in its tuples, lists, dictionaries and slices."""
    if isinstance(a, tuple):
        mapped = [map_aggregate(item, fn) for item in a]
        return type(a)(*mapped) if hasattr(a, "_fields") else tuple(mapped)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict((key, map_aggregate(item, fn)) for key, item in a.items())
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: Any, fn: Callable[["Node"], Any]) -> Any:
    """Returns an argument with fn(node) for each Node in its tuples, lists, dictionaries and slices."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def format_container(arg: Any, show: Callable[[Any], str], show_key: Callable[[Any], str]) -> str | None:
    """Returns a list, tuple or dictionary as Python writes it, with show(item) for each item, and None for other arguments."""
    if isinstance(arg, list):
        return f"[{', '.join(map(show, arg))}]"
    if isinstance(arg, tuple):
        return f"({', '.join(map(show, arg))}{',' * (len(arg) == 1)})"
    if isinstance(arg, dict):
        return f"{{{', '.join(f'{show_key(key)}: {show(value)}' for key, value in arg.items())}}}"
    return None


def _format_arg(arg: Any) -> str:
    """Returns an argument as graphs print it."""
    text = format_container(arg, _format_arg, str)
    if text is not None:
        return text
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


class Node:
    """A node of a Graph.

    `op` is the kind: "placeholder" (an input of the function), "get_attr" (a parameter or attribute of the module), "call_function",
    "call_module", "call_method" or "output". `target` is the function, or the name of the input, attribute, module or method; `args` and
    `kwargs` are the arguments, which contain other nodes. `users` are the nodes that use the result. `meta` is a dictionary for passes.

    Graphs create nodes: `Graph.call_function()` and related methods.
    """

    def __init__(
        self, graph: Any, name: str, op: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], return_type: Any = None
    ) -> None:
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        if not (callable(target) if op == "call_function" else isinstance(target, str)):
            said = f"Node [graph = {graph}, name = '{name}'] target {target} has type {type_name(type(target))}"
            raise ValueError(f"{said} but a {'Callable' if op == 'call_function' else 'str'} is expected")
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = immutable_dict()
        self._prev = self._next = self
        self._erased = False
        self._position = 0
        self._repr_fn: Callable[[Node], str] | None = None
        self._set_arguments(args, kwargs)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_prev", "_next")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prev = self._next = self

    # ------------------------------------------------------------------------------------------------------------ order

    @property
    def next(self) -> "Node":
        """The next node of the graph, in the order of execution."""
        return self._next

    @property
    def prev(self) -> "Node":
        """The node before, in the order of execution."""
        return self._prev

    def prepend(self, x: "Node") -> None:
        """Moves the node `x` of the same graph before this one."""
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x
        self.graph._order_changed = True

    def append(self, x: "Node") -> None:
        """Moves the node `x` of the same graph behind this one."""
        self._next.prepend(x)

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def __lt__(self, other: "Node") -> bool:
        self.graph._update_order()
        return self._position < other._position

    def __gt__(self, other: "Node") -> bool:
        return other < self

    def __le__(self, other: "Node") -> bool:
        return self is other or self < other

    def __ge__(self, other: "Node") -> bool:
        return self is other or other < self

    # -------------------------------------------------------------------------------------------------------- arguments

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments; assignment replaces them."""
        return self._args

    @args.setter
    def args(self, args: tuple[Any, ...]) -> None:
        self._set_arguments(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments by name; assignment replaces them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Any]) -> None:
        self._set_arguments(self._args, kwargs)

    def _set_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        inputs: dict[Node, None] = {}

        def note(x: Any) -> Any:
            if isinstance(x, Node):
                inputs.setdefault(x)
            return x

        new_args, new_kwargs = map_aggregate(tuple(args), note), map_aggregate(dict(kwargs), note)
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._args, self._kwargs, self._input_nodes = new_args, new_kwargs, inputs
        for new in inputs:
            new.users.setdefault(self)

    @property
    def all_input_nodes(self) -> list["Node"]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replaces the positional argument `idx`."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Inserts a positional argument before the argument `idx`."""
        if not 0 <= idx <= len(self._args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Sets the argument with the name `key`."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: "Node", new_input: "Node") -> None:
        """Replaces a node among the arguments by another one."""

        def replace(n: Node) -> Node:
            return new_input if n is old_input else n

        self._notify_replaced(old_input, new_input)
        self._set_arguments(map_arg(self._args, replace), map_arg(self._kwargs, replace))

    def replace_all_uses_with(
        self, replace_with: "Node", delete_user_cb: Callable[["Node"], bool] | None = None, *, propagate_meta: bool = False
    ) -> list["Node"]:
        """Replaces this node by another one in the arguments of all users for which delete_user_cb(user) is true. Returns these users."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        replaced = [user for user in list(self.users) if delete_user_cb is None or delete_user_cb(user)]
        for user in replaced:
            user.replace_input_with(self, replace_with)
        return replaced

    def _notify_replaced(self, old: "Node", new: "Node") -> None:
        module = self.graph.owning_module
        for hook in getattr(module, "_replace_hooks", None) or ():
            hook(old=old, new=new.name, user=self)

    # ----------------------------------------------------------------------------------------------------------- printing

    @property
    def stack_trace(self) -> str | None:
        """The traceback of the call that was traced, where the tracer records it."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    @staticmethod
    def _pretty_print_target(target: Any) -> str:
        return target_name(target)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """Returns the line of the node in the printed graph. With `placeholder_names`, appends an input to that list and returns None."""
        typed = f"{type_name(self.type)} " if self.type else ""
        uses = f"%{self.name} : {typed}[num_users={len(self.users)}] = {self.op}[target={target_name(self.target)}]"
        if self.op == "placeholder":
            if placeholder_names:
                placeholder_names.append(f"{self.target}{f': {typed}'.rstrip() if typed else ''}")
                return None
            return uses + (f"(default={self._args[0]})" if self._args else "")
        if self.op == "get_attr":
            return uses
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {type_name(self.type)}"
            return f"return {self._args[0]}"
        return f"{uses}(args = {_format_arg(self._args)}, kwargs = {_format_arg(self._kwargs)})"

    # --------------------------------------------------------------------------------------------------------- properties

    def is_impure(self, impure_random: bool = True) -> bool:
        """Returns whether dead code elimination keeps the node though nothing uses its result: inputs, the output, calls with side effects,
        and with `impure_random` calls that draw random numbers."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            if self.target in _side_effectful_functions:
                return True
            if impure_random and getattr(self.target, "__name__", "") in RANDOM and is_from_torch(self.target):
                return True
            schema = getattr(self.target, "_schema", None)
            return bool(getattr(schema, "is_mutable", False))
        if self.op == "call_module":
            module = self.graph.owning_module
            if module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            target = module.get_submodule(self.target)
            return bool(getattr(target, "_is_impure", False))
        return False

    def normalized_arguments(
        self,
        root: Any,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """Returns the arguments of a call as ArgsKwargsPair(args, kwargs), with defaults, by name with `normalize_to_only_use_kwargs`.
        Returns None if the signature is not known. `root` is the module of the graph."""
        from .operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            return normalize_function(self.target, self._args, self._kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs)
        if self.op == "call_module":
            return normalize_module(root, self.target, self._args, self._kwargs, normalize_to_only_use_kwargs)
        return None

    def _rename(self, candidate: str) -> None:
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)


RANDOM = {
    "rand",
    "randn",
    "randint",
    "randperm",
    "rand_like",
    "randn_like",
    "randint_like",
    "normal",
    "poisson",
    "bernoulli",
    "multinomial",
}


def nodes_from(root: Node, backwards: bool) -> Iterator[Node]:
    """Yields the nodes of a graph in their order, or backwards. A node may be erased, and others inserted, while it is visited."""
    step = operator.attrgetter("_prev" if backwards else "_next")
    node = step(root)
    while node is not root:
        if not node._erased:
            yield node
        node = step(node)
