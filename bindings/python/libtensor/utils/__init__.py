"""Helpers under the names of torch.utils. Modules that take time to import are loaded when they are first asked for."""

import importlib as _importlib
import sys as _sys

from . import checkpoint, deterministic, dlpack, hooks

_LATER = frozenset(("_pytree", "data", "model_zoo"))

__all__ = ["checkpoint", "deterministic", "dlpack", "hooks", *sorted(_LATER)]


def __getattr__(name):
    if name in _LATER:
        return _importlib.import_module("." + name, __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
