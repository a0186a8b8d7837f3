"""The module that synchronizes gradients between processes, which is not supported."""

from ..._inert import refuse
from ...distributed import WHY

__all__ = refuse(globals(), WHY, "DistributedDataParallel")
