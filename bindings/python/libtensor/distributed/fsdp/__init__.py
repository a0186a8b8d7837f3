"""Names of modules whose parameters are spread over processes, which are not supported."""

from ..._inert import declare_unsupported
from .. import WHY

__all__ = declare_unsupported(
    globals(), WHY, "FullyShardedDataParallel FSDPModule ShardingStrategy MixedPrecision MixedPrecisionPolicy CPUOffload"
)
__all__ += declare_unsupported(globals(), WHY, "CPUOffloadPolicy OffloadPolicy BackwardPrefetch StateDictType FullStateDictConfig")
