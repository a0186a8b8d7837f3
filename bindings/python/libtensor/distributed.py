"""Whether programs that share work over machines can run: they cannot."""

__all__ = ["is_available", "is_initialized"]


def is_available():
    return False


def is_initialized():
    return False
