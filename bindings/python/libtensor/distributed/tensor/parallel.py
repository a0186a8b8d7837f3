"""Names of modules whose products are spread over processes, which are not supported."""

from ..._inert import declare_unsupported
from .. import WHY

__all__ = declare_unsupported(
    globals(), WHY, "ColwiseParallel RowwiseParallel SequenceParallel PrepareModuleInput PrepareModuleOutput ParallelStyle"
)
__all__ += declare_unsupported(globals(), WHY, "parallelize_module loss_parallel")
