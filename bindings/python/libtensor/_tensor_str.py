"""Parts of the printed forms of tensors, which packages use to print their own classes."""

import contextlib
from collections.abc import Iterator
from typing import Any

from . import Tensor, get_printoptions, set_printoptions
from ._data.print import options
from ._gen.gen_functions import to_string

__all__ = ["PRINT_OPTS", "get_printoptions", "printoptions", "set_printoptions"]

PREFIX = "tensor("


class _PrintOptions:
    """The options that set_printoptions sets, as attributes."""

    def __getattr__(self, name: str) -> Any:
        if name not in options:
            raise AttributeError(f"there is no print option '{name}'")
        return options[name]

    def __setattr__(self, name: str, value: Any) -> None:
        set_printoptions(**{**options, name: value})


PRINT_OPTS = _PrintOptions()


@contextlib.contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """A context manager that sets options of set_printoptions, and restores them at its end.

    >>> with torch._tensor_str.printoptions(precision=1):
    ...     print(torch.tensor([1.25]))
    tensor([1.2])
    """
    before = dict(options)
    set_printoptions(**kwargs)
    options["sci_mode"] = kwargs.get("sci_mode", before["sci_mode"])
    try:
        yield
    finally:
        options.update(before)


def _tensor_str(self: Tensor, indent: int) -> str:
    """Returns the printed elements, without a name before them or dtype and device behind: lines but the first start with `indent`
    spaces."""
    with_width = {**options, "linewidth": max(options["linewidth"] - indent + len(PREFIX), 1)}
    text = to_string(self.detach(), **with_width).removeprefix(PREFIX)
    text = text[: text.rindex("]") + 1] if self.dim() else text.rstrip(")").partition(",")[0]
    first, *lines = text.split("\n")
    return "\n".join([first, *(" " * indent + line.removeprefix(" " * len(PREFIX)) for line in lines)])


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """Returns the printed form of a tensor with suffixes and the closing parenthesis, each on the line of the previous one if it fits."""
    made = [tensor_str]
    width = len(tensor_str) - tensor_str.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or width + len(suffix) + 2 > options["linewidth"]:
            made.append(",\n" + " " * indent + suffix)
            width, force_newline = indent + len(suffix), False
        else:
            made.append(", " + suffix)
            width += len(suffix) + 2
    return "".join(made) + ")"


def _str(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """Returns the printed form of a tensor; with `tensor_contents` in place of its elements."""
    show: Any = self.__repr__  # subclasses may have other parameters
    text: str = show(tensor_contents=tensor_contents)
    return text


_str_intern = _str
