"""Passes over graphs of modules."""

from . import infra, shape_prop, split_module

__all__ = ["infra", "shape_prop", "split_module"]
