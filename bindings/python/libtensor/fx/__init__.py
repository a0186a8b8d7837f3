"""Names of graphs of modules, which are not supported: functions and modules run as they are."""

from .._inert import refuse
from ..nn import Module

__all__ = ["has_side_effect", "wrap"]

WHY = "graphs of modules are not supported; call the module"


def wrap(fn_or_name):
    """Returns the function or its name: calls of it run as they are."""
    return fn_or_name


def has_side_effect(fn):
    """Returns the function."""
    return fn


class GraphModule(Module):
    """For annotations, isinstance() and subclasses; making one raises NotImplementedError."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"torch.fx.GraphModule: {WHY}")


__all__ += ["GraphModule"]
__all__ += refuse(globals(), WHY, "Graph CodeGen Interpreter Node Proxy Tracer Transformer symbolic_trace replace_pattern")


def __getattr__(name):
    if name in ("_compatibility", "graph", "graph_module", "node", "proxy"):
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
