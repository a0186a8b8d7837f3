"""Functions of the package under the name that PyTorch's own modules call them by."""

import sys

_package = sys.modules[__name__.partition(".")[0]]


def __getattr__(name):
    return getattr(_package, name)
