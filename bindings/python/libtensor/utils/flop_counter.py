"""Counts of the floating-point operations of matrix products, convolutions and attention, in forward and backward passes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from .. import ops
from .._base.overrides import Mode
from .._core.tensor import Tensor

__all__ = ["FlopCounterMode", "register_flop_formula"]

Formula = Callable[..., int]
aten = ops.aten
flop_registry: dict[Any, Formula] = {}


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """Returns a decorator that registers a formula for operators, such as `torch.ops.aten.mm` or custom ones. The formula takes the
    arguments of a call, with shapes in place of tensors unless `get_raw`, and `out_shape` (`out_val` if `get_raw`), and returns the number
    of operations.

    >>> @torch.utils.flop_counter.register_flop_formula(torch.ops.aten.tanh)
    ... def tanh_flop(shape, *args, out_shape=None, **kwargs):
    ...     return 4 * shape.numel()
    >>> with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
    ...     y = torch.tanh(torch.ones(2, 3))
    >>> counter.get_total_flops()
    24
    """

    def register(formula: Formula) -> Formula:
        for target in targets if isinstance(targets, list | tuple) else [targets]:
            flop_registry[target] = formula if get_raw else shape_wrapper(formula)
        return formula

    return register


def get_shape(i: Any) -> Any:
    """Returns the shape of a tensor, and other values as they are."""
    return i.shape if isinstance(i, Tensor) else [get_shape(v) for v in i] if isinstance(i, list | tuple) else i


def shape_wrapper(f: Formula) -> Formula:
    """Returns a formula of shapes as one of tensors."""

    def with_shapes(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        return f(*map(get_shape, args), out_shape=get_shape(out_val), **{k: get_shape(v) for k, v in kwargs.items()})

    return with_shapes


@register_flop_formula(aten.mm)
def mm_flop(a_shape: Sequence[int], b_shape: Sequence[int], *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Counts the operations of a matrix product."""
    return a_shape[0] * a_shape[1] * b_shape[1] * 2


@register_flop_formula(aten.addmm)
def addmm_flop(self_shape: Any, a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Any = None, **kwargs: Any) -> int:
    """Counts the operations of addmm: those of the product."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Any = None, **kwargs: Any) -> int:
    """Counts the operations of a batch of matrix products."""
    return a_shape[0] * a_shape[1] * a_shape[2] * b_shape[2] * 2


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(self_shape: Any, a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Any = None, **kwargs: Any) -> int:
    """Counts the operations of baddbmm: those of the products."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(x_shape: Sequence[int], w_shape: Sequence[int], out_shape: Sequence[int], transposed: bool = False) -> int:
    """Counts the operations of a convolution, of shapes with a batch dimension."""
    positions = x_shape[2:] if transposed else out_shape[2:]
    return x_shape[0] * math.prod(positions) * math.prod(w_shape) * 2


def sdpa_flop_count(query_shape: Sequence[int], key_shape: Sequence[int], value_shape: Sequence[int]) -> int:
    """Counts the operations of attention: those of its two products."""
    *batch, queries, width = query_shape
    return 2 * math.prod(batch) * queries * key_shape[-2] * (width + value_shape[-1])


def sdpa_backward_flop_count(query_shape: Sequence[int], key_shape: Sequence[int], value_shape: Sequence[int]) -> int:
    """Counts the operations of the backward pass of attention: the scores again, and the gradients of both products."""
    *batch, queries, width = query_shape
    return 2 * math.prod(batch) * queries * key_shape[-2] * (3 * width + 2 * value_shape[-1])


class _Call:
    """The operators that a call runs: their names and operations, forward and for the gradient of each operand."""

    def __init__(self, name: str, flops: int, operands: Sequence[Any], backward: str, flops_backward: int | None = None) -> None:
        self.name, self.flops, self.operands = name, flops, operands
        self.backward, self.flops_backward = backward, flops_backward

    def gradient_flops(self) -> int:
        if self.flops_backward is not None:
            return self.flops_backward
        return self.flops * sum(isinstance(t, Tensor) and t.requires_grad for t in self.operands)


def _product(a: Tensor, b: Tensor, out: Tensor) -> _Call | None:
    """matmul: nothing is counted for products with vectors."""
    if a.dim() < 2 or b.dim() < 2:
        return None
    name = "mm" if min(a.dim(), b.dim()) == 2 else "bmm"
    return _Call(name, 2 * out.numel() * a.size(-1), (a, b), name)


def _linear(a: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor) -> _Call | None:
    if weight.dim() != 2:
        return None
    name = "mm" if bias is None else "addmm"
    return _Call(name, 2 * out.numel() * weight.size(1), (a, weight), "mm")


def _einsum(equation: str, operands: Sequence[Tensor]) -> _Call | None:
    if len(operands) != 2 or "." in equation:
        return None
    terms = equation.replace(" ", "").partition("->")[0].split(",")
    sizes = {letter: size for term, t in zip(terms, operands, strict=True) for letter, size in zip(term, t.shape, strict=True)}
    return _Call("bmm", 2 * math.prod(sizes.values()), operands, "bmm")


def _convolution(name: str, x: Tensor, weight: Tensor, out: Tensor) -> _Call:
    batch = [] if x.dim() == weight.dim() else [1]
    flops = conv_flop_count([*batch, *x.shape], weight.shape, [*batch, *out.shape], "transpose" in name)
    return _Call("convolution", flops, (x, weight), "convolution_backward")


def _attention(query: Tensor, key: Tensor, value: Tensor) -> _Call:
    name = "_scaled_dot_product_flash_attention_for_cpu"
    shapes = query.shape, key.shape, value.shape
    return _Call(name, sdpa_flop_count(*shapes), (query, key, value), name + "_backward", sdpa_backward_flop_count(*shapes))


def _list_attention(query: Tensor, key: Tensor, value: Tensor, *rest: Any) -> list[_Call]:
    """multi_head_attention_forward: the projections, the scores, and the products with the values."""
    heads, width = rest[1], query.size(-1)
    batch = query.numel() // (query.size(0) * width) if query.dim() == 3 else 1
    queries, keys = query.size(0), key.size(0)
    calls = [_Call("addmm", 2 * t.numel() * width, (t, rest[2]), "mm") for t in (query, key, value)]
    scores = 2 * batch * heads * queries * keys * (width // heads)
    inner = [t for t in (query, rest[2]) if isinstance(t, Tensor) and t.requires_grad][:1] * 2
    calls += [_Call("bmm", scores, inner, "bmm") for _ in range(2)]
    return [*calls, _Call("addmm", 2 * query.numel() * width, (*inner[:1], rest[8]), "mm")]


def _list_calls(name: str, args: Sequence[Any], kwargs: dict[str, Any], out: Any) -> list[_Call]:
    """Returns the operators that the call of a function ran and that are counted."""
    if name == "multi_head_attention_forward":
        return _list_attention(*args[:12])
    call = _describe(name, args, kwargs, out) if isinstance(out, Tensor) else None
    return [] if call is None else [call]


def _describe(name: str, args: Sequence[Any], kwargs: dict[str, Any], out: Tensor) -> _Call | None:
    """Returns the operator that the call of a function ran; None if it is not counted."""
    given = [*args, *(v for v in kwargs.values() if isinstance(v, Tensor))]
    if name in ("mm", "matmul", "__matmul__", "bmm"):
        return _product(given[0], given[1], out)
    if name == "__rmatmul__":
        return _product(given[1], given[0], out)
    if name in ("addmm", "addmm_", "baddbmm", "baddbmm_"):
        call = _product(given[1], given[2], out)
        if call is not None:
            call.name = name.rstrip("_")
        return call
    if name == "linear":
        return _linear(given[0], given[1], given[2] if len(given) > 2 else None, out)
    if name == "einsum":
        return _einsum(args[0], args[1] if len(args) == 2 and not isinstance(args[1], Tensor) else args[1:])
    if name.rstrip("123d") in ("conv", "conv_transpose", "convolution"):
        return _convolution(name, given[0], given[1], out)
    if name == "scaled_dot_product_attention":
        return _attention(given[0], given[1], given[2])
    return None


class _Modules:
    """The modules that are being called, by name: the class of the outermost one and the path from it."""

    def __init__(self) -> None:
        self.names: dict[Any, str] = {}
        self.called: list[str] = []
        self.handles: list[Any] = []

    def start(self) -> None:
        from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

        self.handles = [register_module_forward_pre_hook(self.enter), register_module_forward_hook(self.leave, always_call=True)]

    def stop(self) -> None:
        for handle in self.handles:
            handle.remove()

    def enter(self, module: Any, _: Any) -> None:
        name = self.names.setdefault(module, type(module).__name__)
        for child, submodule in module.named_children():
            self.names[submodule] = f"{name}.{child}"
        self.called.append(name)

    def leave(self, *_: Any) -> None:
        if self.called:
            self.called.pop()


class FlopCounterMode(Mode):
    """A context manager that counts the floating-point operations of matrix products, convolutions, scaled dot product attention and
    functions with a registered formula, by module, in the forward and backward passes of the calling thread. `depth` limits the modules in
    the printed table, which `display` prints at the end. `custom_mapping` has more formulas, by operator. Operators that a call runs inside
    the library, such as those of recurrent layers, are not counted.

    >>> with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
    ...     y = torch.ones(2, 3) @ torch.ones(3, 4)
    >>> counter.get_total_flops()
    48
    """

    receives_all = True

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: dict[Any, Any] | None = None) -> None:
        self.depth, self.display = depth, display
        self.flop_registry = {
            **flop_registry,
            **{k: v if getattr(v, "_get_raw", False) else shape_wrapper(v) for k, v in (custom_mapping or {}).items()},
        }
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self._names = {getattr(op, "__name__", "").partition(".")[0]: op for op in self.flop_registry}
        self._is_active = False

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self._modules = _Modules()
        self._modules.start()
        self._is_active = True
        super().__enter__()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None = None, exc_val: BaseException | None = None, exc_tb: TracebackType | None = None
    ) -> None:
        super().__exit__(exc_type, exc_val, exc_tb)
        self._is_active = False
        self._modules.stop()
        if self.display:
            print(self.get_table(self.depth))

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        name = getattr(func, "__name__", "").partition(".")[0]
        places = ["Global", *dict.fromkeys(self._modules.called)]
        calls = _list_calls(name, args, kwargs, out)
        for call in calls:
            self._count(places, call.name, call.flops)
            result = out[0] if isinstance(out, tuple) else out
            if result.requires_grad and call.gradient_flops():
                self._count_backward(places, call, result)
        if not calls and name in self._names:
            op = self._names[name]
            self._count(places, op, self.flop_registry[op](*args, **kwargs, out_val=out))
        return out

    def _count(self, places: Sequence[str], op: Any, flops: int) -> None:
        if isinstance(op, str):
            op = getattr(aten, op)
        for place in places:
            self.flop_counts[place][op] += flops

    def _count_backward(self, places: Sequence[str], call: _Call, out: Tensor) -> None:
        def count(grad: Tensor) -> None:
            if self._is_active:
                self._count(places, call.backward, flops)

        flops = call.gradient_flops()
        out.register_hook(count)

    def get_total_flops(self) -> int:
        """Returns the number of operations of all modules."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Returns the number of operations by module and operator; `Global` has all of them."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Returns a table of the operations of modules of at most a depth."""
        limit = self.depth if depth is None else depth
        rows, total = [("Module", "FLOP", "% Total")], max(self.get_total_flops(), 1)
        for name in sorted(self.flop_counts, key=lambda n: (n != "Global", n)):
            level = 0 if name == "Global" else name.count(".") + 1
            if level > limit:
                continue
            counts, indent = self.flop_counts[name], " " * level
            rows.append((indent + name, _shorten(sum(counts.values())), f"{sum(counts.values()) / total:.2%}"))
            rows += [(f"{indent} - {op}", _shorten(flops), f"{flops / total:.2%}") for op, flops in counts.items()]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows]
        return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def _shorten(number: int) -> str:
    """Returns a count with a unit: 1.5M, or 12 below a thousand."""
    unit = min(max(len(str(number)) - 1, 0) // 3, 4)
    return f"{number / 1000**unit:.3f}{' KMBT'[unit]}" if unit else str(number)
