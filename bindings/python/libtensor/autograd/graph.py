"""Graphs: their nodes, where gradients go, and hooks on what operations save."""

from .. import gen_functions as _f
from .._hooks import disable_saved_tensors_hooks, register_multi_grad_hook, save_on_cpu, saved_tensors_hooks
from .._nodes import GradientEdge, Node, edge_of
from .._tensor import Tensor

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


def get_gradient_edge(tensor):
    """Where the gradient of a tensor goes: to the node that made it, or that adds it up.

    >>> torch.autograd.graph.get_gradient_edge(torch.ones(2, requires_grad=True).exp()).node.name()
    'ExpBackward0'
    """
    return GradientEdge(*edge_of(tensor))


def increment_version(tensor):
    """Counts a write to a tensor, or to several, that no operation made, so that a gradient that needs it as it was is refused."""
    for one in [tensor] if isinstance(tensor, Tensor) else tensor:
        _f.increment_version(one)
