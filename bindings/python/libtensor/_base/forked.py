"""Printing of tensors in a forked child, which cannot use all tensors of its parent.

A worker of a pool prints a result that it cannot pickle. If printing raised, the worker would exit, and the pool would wait forever.
"""

from functools import wraps

from .errors import ForkedError


def shows(represent):
    """Decorates __repr__: if a forked child cannot use the object, the string contains the reason."""

    @wraps(represent)
    def show(self, **options):
        try:
            return represent(self, **options)
        except ForkedError as error:
            return f"<{type(self).__name__}: {error}>"

    return show
