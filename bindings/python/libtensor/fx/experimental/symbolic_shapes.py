"""Questions about symbolic sizes: in libtensor every size is a number."""

from typing import Any

from ..._inert import declare_unsupported

__all__ = [
    "free_symbols",
    "free_unbacked_symbols",
    "guard_or_false",
    "guard_or_true",
    "guard_size_oblivious",
    "has_free_symbols",
    "hint_int",
]
__all__ += ["is_concrete_bool", "is_concrete_int", "is_symbolic", "statically_known_true", "sym_and", "sym_or"]


def guard_or_false(a: Any) -> bool:
    """Returns bool(a)."""
    return bool(a)


guard_or_true = guard_size_oblivious = statically_known_true = guard_or_false


def free_symbols(val: Any) -> set[Any]:
    """Returns the symbols of a value: none."""
    return set()


free_unbacked_symbols = free_symbols


def is_symbolic(val: Any) -> bool:
    """Returns False."""
    return False


has_free_symbols = has_free_unbacked_symbols = is_symbolic


def is_concrete_int(a: Any) -> bool:
    """Returns True."""
    return True


is_concrete_bool = is_concrete_int


def hint_int(a: Any, fallback: int | None = None) -> int:
    """Returns the number."""
    return int(a)


def sym_and(*values: Any) -> bool:
    """Returns whether all values are true."""
    return all(values)


def sym_or(*values: Any) -> bool:
    """Returns whether a value is true."""
    return any(values)


class GuardOnDataDependentSymNode(RuntimeError):
    """The class of errors about sizes that depend on elements, which libtensor never raises."""


declare_unsupported(globals(), "every size is a number", "ShapeEnv DimDynamic StatelessSymbolicContext")
