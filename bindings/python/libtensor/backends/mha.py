"""The setting of the fast path of attention layers in inference, which is stored without effect."""

_enabled = True


def get_fastpath_enabled():
    """Returns the setting of set_fastpath_enabled; True by default."""
    return _enabled


def set_fastpath_enabled(value):
    """Stores the setting."""
    global _enabled
    _enabled = value
