"""Proxies: the values of functions that are traced, which add nodes to a graph."""

import collections
import copy
import dis
import enum
import inspect
import operator
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from .. import Tensor, device, dtype, layout, memory_format
from ..utils import _pytree as pytree
from ._calls import normalize_call, public_function
from ._codegen import magic_methods, reflectable_magic_methods
from .graph import Graph
from .node import Node, map_aggregate

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope", "ScopeContextManager", "TraceError", "TracerBase"]

base_types = (str, int, float, bool, complex, dtype, Tensor, device, memory_format, layout)

NOT_ITERATED = (
    "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs function argument. "
    "See the "
    "torch.fx docs on pytorch.org for a more detailed explanation of what types of control flow can be traced, and check out the Proxy "
    "docstring for "
    "help troubleshooting Proxy iteration errors"
)


class TraceError(ValueError):
    """The error of control flow that depends on the values of a traced function."""


class Scope:
    """The module whose forward() is traced: its dotted name and its class."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path = module_path
        self.module_type = module_type


class ScopeContextManager:
    """Changes a Scope until the end of the with statement."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._scope, self._before = scope, copy.copy(scope)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *raised: Any) -> None:
        self._scope.module_path, self._scope.module_type = self._before.module_path, self._before.module_type


class TracerBase:
    """What tracers have in common: they make nodes of calls, and arguments of nodes of values."""

    graph: Graph
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    scope: Scope
    module_stack: "collections.OrderedDict[str, tuple[str, Any]]"
    node_name_to_scope: dict[str, tuple[str, type]]

    def create_node(
        self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None, type_expr: Any = None
    ) -> Node:
        """Inserts a node, with the arguments of the target."""
        if kind == "call_function" and self.check_mutable_operations:
            from .operator_schemas import check_for_mutable_operation

            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        from . import traceback as fx_traceback

        if fx_traceback.has_preserved_node_meta():
            node.meta.update(fx_traceback.get_current_meta())
        if self.module_stack:
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        return node

    def proxy(self, node: Node) -> "Proxy":
        """Returns the proxy of a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], "Proxy"] | None = None,
    ) -> "Proxy":
        """Inserts a node, whose arguments may contain proxies, and returns its proxy."""
        node_args, node_kwargs = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(node_args, tuple):
            raise AssertionError(f"Expected args to be tuple, got {type(node_args)}")
        if not isinstance(node_kwargs, dict):
            raise AssertionError(f"Expected kwargs to be dict, got {type(node_kwargs)}")
        node = self.create_node(kind, target, node_args, node_kwargs, name, type_expr)
        made = proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)
        if self.record_stack_traces and not node.stack_trace:
            frame = self._find_user_frame()
            if frame is not None:
                node.stack_trace = "".join(traceback.StackSummary.extract(traceback.walk_stack(frame)).format()[::-1]).strip()
        return made

    def _find_user_frame(self) -> Any:
        """Returns the frame of the program that calls the tracer: the first one outside of the package."""
        here = __name__.partition(".")[0]
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (here, "torch"):
            frame = frame.f_back
        return frame

    def create_arg(self, a: Any) -> Any:
        """Returns the argument of a node for a value, with nodes instead of proxies. Raises NotImplementedError for values that graphs do
        not support.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(item) for item in a]
            return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return {self._key(key): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if is_dataclass(a) and not isinstance(a, type):
            return self.create_node(
                "call_function", type(a), (), {field.name: self.create_arg(getattr(a, field.name)) for field in fields(a)}
            )
        if isinstance(a, (*base_types, enum.Enum, Node)) or a is None or a is ...:
            return a
        if type(a).__name__ in ("OpOverload", "AtenOverload"):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key(self, key: Any) -> Any:
        made = self.create_arg(key)

        def check_no_node(x: Any) -> Any:
            if isinstance(x, Node):
                raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {made}")
            return x

        map_aggregate(made, check_no_node)
        return made

    def to_bool(self, obj: "Proxy") -> bool:
        """Called for the truth value of a proxy, in an if statement for example: raises TraceError."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: "Proxy") -> Iterator[Any]:
        """Called for the iteration of a proxy: raises TraceError."""
        raise TraceError(NOT_ITERATED)

    def keys(self, obj: "Proxy") -> Any:
        """Called for the keys of a proxy, for example by `f(**proxy)`."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Appends nodes to a graph, without a module."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.node_name_to_scope = {}


def assert_fn(x: Any) -> None:
    """Raises AssertionError for a false value: the call of a traced assertion."""
    if not x:
        raise AssertionError("Assertion failed in fx traced function")


def _instruction(frame: Any) -> Any:
    """Returns the instruction that a frame executes."""
    return next((found for found in dis.get_instructions(frame.f_code) if found.offset == frame.f_lasti), None)


class Proxy:
    """The value of a node while a function is traced: operators, methods, attributes, and functions of the package that take it as an
    argument, add nodes to the graph and return proxies. Its truth value and iteration raise TraceError, as the graph has no control flow.

    `Proxy(node)` appends to the graph of a node outside of a trace.
    """

    node: Node

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> "Attribute":
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__ = d

    def __deepcopy__(self, memo: dict[int, Any]) -> "Proxy":
        made = object.__new__(type(self))
        memo[id(self)] = made
        made.__dict__ = {key: copy.deepcopy(value, memo) for key, value in self.__dict__.items()}
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> "Proxy":
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        calling = inspect.currentframe()
        found = _instruction(calling.f_back) if calling is not None and calling.f_back is not None else None
        if found is not None and found.opname == "UNPACK_SEQUENCE":
            return (self[i] for i in range(found.argval))  # type: ignore[index]
        return self.tracer.iter(self)

    def __abs__(self) -> "Proxy":
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and self._is_asserted():
            self.tracer.create_proxy("call_function", assert_fn, (self,), {})
            return True
        return self.tracer.to_bool(self)

    @staticmethod
    def _is_asserted() -> bool:
        """Returns whether the truth value is the one of an assert statement: the next instructions raise AssertionError if it is false."""
        frame = sys._getframe(2)
        instructions = list(dis.get_instructions(frame.f_code))
        at = next(i for i, found in enumerate(instructions) if found.offset >= frame.f_lasti)
        following = [found.opname for found in instructions[at : at + 3]]
        return any(name.startswith("POP_JUMP") for name in following[:2]) and "LOAD_ASSERTION_ERROR" in following + [
            found.opname for found in instructions[at + 3 : at + 4]
        ]

    def keys(self) -> Any:
        """The keys, for `f(**proxy)`."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call torch.fx.wrap('len') "
            "at "
            "module scope"
        )

    @classmethod
    def __torch_function__(
        cls, orig_method: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        args, kwargs = args or (), kwargs or {}
        leaves = pytree.tree_leaves((args, kwargs))
        parts = [part for value in leaves if isinstance(value, slice) for part in (value.start, value.stop, value.step)]
        proxies = [value for value in (*leaves, *parts) if isinstance(value, Proxy)]
        tracers = {id(p.tracer): p.tracer for p in proxies}
        if len(tracers) != 1:
            raise RuntimeError(f"Found multiple different tracers {list(tracers.values())} while trying to trace operations {orig_method}")
        tracer = next(iter(tracers.values()))
        name = getattr(orig_method, "__name__", "")
        if _is_method(orig_method, args):
            return tracer.create_proxy("call_method", name, args, kwargs)
        function, args, kwargs = normalize_call(public_function(orig_method), args, kwargs)
        return tracer.create_proxy("call_function", function, args, kwargs)


def _is_method(function: Any, args: tuple[Any, ...]) -> bool:
    """Returns whether a call is a call of a tensor method. For functions that are also methods, the source code decides."""
    if str(getattr(function, "__qualname__", "")).startswith("Tensor."):
        return True
    name = getattr(function, "__name__", "")
    if not args or not isinstance(args[0], Tensor) or getattr(Tensor, name, None) is not function:
        return False
    here = __name__.partition(".")[0]
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (here, "torch"):
        frame = frame.f_back
    return frame is not None and _is_written_as_method(frame, name)


def _is_written_as_method(frame: Any, name: str) -> bool:
    """Returns whether the instruction of a frame is an operator, or a call of an attribute `name` of a tensor."""
    instructions = list(dis.get_instructions(frame.f_code))
    at = next(i for i, found in enumerate(instructions) if found.offset >= frame.f_lasti)
    if not instructions[at].opname.startswith(("CALL", "PRECALL")):
        return True
    loads = [i for i in range(at) if instructions[i].opname in ("LOAD_METHOD", "LOAD_ATTR") and instructions[i].argval == name]
    if not loads:
        return False
    root = loads[-1] - 1
    while root > 0 and instructions[root].opname == "LOAD_ATTR":
        root -= 1
    values: dict[str, Any] = frame.f_globals if instructions[root].opname in ("LOAD_GLOBAL", "LOAD_NAME") else frame.f_locals
    if not instructions[root].opname.startswith("LOAD_") or instructions[root].argval not in values:
        return True  # of another expression, which has no functions as attributes
    receiver = values[instructions[root].argval]
    for found in instructions[root + 1 : loads[-1]]:
        receiver = getattr(receiver, found.argval, None)
    return isinstance(receiver, Tensor)


class Attribute(Proxy):
    """An attribute of a proxy. Its call is one of a method; otherwise its first use adds a call of getattr()."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node of getattr()."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A proxy of a parameter whose sizes are the numbers of the parameter."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        self.param = param
        self.name = name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The sizes of the parameter."""
        return self.param.shape

    def size(self, *args: Any) -> Any:
        """Returns the sizes of the parameter, or one of them."""
        return self.param.size(*args)

    def dim(self) -> int:
        """Returns the number of dimensions of the parameter."""
        return int(self.param.dim())

    @property
    def ndim(self) -> int:
        """The number of dimensions of the parameter."""
        return int(self.param.ndim)

    def numel(self) -> int:
        """Returns the number of elements of the parameter."""
        return int(self.param.numel())

    def nelement(self) -> int:
        """Returns the number of elements of the parameter."""
        return int(self.param.nelement())


def _add_operators() -> None:
    """Defines the operators of Proxy."""

    def plain(function: Any) -> Callable[..., Any]:
        def call(self: Proxy, *args: Any) -> Any:
            return self.tracer.create_proxy("call_function", function, (self, *args), {})

        return call

    def reflected(function: Any) -> Callable[..., Any]:
        def call(self: Proxy, rhs: Any) -> Any:
            return self.tracer.create_proxy("call_function", function, (rhs, self), {})

        return call

    for name in magic_methods:
        if hasattr(operator, name):
            setattr(Proxy, f"__{name.strip('_')}__", plain(getattr(operator, name)))
    for name in reflectable_magic_methods:
        if hasattr(operator, name) and name != "getitem":
            setattr(Proxy, f"__r{name.strip('_')}__", reflected(getattr(operator, name)))
    Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]


_add_operators()
