"""Declarations about stability."""

from .._inert import identity


def compatibility(is_backward_compatible=False):
    """Returns a decorator that returns the function or class."""
    return identity
