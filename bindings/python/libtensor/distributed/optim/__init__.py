"""Names of optimizers of several processes, which are not supported."""

from ..._inert import declare_unsupported
from .. import WHY

__all__ = declare_unsupported(globals(), WHY, "DistributedOptimizer PostLocalSGDOptimizer ZeroRedundancyOptimizer")
