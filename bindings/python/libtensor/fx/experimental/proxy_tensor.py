"""Graphs of operators: make_fx calls a function with tensors and records the operators of ATen that its calls consist of.

`OperatorTracer` is the dispatch mode that records: programs that need a graph of operators, such as exporters, enter it themselves.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ... import Tensor
from ..._base import overrides
from ..._inert import declare_unsupported
from ...nn import Module
from ...utils import _pytree as pytree
from ...utils._python_dispatch import _disable_current_modes
from .._codegen import _PyTreeCodeGen, _PyTreeInfo
from ..graph import Graph
from ..graph_module import GraphModule
from .operator_tracer import OperatorTracer

__all__ = ["OperatorTracer", "ProxyTorchDispatchMode", "disable_proxy_modes_tracing", "get_proxy_mode", "is_fx_tracing", "make_fx"]
__all__ += ["maybe_disable_fake_tensor_mode"]

ProxyTorchDispatchMode = OperatorTracer


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
