"""Counters of compilations, which stay empty."""

from collections import Counter, defaultdict

counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


def is_compile_supported(device_type):
    """Returns False: there is no compiler."""
    return False


def compile_times(repr="str", aggregate=False):
    """Returns the times of compilations: none."""
    return "" if repr == "str" else ([], [])
