"""Whether attention layers may take a faster path in inference, which is kept: they have one kernel."""

_enabled = True


def get_fastpath_enabled():
    """What set_fastpath_enabled has set; True at first."""
    return _enabled


def set_fastpath_enabled(value):
    """Keeps the setting."""
    global _enabled
    _enabled = value
