"""Names of options of modules whose parameters are spread over processes."""

from ..._inert import declare_unsupported
from .. import WHY

__all__ = declare_unsupported(
    globals(), WHY, "ShardingStrategy MixedPrecision CPUOffload BackwardPrefetch StateDictType FullStateDictConfig"
)
__all__ += declare_unsupported(globals(), WHY, "ShardedStateDictConfig")
