"""Printing in a forked child, which does not take every tensor over from its parent.

A pool's worker prints a result that it cannot pickle. An exception there would end the worker, and the pool would wait forever.
"""

from functools import wraps

from .errors import ForkedError


def shows(represent):
    """Decorates __repr__: where a forked child cannot use the object, the text says why."""

    @wraps(represent)
    def show(self, **options):
        try:
            return represent(self, **options)
        except ForkedError as error:
            return f"<{type(self).__name__}: {error}>"

    return show
