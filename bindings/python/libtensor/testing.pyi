from collections.abc import Callable
from typing import Any

from . import Size, Tensor
from . import device as _device
from . import dtype as _dtype
from . import memory_format as _memory_format

def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = ...,
    rtol: float | None = ...,
    atol: float | None = ...,
    equal_nan: bool = ...,
    check_device: bool = ...,
    check_dtype: bool = ...,
    check_layout: bool = ...,
    check_stride: bool = ...,
    msg: str | Callable[[str], str] | None = ...,
) -> None: ...
def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = ..., atol: float | None = ..., equal_nan: bool = ..., msg: str = ...
) -> None: ...
def make_tensor(
    *shape: int | Size | list[int] | tuple[int, ...],
    dtype: _dtype,
    device: str | _device,
    low: float | None = ...,
    high: float | None = ...,
    requires_grad: bool = ...,
    noncontiguous: bool = ...,
    exclude_zero: bool = ...,
    memory_format: _memory_format | None = ...,
) -> Tensor: ...
