"""MTIA devices: there are none."""

__all__ = ["device_count", "is_available", "is_initialized"]


def is_available():
    """Returns False."""
    return False


def is_initialized():
    """Returns False."""
    return False


def device_count():
    """Returns 0."""
    return 0
