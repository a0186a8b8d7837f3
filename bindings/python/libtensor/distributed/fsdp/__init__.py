"""Names of modules whose parameters are spread over processes, which are not supported."""

from ..._inert import refuse
from .. import WHY

__all__ = refuse(globals(), WHY, "FullyShardedDataParallel FSDPModule ShardingStrategy MixedPrecision MixedPrecisionPolicy CPUOffload")
__all__ += refuse(globals(), WHY, "CPUOffloadPolicy OffloadPolicy BackwardPrefetch StateDictType FullStateDictConfig")
