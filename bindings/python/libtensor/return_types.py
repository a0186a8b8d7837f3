"""The named tuples of functions with several results, such as torch.return_types.topk."""

from ._core.results import types


def __getattr__(name):
    if name in types:
        return types[name]
    raise AttributeError(f"module 'libtensor.return_types' has no attribute '{name}'")


def __dir__():
    return sorted(types)
