"""Names of modules whose products are spread over processes, which are not supported."""

from ..._inert import refuse
from .. import WHY

__all__ = refuse(globals(), WHY, "ColwiseParallel RowwiseParallel SequenceParallel PrepareModuleInput PrepareModuleOutput ParallelStyle")
__all__ += refuse(globals(), WHY, "parallelize_module loss_parallel")
