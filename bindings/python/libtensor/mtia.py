"""MTIA devices: there are none."""

__all__ = ["device_count", "is_available", "is_initialized"]


def is_available() -> bool:
    """Returns False."""
    return False


def is_initialized() -> bool:
    """Returns False."""
    return False


def device_count() -> int:
    """Returns 0."""
    return 0
