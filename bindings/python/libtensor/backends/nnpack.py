"""NNPACK is not used; its setting is stored."""

from ._flags import settable

enabled = True
set_flags, flags = settable(__name__, {"enabled": False})


def is_available():
    return False
