"""The version of PyTorch that libtensor implements, which compares in version order."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["TorchVersion"]

PATTERN = re.compile(
    r"v?(?P<release>\d+(?:\.\d+)*)[-_.]?(?:(?P<pre>a|alpha|b|beta|c|rc|pre|preview)[-_.]?(?P<number>\d*))?(?P<rest>.*)", re.I | re.S
)
STAGES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
FINAL = 3


def parse(version: str) -> tuple[Any, ...] | None:
    """Returns a key that orders versions as PEP 440 does; None for a string that is not a version."""
    found = PATTERN.fullmatch(version.strip())
    rest = found and re.fullmatch(
        r"(?:[-_.]?post[-_.]?(\d*))?(?:[-_.]?dev[-_.]?(\d*))?(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?", found["rest"], re.I
    )
    if not found or not rest:
        return None
    release = tuple(map(int, found["release"].split(".")))
    while len(release) > 1 and not release[-1]:
        release = release[:-1]
    post, dev, local = rest.groups()
    stage = STAGES[found["pre"].lower()] if found["pre"] else -1 if dev is not None and post is None else FINAL
    labels = re.split(r"[-_.]", local.lower()) if local else []
    return (
        *(
            release,
            stage,
            int(found["number"] or 0),
            -1 if post is None else int(post or 0),
            float("inf") if dev is None else int(dev or 0),
        ),
        tuple((1, int(label), "") if label.isdigit() else (0, 0, label) for label in labels),
    )


class TorchVersion(str):
    """A version string that compares with strings, tuples of numbers and `packaging.version.Version` in version order. A string that is not
    a version is compared as a string.

    >>> from libtensor.torch_version import TorchVersion
    >>> TorchVersion("2.15.0+libtensor") > "2.9", TorchVersion("2.15.0") >= (2, 15)
    (True, True)
    """

    __slots__ = ()

    def _keys(self, other: Any) -> tuple[Any, Any]:
        """Returns the comparison keys of the version and the other operand."""
        text = ".".join(map(str, other)) if isinstance(other, (tuple, list)) else str(other)
        ours, theirs = parse(str(self)), parse(text)
        return (str(self), text) if ours is None or theirs is None else (ours, theirs)

    def __eq__(self, other: object) -> bool:
        ours, theirs = self._keys(other)
        return bool(ours == theirs)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        ours, theirs = self._keys(other)
        return bool(ours < theirs)

    def __le__(self, other: Any) -> bool:
        ours, theirs = self._keys(other)
        return bool(ours <= theirs)

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    __hash__ = str.__hash__
