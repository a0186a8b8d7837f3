"""autocast for CPU devices."""

from __future__ import annotations

import warnings

from ..._base import dtypes as _dtypes
from ..._base.dtypes import dtype as _dtype
from ..._core import autocast as _autocast

__all__ = ["autocast"]


class autocast(_autocast.autocast):
    """amp.autocast for CPU devices. Deprecated: use `amp.autocast("cpu")`."""

    def __init__(self, enabled: bool = True, dtype: _dtype = _dtypes.bfloat16, cache_enabled: bool = True) -> None:
        warnings.warn(
            "`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)
