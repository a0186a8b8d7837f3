"""Printed forms."""

import math

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


def narrowed(name):
    """The options for a text that begins with another name than tensor."""
    return options | {"linewidth": max(options["linewidth"] + len("tensor") - len(name), 1)}


def renamed(text, name):
    """The printed form of a tensor with another name in front."""
    longer = len(name) - len("tensor")
    first, *lines = text.split("\n")
    indent = " " * longer
    return "\n".join([name + first.removeprefix("tensor"), *(indent + line if longer > 0 else line[-longer:] for line in lines)])
