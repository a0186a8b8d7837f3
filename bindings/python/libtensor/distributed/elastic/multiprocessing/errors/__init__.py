"""Errors of processes that a launcher started."""


class ChildFailedError(Exception):
    """The class of errors of processes, which libtensor never raises: it starts none."""


def record(fn, error_handler=None):
    """Returns the function: its errors are raised as they are."""
    return fn
