"""Names of dimensions: None for a dimension without a name, an ellipsis for the dimensions that a list does not mention."""

from __future__ import annotations

from collections.abc import Mapping

from .._base.errors import in_name_of, wrong_type
from .._base.extend import extends
from .._core.convert import sequence
from .._core.tensor import Tensor
from .._gen import gen_functions as _f

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds

_unflatten = _f.unflatten

if TYPE_CHECKING:
    Extended = Tensor
else:
    Extended = object


def listed(names, function):
    """Returns a list of names for the library; it may be a single argument."""
    if len(names) == 1 and sequence(names[0]):
        names = names[0]
    return [spelled(name, function) for name in names]


def spelled(name, function):
    if name is None or name is ...:
        return "..." if name is ... else ""
    if not isinstance(name, str):
        raise wrong_type(function, "names", "tuple of names", name)
    if not name:
        raise RuntimeError(f"{function}(): Invalid name: a valid identifier is not empty; use None for a dimension without a name")
    return name


def others(tensor, names, changes, function):
    """Returns the new names of a tensor: a list, or its names with some replaced; None for no names."""
    if names and changes:
        raise RuntimeError(f"{function}(): expected names by position, or as old='new', not both")
    if not changes:
        return None if names == (None,) else listed(names, function)
    own = _f.names(tensor)
    for name in changes:
        if name not in own:
            raise RuntimeError(f"{function}(): Name '{name}' not found in Tensor{list(tensor.names)}")
    return [spelled(changes[name], function) if name in changes else name for name in own]


@extends(Tensor)
class Tensor(Extended):  # type: ignore[no-redef]  # extends() returns the imported class
    @property
    def names(self):
        """The names of the dimensions, None for a dimension without a name. Assignment renames them."""
        return tuple([name or None for name in _f.names(self)])

    @names.setter
    def names(self, names):
        _f.rename_(self, None if names is None else listed(tuple(names), "names"))

    def has_names(self):
        """Returns whether a dimension has a name.

        >>> torch.zeros(2, names=["N"]).has_names()
        True
        """
        return any(_f.names(self))

    def rename(self, *names, **changes):
        """Returns a view with other dimension names.

        Positional arguments are the new names, one for each dimension: None removes a name, and `...` leaves any number of names unchanged.
        Keyword arguments rename single dimensions: `rename(old="new")`. `rename(None)` removes all names.

        >>> torch.zeros(2, 3, names=["N", "C"]).rename(C="channels").names
        ('N', 'channels')
        """
        return _f.rename(self, others(self, names, changes, "rename"))

    def rename_(self, *names, **changes):
        """Renames the dimensions of the tensor in place: see rename.

        >>> torch.zeros(2, 3).rename_("N", None).names
        ('N', None)
        """
        return _f.rename_(self, others(self, names, changes, "rename_"))

    def refine_names(self, *names):
        """Returns a view with names for dimensions without one; `...` represents any number of unchanged dimensions.

        >>> torch.zeros(2, 3, 5, 5).refine_names(..., "rows", "columns").names
        (None, None, 'rows', 'columns')
        """
        return _f.refine_names(self, listed(names, "refine_names"))

    def align_to(self, *names):
        """Returns a view with dimensions in the order of the names; missing ones have size 1, `...` represents the dimensions that are not
        mentioned.

        >>> torch.zeros(2, 3, 5, names=["N", "C", "L"]).align_to("L", ...).names
        ('L', 'N', 'C')
        """
        return _f.align_to(self, listed(names, "align_to"))

    def unflatten(self, dim, sizes):
        """Splits dimension `dim` into several with the given sizes, or (name, size) pairs.

        >>> torch.zeros(6, 2, names=["C", "L"]).unflatten("C", [("a", 2), ("b", 3)]).names
        ('a', 'b', 'L')
        """
        pairs = list(sizes.items()) if isinstance(sizes, Mapping) else sizes
        if sequence(pairs) and pairs and all(sequence(pair) and len(pair) == 2 for pair in pairs):
            names, sizes = zip(*pairs, strict=True)
            with in_name_of("unflatten"):
                return _f.unflatten_names(self, dim, sizes, listed(names, "unflatten"))
        if isinstance(dim, str):
            raise TypeError(
                f"unflatten(): unflattening the named dimension '{dim}' requires pairs of a name and a size, such as [('a', 2), ('b', 3)]"
            )
        return _unflatten(self, dim, sizes)
