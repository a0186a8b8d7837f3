"""Whether packages are installed."""

from __future__ import annotations

from importlib.util import find_spec
from types import ModuleType


def _check_module_exists(name: str) -> bool:
    """Returns whether a module can be imported, without importing it."""
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def dill_available() -> bool:
    """Returns whether the package dill is installed."""
    return _check_module_exists("dill")


def import_dill() -> ModuleType | None:
    """Returns the package dill, None if it is not installed."""
    if not dill_available():
        return None
    import dill  # type: ignore[import-not-found, import-untyped, unused-ignore]

    return dill  # type: ignore[no-any-return, unused-ignore]
