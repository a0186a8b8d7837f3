"""Names of modules whose parameters are spread over processes, which are not supported."""

from ..._inert import declare_unsupported
from .. import WHY

__all__ = declare_unsupported(
    globals(), WHY, "FullyShardedDataParallel ShardingStrategy MixedPrecision CPUOffload BackwardPrefetch StateDictType"
)
__all__ += declare_unsupported(
    globals(), WHY, "FullStateDictConfig FullOptimStateDictConfig ShardedStateDictConfig ShardedOptimStateDictConfig"
)
__all__ += declare_unsupported(globals(), WHY, "LocalStateDictConfig StateDictConfig OptimStateDictConfig FlatParameter")
