"""Graphs of operators: make_fx calls a function with tensors and records the operators of ATen that its calls consist of.

`OperatorTracer` is the dispatch mode that records: programs that need a graph of operators, such as exporters, enter it themselves.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ... import Tensor, empty, is_autocast_enabled
from ..._base import overrides
from ..._inert import declare_unsupported
from ...nn import Module, Parameter
from ...utils import _pytree as pytree
from ...utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from .._codegen import _PyTreeCodeGen, _PyTreeInfo
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node
from ..passes.shape_prop import _extract_tensor_metadata

__all__ = ["OperatorTracer", "ProxyTorchDispatchMode", "disable_proxy_modes_tracing", "get_proxy_mode", "is_fx_tracing", "make_fx"]
__all__ += ["maybe_disable_fake_tensor_mode"]

# Calls whose results are elements of their arguments, or depend on them.
VALUES = frozenset(("item", "tolist", "__bool__", "__int__", "__float__", "__index__", "equal", "allclose", "is_nonzero"))
COPIES = {"__deepcopy__": "copy.deepcopy", "__reduce_ex__": "pickle"}
MOST_NESTED = 30  # calls of an operator within its own decomposition
GRADIENTS = ("backward", "autograd_backward", "autograd_grad")


class OperatorTracer(TorchDispatchMode):
    """A dispatch mode that executes operators and records them as nodes of `graph`.

    A tensor is the node that `track` has associated with it. Others, which exist before the trace, become attributes of the module `root`:
    `_param_constant0` for parameters, `_tensor_constant0` otherwise. `decompositions` maps operators to functions whose operators are
    recorded in their place. `tensor_meta` of a node's `meta` has the shape and dtype of its result, `val` a tensor on the device meta."""

    receives_all = True  # to raise for those that return what no node has made

    def __init__(self, graph: Graph, root: Module, decompositions: dict[Any, Callable[..., Any]] | None = None) -> None:
        self.graph, self.root, self.decompositions = graph, root, decompositions or {}
        self.active: list[Any] = []  # the operators whose decompositions are being called, the innermost one last
        self._nodes: dict[int, tuple[Tensor, Node]] = {}
        self._constants: dict[int, tuple[Tensor, str]] = {}

    def track(self, value: Any, node: Node) -> None:
        """Associates a result with a node: tensors in tuples and lists, also nested ones, with nodes that select them."""
        if isinstance(value, Tensor):
            self._nodes[id(value)] = value, node
            node.meta.setdefault("tensor_meta", _extract_tensor_metadata(value))
            node.meta.setdefault("val", _to_meta(value))
        elif isinstance(value, list | tuple):
            node.meta.setdefault("val", pytree.tree_map(lambda t: _to_meta(t) if isinstance(t, Tensor) else t, tuple(value)))
            for i, item in enumerate(value):
                if isinstance(item, Tensor | list | tuple):
                    self.track(item, self.graph.call_function(operator.getitem, (node, i)))

    def find(self, value: Any) -> Any:
        """Returns the node of a tensor, in the graph's form of arguments; other values as they are."""
        if isinstance(value, Tensor):
            found = self._nodes.get(id(value))
            return self._get_constant(value) if found is None else found[1]
        if isinstance(value, tuple | list):
            return (tuple if isinstance(value, tuple) else list)(map(self.find, value))
        if isinstance(value, dict):
            return {k: self.find(v) for k, v in value.items()}
        return value

    def _get_constant(self, value: Tensor) -> Node:
        """Returns a node that reads a tensor that no node made."""
        if id(value) not in self._constants:
            kind = "_param_constant" if isinstance(value, Parameter) else "_tensor_constant"
            name = f"{kind}{sum(n.startswith(kind) for _, n in self._constants.values())}"
            if isinstance(value, Parameter):
                self.root.register_parameter(name, value)
            else:
                setattr(self.root, name, value)
            self._constants[id(value)] = value, name
        node = self.graph.get_attr(self._constants[id(value)][1])
        if isinstance(value, Parameter):
            self.track(value, node)
        return node

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in GRADIENTS:
            raise NotImplementedError(
                f"make_fx: {name}() in the traced function is not supported: operators of backward passes are not recorded"
            )
        if name in VALUES:
            for value in args:
                self.check_read(name, value)
        if name in COPIES and id(args[0]) in self._nodes:
            raise NotImplementedError(f"make_fx and export: {COPIES[name]} of a tensor that the traced function has created; use clone()")
        return super().__torch_function__(func, types, args, kwargs)

    def check_read(self, name: str, value: Any) -> None:
        """Raises RuntimeError if a value, whose elements the function `name` returns, is the result of a node."""
        if id(value) in self._nodes:
            raise RuntimeError(
                "It appears that you're trying to get value out of a tracing tensor with aten._local_scalar_dense.default - erroring out! "
                f"The graph does not depend on values of tensors: {name}() in the traced function; use torch.cond or torch.where"
            )

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if is_autocast_enabled("cpu"):
            raise NotImplementedError("make_fx and export: autocast is not recorded; convert tensors with to(torch.bfloat16)")
        result = self.decompose(func, args, kwargs)
        if result is not NotImplemented:
            return result
        executed, recorded = self.choose_keywords(func, args, kwargs)
        result = func(*args, **executed)
        node = self.graph.call_function(func, self.find(tuple(args)), self.find(recorded), name=func.__name__.partition(".")[0])
        self.track(result, node)
        return result

    def decompose(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Returns the results of the decomposition of an operator; NotImplemented if it has none, or if it keeps the operator."""
        decomposition = self.decompositions.get(func)
        if decomposition is None:
            return NotImplemented
        if self.active.count(func) > MOST_NESTED:
            first = len(self.active) - self.active[::-1].index(func) - 1
            cycle = " -> ".join(map(str, [*self.active[first:], func]))
            raise RuntimeError(
                f"the decomposition of {func} calls {func} again, without end ({cycle}); call other operators in it, or return "
                "NotImplemented"
            )
        self.active.append(func)
        try:
            with self:
                return decomposition(*args, **kwargs)
        finally:
            self.active.pop()

    def choose_keywords(self, func: Any, args: Any, kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the keyword arguments that an operator is executed with, and those that its node has."""
        return kwargs, kwargs


ProxyTorchDispatchMode = OperatorTracer


def _to_meta(value: Tensor) -> Tensor:
    """Returns a tensor on the device meta with the same strides and storage offset, which decide whether a view exists."""
    try:
        value = value.detach()
        reach = sum((n - 1) * s for n, s in zip(value.shape, value.stride(), strict=True)) + 1 if value.numel() else 0
        memory = empty(value.storage_offset() + reach, dtype=value.dtype, device="meta")
        return memory.as_strided(value.shape, value.stride(), value.storage_offset())
    except (NotImplementedError, RuntimeError):
        return value.detach()


def get_proxy_mode() -> OperatorTracer | None:
    """Returns the active OperatorTracer of the calling thread; None without one."""
    modes: Any = overrides.state.modes
    return next((mode for mode in reversed(modes) if isinstance(mode, OperatorTracer)), None)


def is_fx_tracing() -> bool:
    """Returns whether make_fx traces a function on this thread."""
    return get_proxy_mode() is not None


disable_proxy_modes_tracing = _disable_current_modes


@contextlib.contextmanager
def maybe_disable_fake_tensor_mode() -> Iterator[None]:
    """A context manager without effect: libtensor has no fake tensors."""
    yield


def _name_inputs(f: Callable[..., Any], args: Sequence[Any]) -> list[str]:
    """Returns a name for each argument: its parameter's, or arg0, arg1, ... for modules and variable arguments."""
    code = getattr(inspect.unwrap(f), "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARARGS:
        return [f"arg{i}" for i in range(len(args))]
    names = list(inspect.signature(f).parameters)
    if len(args) > len(names):
        raise TypeError(f"make_fx: the function has {len(names)} parameters, but the call has {len(args)} arguments")
    return names[: len(args)]


def make_fx(
    f: Callable[..., Any],
    decomposition_table: dict[Any, Callable[..., Any]] | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
) -> Callable[..., GraphModule]:
    """Returns a function that calls `f` with tensors as arguments, and returns a GraphModule of the operators of ATen that the calls
    consist of.

    Arguments may be trees of tensors. Tensors that `f` does not create or receive become attributes of the module. `decomposition_table`
    maps operators to functions whose operators are recorded in their place. The functions of `torch.cond`, `while_loop`, `map` and `scan`
    become modules; other control flow takes the branches of the call. Values of tensors, gradients within `f` and `tracing_mode="symbolic"`
    raise.

    >>> from torch.fx.experimental.proxy_tensor import make_fx
    >>> print(make_fx(lambda x: torch.relu(x) + 1)(torch.ones(2)).code.strip())
    def forward(self, x_1):
        relu = torch.ops.aten.relu.default(x_1);  x_1 = None
        add = torch.ops.aten.add.Tensor(relu, 1);  relu = None
        return add
    """
    if tracing_mode not in ("real", "fake"):
        if tracing_mode == "symbolic":
            raise NotImplementedError("make_fx: tracing_mode='symbolic' is not supported: the sizes of a graph are those of the arguments")
        raise ValueError(f"make_fx: tracing_mode must be 'real' or 'fake', but is {tracing_mode!r}")
    if pre_dispatch:
        raise NotImplementedError(
            "make_fx: pre_dispatch=True is not supported: composite functions are recorded as the operators they consist of"
        )

    @functools.wraps(f)
    def trace(*args: Any) -> GraphModule:
        from ...export.control import ControlTracer, assign_graphs

        graph, root = Graph(), Module()
        tracer = ControlTracer(graph, root)
        tracer.decompositions = decomposition_table or {}
        names = _name_inputs(f, args)
        values, spec = pytree.tree_flatten(list(args))
        leaf_names = [name for name, arg in zip(names, args, strict=True) for _ in pytree.tree_leaves(arg)]
        is_tree = any(not isinstance(arg, Tensor) and pytree.tree_structure(arg).num_children for arg in args)
        for i, (name, value) in enumerate(zip(leaf_names, values, strict=True)):
            node = graph.placeholder(f"{name}_{leaf_names[: i + 1].count(name)}")
            if isinstance(value, Tensor):
                tracer.track(value, node)
        with tracer:
            result = f(*args)
        if is_tree or (pytree.tree_structure(result).num_children and not _is_flat(result)):
            outputs, out_spec = pytree.tree_flatten(result)
            graph.output(tracer.find(outputs))
            graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(names, spec, out_spec)))
        else:
            graph.output(tracer.find(result))
        assign_graphs(graph, root)
        graph.lint()
        return GraphModule(root, graph, getattr(f, "__name__", type(f).__name__))

    return trace


def _is_flat(result: Any) -> bool:
    return isinstance(result, list | tuple) and not any(pytree.tree_structure(v).num_children for v in result)


declare_unsupported(globals(), "tracing of subclasses of Tensor is not supported", "wrapper_and_args_for_make_fx")
