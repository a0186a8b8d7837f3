"""compile, which is a name of the package and of its module compiler."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from . import identity, warn_once


class _Exporting(threading.local):
    """Whether torch.export.export calls a function on the thread."""

    active = False


exporting = _Exporting()


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    name: str | None = None,
    recompile_limit: int | None = None,
) -> Any:
    """Returns the function or module `model` unchanged: it runs eagerly. Without `model`, returns a decorator. Warns at the first call,
    unless `disable` is true. Raises RuntimeError if both `mode` and `options` are given.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     double = torch.compile(lambda x: x * 2)
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if not disable:
        warn_once("torch.compile", "libtensor has no compiler; functions and modules run as they are")
    return identity if model is None else model


compile.__module__ = f"{__name__.partition('.')[0]}.compiler"
