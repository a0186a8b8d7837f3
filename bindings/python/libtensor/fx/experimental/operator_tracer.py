"""OperatorTracer, the mode that records operators as nodes of a graph."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ... import Tensor, empty, is_autocast_enabled
from ...nn import Module, Parameter
from ...utils import _pytree as pytree
from ...utils._python_dispatch import TorchDispatchMode
from ..graph import Graph
from ..node import Node
from ..passes.shape_prop import _extract_tensor_metadata

__all__ = ["OperatorTracer"]

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


def _to_meta(value: Tensor) -> Tensor:
    """Returns a tensor on the device meta with the same strides and storage offset, which decide whether a view exists."""
    try:
        value = value.detach()
        reach = sum((n - 1) * s for n, s in zip(value.shape, value.stride(), strict=True)) + 1 if value.numel() else 0
        memory = empty(value.storage_offset() + reach, dtype=value.dtype, device="meta")
        return memory.as_strided(value.shape, value.stride(), value.storage_offset())
    except (NotImplementedError, RuntimeError):
        return value.detach()
