"""The module that synchronizes gradients between processes, which is not supported."""

from typing import Any

from ..._inert import refuse
from ...distributed import WHY

DistributedDataParallel: Any

__all__ = refuse(globals(), WHY, "DistributedDataParallel")
