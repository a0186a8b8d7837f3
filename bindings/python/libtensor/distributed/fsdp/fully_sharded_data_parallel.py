"""Names of modules whose parameters are spread over processes, which are not supported."""

from ..._inert import refuse
from .. import WHY

__all__ = refuse(globals(), WHY, "FullyShardedDataParallel ShardingStrategy MixedPrecision CPUOffload BackwardPrefetch StateDictType")
__all__ += refuse(globals(), WHY, "FullStateDictConfig FullOptimStateDictConfig ShardedStateDictConfig ShardedOptimStateDictConfig")
__all__ += refuse(globals(), WHY, "LocalStateDictConfig StateDictConfig OptimStateDictConfig FlatParameter")
