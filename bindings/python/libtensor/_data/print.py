"""Printed forms."""

from __future__ import annotations

import math
import operator

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any

UNLIMITED = 2**62
OPTIONS: dict[str, Any] = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": UNLIMITED, "edgeitems": 3, "linewidth": 80},
}
options = dict(OPTIONS)


def whole(name, value):
    """Returns the option as a nonnegative int."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"set_printoptions(): argument '{name}' must be int, not {type(value).__name__}")
    if operator.index(value) < 0:
        raise ValueError(f"set_printoptions(): {name} {value} must not be negative")
    return min(operator.index(value), UNLIMITED)


def bound(name, value, least):
    """Returns the option, a limit that can be a fraction or infinite, as an int of at least `least`. NaN is no limit."""
    if isinstance(value, (bool, str)) or not hasattr(value, "__index__") and not hasattr(value, "__float__"):
        raise TypeError(f"set_printoptions(): argument '{name}' must be a number, not {type(value).__name__}")
    limit = operator.index(value) if hasattr(value, "__index__") else float(value)
    return max(math.floor(limit), least) if limit < UNLIMITED else UNLIMITED


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """Sets how tensors are printed. Omitted options do not change, except `sci_mode`.

    `precision` is the number of digits after the decimal point (4). Tensors of more than `threshold` elements (1000) are abbreviated to
    `edgeitems` elements (3) at the ends of each dimension. Lines have at most `linewidth` characters (80). `sci_mode` enables or disables
    scientific notation; None (the default) chooses it by the values. `profile` sets these options together: "default", "short" or "full"
    (without abbreviation).

    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1.2345])
    tensor([1.23])
    >>> torch.set_printoptions(profile="default")
    """
    if profile is not None and profile not in list(PROFILES):
        raise ValueError(f"set_printoptions(): profile '{profile}' is not one of {', '.join(PROFILES)}")
    if sci_mode is not None and not isinstance(sci_mode, (bool, int)):
        raise TypeError(f"set_printoptions(): argument 'sci_mode' must be bool, not {type(sci_mode).__name__}")
    changed = dict(PROFILES[profile] if profile is not None else {})
    if precision is not None:
        changed["precision"] = whole("precision", precision)
    if threshold is not None:
        changed["threshold"] = bound("threshold", threshold, 0)
    if edgeitems is not None:
        changed["edgeitems"] = whole("edgeitems", edgeitems)
    if linewidth is not None:
        changed["linewidth"] = bound("linewidth", linewidth, 1)
    options.update(changed, sci_mode=None if sci_mode is None else bool(sci_mode))


def get_printoptions():
    """Returns the options of set_printoptions by name.

    >>> torch.get_printoptions()["precision"]
    4
    """
    return dict(options)


def narrowed(name):
    """Returns the options for a printed form with another prefix than "tensor"."""
    return options | {"linewidth": max(options["linewidth"] + len("tensor") - len(name), 1)}


def renamed(text, name):
    """Returns the printed form of a tensor with another prefix."""
    longer = len(name) - len("tensor")
    first, *lines = text.split("\n")
    indent = " " * longer
    return "\n".join([name + first.removeprefix("tensor"), *(indent + line if longer > 0 else line[-longer:] for line in lines)])


def with_contents(text, name, contents):
    """Returns the printed form of a tensor with another prefix and contents."""
    end = text.rindex("]") + 1 if "]" in text else min(at for at in (text.find(","), len(text) - 1) if at > 0)
    return f"{'tensor' if name == 'Tensor' else name}({contents}{text[end:]}"
