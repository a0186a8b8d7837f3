"""MKL is not used."""

from .mkldnn import verbose as _verbose

VERBOSE_OFF, VERBOSE_ON = 0, 1


class verbose(_verbose):
    """Accepted without effect: MKL is not used."""


def is_available():
    return False
