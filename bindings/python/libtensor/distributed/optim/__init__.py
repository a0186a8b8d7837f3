"""Names of optimizers of several processes, which are not supported."""

from ..._inert import refuse
from .. import WHY

__all__ = refuse(globals(), WHY, "DistributedOptimizer PostLocalSGDOptimizer ZeroRedundancyOptimizer")
