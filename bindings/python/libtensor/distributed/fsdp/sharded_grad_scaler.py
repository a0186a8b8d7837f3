"""The name of a GradScaler of several processes, which is not supported."""

from ..._inert import declare_unsupported
from .. import WHY

__all__ = declare_unsupported(globals(), WHY, "ShardedGradScaler")
