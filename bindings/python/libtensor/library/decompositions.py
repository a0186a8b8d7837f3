"""The functions that PyTorch decomposes into other operators before a TorchDispatchMode receives them: a rule for each, which makes the
same calls.

A rule has the function's parameters after `call(name, *args, **kwargs)`, which emits an overload (`"view.default"`), or the overload of a
name that the arguments fit, or applies the rule of that name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import bool as _bool
from .. import contiguous_format, get_default_dtype, tensor
from .. import int64 as torch_int64
from .._base.device import device as _device
from .._base.dtypes import dtype as _dtype
from .._core.tensor import Tensor

__all__ = ["RULES", "Call", "as_list", "make_contiguous", "matmul", "reshaped", "rule", "to", "without_defaults"]

Call = Callable[..., Any]
RULES: dict[str, Callable[..., Any]] = {}
LAST = 2**63 - 1


def rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator that registers the rule of functions."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        RULES.update(dict.fromkeys(names or (function.__name__.rstrip("_"),), function))
        return function

    return register


def _sizes(given: Sequence[Any]) -> list[int]:
    return list(given[0]) if len(given) == 1 and isinstance(given[0], list | tuple) else list(given)


def as_list(value: Any, count: int) -> list[Any]:
    return [value] * count if isinstance(value, int | float) else list(value) * (count if len(value) == 1 else 1)


def without_defaults(values: Sequence[Any], defaults: Sequence[Any]) -> list[Any]:
    """Returns values without those at the end that are defaults."""
    kept = list(values)
    while kept and kept[-1] == defaults[len(kept) - 1]:
        kept.pop()
    return kept


@rule("T", "numpy_T")
def _t(call: Call, self: Tensor) -> Any:
    return call("permute.default", self, list(range(self.dim()))[::-1])


@rule("mT", "matrix_T")
def _mt(call: Call, self: Tensor) -> Any:
    return call("transpose.int", self, -2, -1)


@rule("H", "mH", "adjoint")
def _mh(call: Call, self: Tensor) -> Any:
    if self.dim() == 0:
        return self
    turned = call("transpose.int", self, -2, -1)
    return call("_conj.default", turned) if self.is_complex() else turned


@rule("reshape")
def _reshape(call: Call, self: Tensor, *shape: Any) -> Any:
    return reshaped(call, self, _infer(self, _sizes(shape)))


def _infer(self: Tensor, sizes: list[int]) -> list[int]:
    """Returns sizes with the one that is -1."""
    return list(self.detach().reshape(sizes).shape)


def reshaped(call: Call, self: Tensor, sizes: list[int]) -> Any:
    try:
        self.detach().view(sizes)
    except RuntimeError:
        return call("_unsafe_view.default", call("clone.default", self, memory_format=contiguous_format), sizes)
    return call("view.default", self, sizes)


@rule("flatten")
def _flatten(call: Call, self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Any:
    sizes = list(self.detach().flatten(start_dim, end_dim).shape)
    return self if sizes == list(self.shape) else reshaped(call, self, sizes)


@rule("unflatten")
def _unflatten(call: Call, self: Tensor, dim: int, sizes: Sequence[int]) -> Any:
    return call("view.default", self, list(self.detach().unflatten(dim, sizes).shape))


@rule("contiguous")
def make_contiguous(call: Call, self: Tensor, memory_format: Any = None) -> Any:
    memory_format = memory_format or contiguous_format
    return self if self.is_contiguous(memory_format=memory_format) else call("clone.default", self, memory_format=memory_format)


@rule("view_as", "reshape_as")
def _view_as(call: Call, self: Tensor, other: Tensor) -> Any:
    return reshaped(call, self, list(other.shape))


@rule("expand_as")
def _expand_as(call: Call, self: Tensor, other: Tensor) -> Any:
    return call("expand.default", self, list(other.shape))


@rule("to")
def to(call: Call, self: Tensor, *args: Any, **kwargs: Any) -> Any:
    options: dict[str, Any] = {}
    for value in args[:2]:
        if isinstance(value, Tensor):
            options |= {"dtype": value.dtype, "device": value.device}
        elif isinstance(value, _dtype):
            options["dtype"] = value
        elif isinstance(value, str | _device | int) and not isinstance(value, bool):
            options["device"] = _device(value)
    copies = kwargs.pop("copy", False)
    kwargs.pop("non_blocking", None)
    options |= {k: _device(v) if k == "device" else v for k, v in kwargs.items() if v is not None}
    options = {k: v for k, v in options.items() if copies or getattr(self, k, None) != v}
    return call("_to_copy.default", self, **options) if options or copies else self


@rule("type_as")
def _type_as(call: Call, self: Tensor, other: Tensor) -> Any:
    if self.dtype == other.dtype and self.device == other.device:
        return self
    return call("_to_copy.default", self, dtype=other.dtype, layout=other.layout, device=other.device)


def _cast_to(name: str) -> None:
    def cast(call: Call, self: Tensor, memory_format: Any = None) -> Any:
        from .. import _C

        return to(call, self, getattr(_C._VariableFunctions, name))

    RULES[name] = cast


for _name in ("float", "double", "half", "bfloat16", "int", "long", "short", "bool"):
    _cast_to(_name)


@rule("sub", "subtract")
def _sub(call: Call, self: Any, other: Any, *, alpha: Any = 1) -> Any:
    if not isinstance(self, Tensor):
        return call("rsub.Scalar", other, self, **({} if alpha == 1 else {"alpha": alpha}))
    return call("sub.Tensor", self, other, **({} if alpha == 1 else {"alpha": alpha}))


@rule("div", "divide", "true_divide")
def _div(call: Call, self: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    if not isinstance(self, Tensor):
        return call("mul.Tensor", call("reciprocal.default", other), self)
    if rounding_mode is None:
        return call("div.Tensor", self, other)
    return call("div.Tensor_mode", self, other, rounding_mode=rounding_mode)


@rule("floor_divide")
def _floor_divide(call: Call, self: Any, other: Any) -> Any:
    if not isinstance(self, Tensor):
        self = call("scalar_tensor.default", self, dtype=other.dtype, device=other.device)
    return call("floor_divide.default", self, other)


def _commutative(name: str) -> None:
    def apply(call: Call, self: Any, other: Any, *, alpha: Any = 1) -> Any:
        self, other = (self, other) if isinstance(self, Tensor) else (other, self)
        return call(f"{name}.Tensor", self, other, **({} if alpha == 1 else {"alpha": alpha}))

    RULES[name] = apply


_commutative("add")
_commutative("mul")


@rule("__getitem__")
def _getitem(call: Call, self: Tensor, index: Any) -> Any:
    selected, indices = _views_of(call, self, index)
    if not any(i is not None for i in indices):
        return selected
    return call("index.Tensor", selected, indices)


def _views_of(call: Call, self: Tensor, index: Any) -> tuple[Tensor, list[Any]]:
    """Returns the tensor after integers, slices, None and Ellipsis of an index, and the tensors of the index by dimension."""
    items = list(index) if isinstance(index, tuple) else [index]
    indices: list[Any] = []
    dim = 0  # of the tensor after the selections
    for at, item in enumerate(items):
        if item is Ellipsis:
            skipped = self.dim() - dim - sum(map(_width, items[at + 1 :]))
            indices += [None] * skipped
            dim += skipped
        elif item is None:
            self = call("unsqueeze.default", self, dim)
            indices.append(None)
            dim += 1
        elif isinstance(item, bool):
            raise NotImplementedError(
                "__getitem__: a bool as an index is not known as operators of ATen, which TorchDispatchMode and make_fx need"
            )
        elif isinstance(item, slice):
            if item != slice(None):
                start, stop, step = item.start or 0, LAST if item.stop is None else item.stop, item.step or 1
                self = call("slice.Tensor", self, dim, start, stop, *([step] if step != 1 else []))
            indices.append(None)
            dim += 1
        elif isinstance(item, int) or (hasattr(item, "__index__") and not isinstance(item, Tensor)):
            self = call("select.int", self, dim, int(item))
        else:
            item = item if isinstance(item, Tensor) else tensor(item)
            indices.append(item)
            dim += _width(item)
    while indices and indices[-1] is None:
        indices.pop()
    return self, indices


def _width(item: Any) -> int:
    """Returns the number of dimensions that an item of an index selects from."""
    if item is None or item is Ellipsis:
        return 0
    return item.dim() if isinstance(item, Tensor) and item.dtype == _bool else 1


@rule("__setitem__")
def _setitem(call: Call, self: Tensor, index: Any, value: Any) -> None:
    view, indices = _views_of(call, self, index)
    if any(i is not None for i in indices):
        if not isinstance(value, Tensor):
            value = call("scalar_tensor.default", value, dtype=self.dtype, device=self.device)
        elif value.untyped_storage().data_ptr() == view.untyped_storage().data_ptr():
            value = call("clone.default", value)  # index_put_ rejects values that overlap the tensor
        call("index_put_.default", view, indices, value)
    elif isinstance(value, Tensor):
        call("copy_.default", view, value)
    else:
        call("fill_.Scalar", view, value)


@rule("nonzero")
def _nonzero(call: Call, self: Tensor, as_tuple: bool = False) -> Any:
    if not as_tuple:
        return call("nonzero.default", self)
    return tuple(call("unbind.int", call("nonzero.default", self if self.dim() else call("unsqueeze.default", self, 0)), 1))


@rule("broadcast_tensors")
def _broadcast_tensors(call: Call, *tensors: Any) -> Any:
    from .. import broadcast_shapes

    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else tensors
    shape = list(broadcast_shapes(*(x.shape for x in given)))
    return tuple(call("expand.default", x, shape) for x in given)


@rule("block_diag")
def _block_diag(call: Call, *tensors: Any) -> Any:
    return call("block_diag.default", list_tensors(tensors))


@rule("cartesian_prod")
def _cartesian_prod(call: Call, *tensors: Any) -> Any:
    return call("cartesian_prod.default", list_tensors(tensors))


def list_tensors(tensors: Sequence[Any]) -> list[Tensor]:
    """Returns the tensors that are positional arguments, or the items of one."""
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else list(tensors)


@rule("meshgrid")
def _meshgrid(call: Call, *tensors: Any, indexing: str | None = None) -> Any:
    given = list_tensors(tensors)
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    is_swapped = indexing == "xy" and len(given) > 1
    if is_swapped:
        given[:2] = given[1], given[0]
    shape = [x.numel() for x in given]
    views = [call("view.default", x, [-1 if j == i else 1 for j in range(len(given))]) for i, x in enumerate(given)]
    made = [call("expand.default", x, shape) for x in views]
    if is_swapped:
        made[:2] = made[1], made[0]
    return tuple(made)


@rule("unique_consecutive")
def _unique_consecutive(
    call: Call, input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    if dim is None:
        found = call("unique_consecutive.default", input, return_inverse, return_counts)
    else:
        found = call("unique_dim_consecutive.default", input, dim, return_inverse, return_counts)
    return _chosen(found, return_inverse, return_counts)


@rule("unique")
def _unique(
    call: Call, input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    if dim is None:
        found = call("_unique2.default", input, sorted, return_inverse, return_counts)
    else:
        found = call("unique_dim.default", input, dim, sorted, return_inverse, return_counts)
    return _chosen(found, return_inverse, return_counts)


def _chosen(found: Any, return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = found
    chosen = (values, *[inverse][:return_inverse], *[counts][:return_counts])
    return chosen if len(chosen) > 1 else values


@rule("einsum")
def _einsum(call: Call, equation: str, *operands: Any) -> Any:
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands
    return call("einsum.default", equation, list(given))


@rule("matmul", "__matmul__")
def matmul(call: Call, self: Tensor, other: Tensor) -> Any:
    a, b = self.dim(), other.dim()
    if a == 1 and b == 1:
        return call("dot.default", self, other)
    if a == 2 and b == 1:
        return call("mv.default", self, other)
    if a == 1 and b == 2:
        return call("squeeze_.dim", call("mm.default", call("unsqueeze.default", self, 0), other), 0)
    if a == 2 and b == 2:
        return call("mm.default", self, other)
    if a >= 3 and b <= 2:
        flat = reshaped(call, self, [math.prod(self.shape[:-1]), self.size(-1)])
        if b == 1:
            return call("_unsafe_view.default", call("mv.default", flat, other), list(self.shape[:-1]))
        return call("_unsafe_view.default", call("mm.default", flat, other), [*self.shape[:-1], other.size(1)])
    from .. import broadcast_shapes

    first = self if a > 1 else call("unsqueeze.default", self, 0)
    second = other if b > 1 else call("unsqueeze.default", other, 1)
    n, m, p = first.size(-2), first.size(-1), second.size(-1)
    batch = list(broadcast_shapes(first.shape[:-2], second.shape[:-2]))
    count = 1
    for size in batch:
        count *= size
    left = reshaped(call, call("expand.default", first, [*batch, n, m]), [count, n, m])
    right = reshaped(call, call("expand.default", second, [*batch, m, p]), [count, m, p])
    made = call("bmm.default", left, right)
    return call("_unsafe_view.default", made, [*batch, *([n] if a > 1 else []), *([p] if b > 1 else [])])


@rule("__rmatmul__")
def _rmatmul(call: Call, self: Tensor, other: Tensor) -> Any:
    return matmul(call, other, self)


@rule("outer", "ger")
def _outer(call: Call, self: Tensor, vec2: Tensor) -> Any:
    return call("mul.Tensor", call("view.default", self, [self.size(0), 1]), vec2)


@rule("chunk")
def _chunk(call: Call, input: Tensor, chunks: int, dim: int = 0) -> Any:
    size = -(-input.size(dim) // chunks)
    return call("split.Tensor", input, size, *([dim] if dim else []))


@rule("split")
def _split(call: Call, self: Tensor, split_size_or_sections: Any, dim: int = 0) -> Any:
    if isinstance(split_size_or_sections, int):
        return call("split.Tensor", self, split_size_or_sections, *([dim] if dim else []))
    return call("split_with_sizes.default", self, list(split_size_or_sections), *([dim] if dim else []))


@rule("where")
def _where(call: Call, condition: Tensor, self: Any = None, other: Any = None) -> Any:
    if self is None and other is None:
        return _nonzero(call, condition, True)
    like = self if isinstance(self, Tensor) else other
    is_known = isinstance(like, Tensor)

    def lifted(value: Any) -> Any:
        if isinstance(value, Tensor):
            return value
        dtype = like.dtype if is_known and (like.dtype.is_floating_point or isinstance(value, int)) else None
        if not is_known and isinstance(self, int) and isinstance(other, int):
            dtype = _bool if isinstance(self, bool) and isinstance(other, bool) else torch_int64
        return call("scalar_tensor.default", value, dtype=dtype or get_default_dtype(), layout=condition.layout, device=condition.device)

    return call("where.self", condition, lifted(self), lifted(other))


def _spread(name: str) -> None:
    def apply(call: Call, self: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        dims = dim if dim is None else as_list(dim, 1)
        return call(
            f"{name}.correction",
            self,
            dims,
            correction=int(unbiased) if correction is None else correction,
            **({"keepdim": True} if keepdim else {}),
        )

    RULES[name] = apply


_spread("std")
_spread("var")


@rule("norm")
def _norm(call: Call, self: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None) -> Any:
    named = {} if dtype is None else {"dtype": dtype}
    if p == "nuc":
        return call("linalg_matrix_norm.str_ord", self, p, [-2, -1] if dim is None else list(dim), keepdim, **named)
    order = 2 if p in ("fro", None) else p
    rest = without_defaults([order, dim if dim is None else as_list(dim, 1), keepdim], [2, None, False])
    return call("linalg_vector_norm.default", self, *rest, **named)


@rule("linalg_norm")
def _linalg_norm(call: Call, A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    dims = None if dim is None else as_list(dim, 1)
    is_matrix = ord is not None and (A.dim() if dims is None else len(dims)) == 2
    if not is_matrix:
        return _norm(call, A, 2 if ord is None else ord, dims, keepdim, dtype=dtype)
    overload = "str_ord" if isinstance(ord, str) else "default"
    return call(f"linalg_matrix_norm.{overload}", A, ord, dims or [-2, -1], keepdim, **({} if dtype is None else {"dtype": dtype}))


def _factory(name: str, is_sized: bool) -> None:
    """Registers the rule of a function that creates a tensor: PyTorch states the device and that memory is not pinned."""

    def apply(call: Call, *args: Any, **kwargs: Any) -> Any:
        given = {k: v for k, v in kwargs.items() if v is not None and k not in ("requires_grad", "out", "names", "layout")}
        given["device"] = _device(given.get("device", "cpu"))
        given.setdefault("pin_memory", False)
        requires_grad = bool(kwargs.get("requires_grad"))
        sizes = [given.pop("size")] if "size" in given else list(args)
        values = [_sizes(sizes)] if is_sized else [list(v) if isinstance(v, tuple) else v for v in sizes]
        if name == "arange":
            values += [given.pop(k) for k in ("start", "end", "step") if k in given]
        overload = {"empty": "memory_format", "arange": ("default", "default", "start", "start_step")[len(values)]}.get(name, "default")
        if name == "randint":
            overload = "default" if isinstance(values[1], list) else "low"
        elif name == "eye" and (len(values) == 2 or "m" in given):
            overload = "m"
        made = call(f"{name}.{overload}", *values, **given)
        return made.requires_grad_() if requires_grad else made

    RULES[name] = apply


for _name in ("zeros", "ones", "empty", "rand", "randn"):
    _factory(_name, True)
for _name in ("full", "arange", "randint", "eye"):
    _factory(_name, False)


def _like(name: str) -> None:
    def apply(call: Call, self: Tensor, *args: Any, **kwargs: Any) -> Any:
        given = {k: v for k, v in kwargs.items() if v is not None and k not in ("requires_grad", "layout")}
        sizes = [_sizes(args)] if name.startswith("new_") and name != "new_full" else [list(v) if isinstance(v, tuple) else v for v in args]
        return call(f"{name}.default", self, *sizes, **given, pin_memory=False)

    RULES[name] = apply


for _name in (
    "zeros_like",
    "ones_like",
    "empty_like",
    "full_like",
    "rand_like",
    "randn_like",
    "new_zeros",
    "new_ones",
    "new_empty",
    "new_full",
):
    _like(_name)
