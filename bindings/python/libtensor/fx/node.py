"""The module of PyTorch that has Node."""

from . import Node

__all__ = ["Node"]
Argument = BaseArgumentTypes = Target = object


def map_arg(a, fn):
    """Returns the argument with fn(node) in the place of each Node; there are none."""
    return a


map_aggregate = map_arg
