"""Operators on lists of tensors: as the package calls them, and as programs do."""

from collections.abc import Callable
from typing import Any

from .._base.dtypes import bfloat16, complex32, complex64, float16, float32
from .._base.dtypes import dtype as _dtype
from .._core.tensor import Tensor
from .._gen import gen_lists

_functions: Any = gen_lists

foreach_abs = _functions.foreach_abs
foreach_add = _functions.foreach_add
foreach_add_ = _functions.foreach_add_
foreach_addcdiv_ = _functions.foreach_addcdiv_
foreach_addcmul = _functions.foreach_addcmul
foreach_addcmul_ = _functions.foreach_addcmul_
foreach_clamp_max_ = _functions.foreach_clamp_max_
foreach_clamp_min_ = _functions.foreach_clamp_min_
foreach_copy_ = _functions.foreach_copy_
foreach_div = _functions.foreach_div
foreach_lerp_ = _functions.foreach_lerp_
foreach_maximum_ = _functions.foreach_maximum_
foreach_mul = _functions.foreach_mul
foreach_mul_ = _functions.foreach_mul_
foreach_neg = _functions.foreach_neg
foreach_norm = _functions.foreach_norm
foreach_sign = _functions.foreach_sign
foreach_sqrt = _functions.foreach_sqrt
fused_adagrad_ = _functions.fused_adagrad_
fused_adam_ = _functions.fused_adam_
fused_adamw_ = _functions.fused_adamw_
fused_sgd_ = _functions.fused_sgd_


def public(name: str) -> Callable[..., Any]:
    """Returns the function of an operator on lists, such as `foreach_add_`, that programs call: it returns a tuple, or the list that it
    writes to."""
    operator = getattr(_functions, name)
    if name.startswith("fused_"):

        def function(self: Any, *args: Any, **options: Any) -> Any:
            if isinstance(lr := options.get("lr"), Tensor):
                options["lr"] = lr.item()
            operator(self, *args, **options)

    elif name.endswith("_"):

        def function(self: Any, *args: Any, **options: Any) -> Any:
            operator(self, *args, **options)
            return self

    else:

        def function(self: Any, *args: Any, **options: Any) -> Any:
            return tuple(operator(self, *args, **options))

    function.__name__ = function.__qualname__ = "_" + name
    function.__module__ = operator.__module__
    function.__doc__ = operator.__doc__
    return function


def _foreach_powsum(self: Any, ord: float = 2, dtype: _dtype | None = None) -> tuple[Tensor, ...]:
    """Returns for each tensor of a list the sum of the powers of absolute values: `sum(abs(x) ** ord)`, computed and returned in
    `dtype`."""
    if not self:
        raise RuntimeError("_foreach_powsum: Tensor list must have at least one tensor.")
    return tuple(_powsum(item, ord, dtype) for item in self)


def _powsum(item: Tensor, order: float, given: _dtype | None) -> Tensor:
    if not (item.is_floating_point() or item.is_complex()):
        raise NotImplementedError(f"_foreach_powsum is not implemented for {item.dtype}; convert the tensors to a floating-point dtype")
    made = item if given is None else item.to(given)
    wide = _WIDE.get(made.dtype)
    sizes = made.abs() if wide is None else made.to(wide).abs()
    return sizes.pow(order).sum().to(made.real.dtype)


_WIDE = {float16: float32, bfloat16: float32, complex32: complex64}
