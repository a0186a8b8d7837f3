"""Printed forms."""

import math

from ._tensor import Tensor
from .gen_functions import to_string

OPTIONS = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": 2**62, "edgeitems": 3, "linewidth": 80},
}
options = dict(OPTIONS)


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """Sets how tensors are printed; `profile` is default, short or full.

    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1.2345])
    tensor([1.23])
    >>> torch.set_printoptions(profile="default")
    """
    if profile is not None:
        if profile not in PROFILES:
            raise ValueError(f"set_printoptions(): profile '{profile}' is not one of {', '.join(PROFILES)}")
        options.update(PROFILES[profile])
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in given.items():
        if value is not None:
            options[name] = 2**62 if value == math.inf else value
    options["sci_mode"] = sci_mode


def get_printoptions():
    """The options that set_printoptions sets, by name.

    >>> torch.get_printoptions()["precision"]
    4
    """
    return dict(options)


def show(tensor: Tensor):
    """The printed form, a subclass's with the name of its class."""
    name = type(tensor).__name__
    if type(tensor) is Tensor:
        return to_string(tensor, **options)
    longer = len(name) - len("tensor")
    first, *lines = to_string(tensor, **options | {"linewidth": max(options["linewidth"] - longer, 1)}).split("\n")
    indent = " " * longer
    return "\n".join([name + first.removeprefix("tensor"), *(indent + line if longer > 0 else line[-longer:] for line in lines)])
