"""The order of products in einsum, which the library chooses: opt_einsum is not used, and its settings are stored."""

from ._flags import settable

enabled, strategy = True, "auto"
set_flags, flags = settable(__name__, {"enabled": None, "strategy": None})


def is_available():
    return False


def get_opt_einsum():
    """Returns None: opt_einsum is not used."""
    return None
