"""Names of options of modules whose parameters are spread over processes."""

from ..._inert import refuse
from .. import WHY

__all__ = refuse(globals(), WHY, "ShardingStrategy MixedPrecision CPUOffload BackwardPrefetch StateDictType FullStateDictConfig")
__all__ += refuse(globals(), WHY, "ShardedStateDictConfig")
