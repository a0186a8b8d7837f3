"""The module that synchronizes gradients between processes, which is not supported."""

from typing import Any

from ..._inert import declare_unsupported
from ...distributed import WHY

DistributedDataParallel: Any

__all__ = declare_unsupported(globals(), WHY, "DistributedDataParallel")
