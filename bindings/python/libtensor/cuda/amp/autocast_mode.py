"""autocast for CUDA devices."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ..._base import dtypes as _dtypes
from ..._base.dtypes import dtype as _dtype
from ..._core import autocast as _autocast
from ...amp import autocast_mode as _any

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(_autocast.autocast):
    """amp.autocast for CUDA devices. Deprecated: use `amp.autocast("cuda")`."""

    def __init__(self, enabled: bool = True, dtype: _dtype = _dtypes.float16, cache_enabled: bool = True) -> None:
        warnings.warn(
            "`torch.cuda.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cuda', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: _dtype | None = None) -> Callable[..., Any]:
    """amp.custom_fwd for CUDA devices. Deprecated: use `amp.custom_fwd(device_type="cuda")`."""
    warnings.warn(
        "`torch.cuda.amp.custom_fwd(args...)` is deprecated. Please use `torch.amp.custom_fwd(args..., device_type='cuda')` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return functools.partial(_any.custom_fwd, device_type="cuda")(fwd, cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """amp.custom_bwd for CUDA devices. Deprecated: use `amp.custom_bwd(device_type="cuda")`."""
    warnings.warn(
        "`torch.cuda.amp.custom_bwd(args...)` is deprecated. Please use `torch.amp.custom_bwd(args..., device_type='cuda')` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return functools.partial(_any.custom_bwd, device_type="cuda")(bwd)
