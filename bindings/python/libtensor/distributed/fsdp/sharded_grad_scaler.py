"""The name of a GradScaler of several processes, which is not supported."""

from ..._inert import refuse
from .. import WHY

__all__ = refuse(globals(), WHY, "ShardedGradScaler")
