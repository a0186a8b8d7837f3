"""vmap, and functions on nested structures (tuples, lists, deques and dicts) of tensors."""

from __future__ import annotations

from collections import deque
from copy import copy
from functools import wraps

from .._core.tensor import Tensor
from .._data.random import default as default_generator
from .._gen import gen_functions as _f

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any

# ----------------------------------------------------------------------------------------------------- nested tensors


def mapped(change, tree, *others):
    """Returns a structure with each leaf replaced by `change` of it and the corresponding leaves of `others`."""
    if isinstance(tree, dict):
        items: Any = copy(tree)  # keeps what the dictionary has besides items, such as the default of a defaultdict
        for k, v in tree.items():
            items[k] = mapped(change, v, *(other[k] for other in others))
        return items
    if isinstance(tree, (tuple, list, deque)):
        made = [mapped(change, *row) for row in zip(tree, *others, strict=True)]
        if isinstance(tree, deque):
            return deque(made, tree.maxlen)
        return type(tree)._make(made) if hasattr(tree, "_make") else type(tree)(made)
    return change(tree, *others)


def leaves(tree):
    """Returns the leaves of a structure, tensors and other values, in order."""
    found: list[Any] = []
    mapped(found.append, tree)
    return found


def tensors(tree):
    return [t for t in leaves(tree) if isinstance(t, Tensor)]


def refilled(tree, values):
    """Returns a structure of the same form with other leaves."""
    values = iter(values)
    return mapped(lambda _: next(values), tree)


def shape_of(tree):
    """Returns the form of a structure: the structure with None for each leaf."""
    return mapped(lambda _: None, tree)


def spread(dims, tree):
    """Returns the dimension of each leaf of a structure, where one dimension can apply to a whole substructure; None if the structures
    differ.
    """
    if dims is None or isinstance(dims, int):
        return [dims for _ in leaves(tree)]
    if isinstance(tree, dict) and isinstance(dims, dict) and dims.keys() == tree.keys():
        parts = [spread(dims[k], v) for k, v in tree.items()]
    elif isinstance(tree, (tuple, list, deque)) and isinstance(dims, type(tree)) and len(dims) == len(tree):
        parts = [spread(d, v) for d, v in zip(dims, tree, strict=True)]
    else:
        return None
    return None if None in parts else [d for part in parts for d in part]


# --------------------------------------------------------------------------------------------------------------- vmap


class Mapping:
    """A call of a function that vmap returned: the arguments and their batch dimensions."""

    def __init__(self, func, in_dims, out_dims, args):
        self.func, self.out_dims, self.args = func, out_dims, args
        self.name = getattr(func, "__name__", repr(func))
        title = f"vmap({self.name}, in_dims={in_dims}, ...)(<inputs>)"
        if not isinstance(in_dims, (int, tuple)):
            raise ValueError(
                f"{title}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
                f"{type(in_dims)}."
            )
        if not args:
            raise ValueError(
                f"vmap({self.name})(<inputs>): got no inputs. Maybe you forgot to add inputs, "
                "or you are trying to vmap over a function with no inputs. The latter is unsupported."
            )
        self.dims, self.given = spread(in_dims, args), leaves(args)
        if self.dims is None:
            raise ValueError(f"{title}: in_dims is not compatible with the structure of `inputs`, which is {shape_of(args)}")
        for i, (t, d) in enumerate(zip(self.given, self.dims, strict=True)):
            if d is None:
                continue
            if not isinstance(t, Tensor):
                raise ValueError(
                    f"{title}: Got in_dim={d} for an input but the input is of type {type(t)}. "
                    "We cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
                )
            if not -t.dim() <= d < t.dim():
                raise ValueError(
                    f"{title}: Got in_dim={d} for some input, but that input is a Tensor of dimensionality {t.dim()} so expected in_dim to "
                    "satisfy "
                    f"-{t.dim()} <= in_dim < {t.dim()}."
                )
            self.dims[i] = d % t.dim()
        sizes = [t.shape[d] for t, d in zip(self.given, self.dims, strict=True) if d is not None]
        if not sizes:
            raise ValueError(f"{title}: Expected at least one Tensor to vmap over")
        if len(set(sizes)) > 1:
            raise ValueError(
                f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension"
            )
        self.size = sizes[0]

    def results(self, given, size, randomness, kwargs):
        """Returns the results for `size` batch elements as a structure, and the batch dimension of each leaf."""
        around = _f.transform_level()
        try:  # also for an exception of a signal handler at the beginning of the level
            level = _f.vmap_begin(size, randomness)
            wrapped = [t if d is None else _f.vmap_wrap(t, d, level) for t, d in zip(given, self.dims, strict=True)]
            output = self.func(*refilled(self.args, wrapped), **kwargs)
            dims, outside = self.placed(output), {id(w): t for w, t in zip(wrapped, given, strict=True)}
            return refilled(output, [self.unwrapped(t, d, level, outside) for t, d in zip(leaves(output), dims, strict=True)]), dims
        finally:
            _f.transform_leave(around)

    def placed(self, output):
        if not all(d is None or isinstance(d, int) for d in leaves(self.out_dims)):
            raise ValueError(
                f"vmap({self.name}, ..., out_dims={self.out_dims}): `out_dims` must be an int, None or a python collection of ints "
                "representing "
                "where in the outputs the vmapped dimension should appear."
            )
        single = not isinstance(output, (tuple, list, deque, dict))
        out_dims = self.out_dims[0] if single and isinstance(self.out_dims, tuple) and len(self.out_dims) == 1 else self.out_dims
        dims = spread(out_dims, output)
        if dims is None:
            raise ValueError(
                f"vmap({self.name}, ..., out_dims={self.out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`, "
                f"which is {shape_of(output) if not single else 'one tensor'}"
            )
        return dims

    def unwrapped(self, t, d, level, outside):
        if not isinstance(t, Tensor):
            if d is None:
                return t
            raise ValueError(
                f"vmap({self.name}, ...): `{self.name}` must only return Tensors, got type {type(t)}. "
                "Did you mean to set out_dims= to None for output?"
            )
        if d is not None:
            n = t.dim() + 1
            if not -n <= d < n:
                name = f"vmap({self.name}, ..., out_dims={self.out_dims})"
                raise IndexError(f"{name}: Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
            base = outside.get(id(t if t._base is None else t._base))
            made = _f.vmap_unwrap(t, d, level)
            if id(t) in outside and made.shape == base.shape and made.stride() == base.stride():
                return base
            if base is not None and base.__class__ is made.__class__:
                made._view_of = base if base._base is None else base._base
            return made
        if _f.vmap_maps(t, level):
            raise ValueError(f"vmap({self.name}, ...): `{self.name}` can not return a BatchedTensor when out_dim is None")
        return t

    def in_chunks(self, chunk, randomness, kwargs):
        """Returns results() for at most `chunk` batch elements at a time, concatenated."""
        parts, output = [], None
        drawn = default_generator().get_state() if randomness == "same" else None
        for start in range(0, self.size, chunk):
            if drawn is not None:
                default_generator().set_state(drawn)
            n = min(chunk, self.size - start)
            given = [t if d is None else t.narrow(d, start, n) for t, d in zip(self.given, self.dims, strict=True)]
            output, dims = self.results(given, n, randomness, kwargs)
            parts.append(leaves(output))
        columns = zip(zip(*parts, strict=True), dims, strict=True)
        return refilled(output, [column[0] if d is None else _f.cat(column, d) for column, d in columns])


def results_of(steps, func, in_dims, out_dims, randomness, args, kwargs):
    """Returns the results of a call by functions that flatten and batch the inputs, and unwrap the outputs."""
    process, create, unwrap = steps
    size, dims, given, form = process(in_dims, args, func)
    around = _f.transform_level()
    try:
        level = _f.vmap_begin(size, randomness)
        output = func(*create(dims, given, level, form), **kwargs)
        return unwrap(output, out_dims, level, size, func)
    finally:
        _f.transform_leave(around)


# Functions that replace the steps of vmap, for packages with their classes of batched values: set by _functorch/vmap.py.
replaced: Any = None


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """Returns a function that applies `func` to all elements of a batch: it calls `func` once with batched tensors.

    `in_dims` is the batch dimension of all arguments, or a tuple or structure with one for each; None passes an argument unbatched. Results
    have the batch dimension at `out_dims`. Operators without a batching rule are executed for each batch element in turn. Random operators
    raise RuntimeError unless `randomness` is "different", for independent numbers in each element, or "same". `chunk_size` limits the
    number of batch elements that are computed at once.

    >>> torch.vmap(torch.dot)(torch.ones(3, 2), torch.tensor([[1., 2.], [3., 4.], [5., 6.]]))
    tensor([ 3.,  7., 11.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @wraps(func)
    def over_all(*args, **kwargs):
        if replaced is not None and (steps := replaced()):
            return results_of(steps, func, in_dims, out_dims, randomness, args, kwargs)
        mapping = Mapping(func, in_dims, out_dims, args)
        if chunk_size is None or chunk_size >= mapping.size:
            return mapping.results(mapping.given, mapping.size, randomness, kwargs)[0]
        return mapping.in_chunks(chunk_size, randomness, kwargs)

    return over_all
