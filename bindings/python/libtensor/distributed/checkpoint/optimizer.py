"""Names of files of optimizers in several processes, which are not supported."""

from ..._inert import refuse
from .. import WHY

__all__ = refuse(globals(), WHY, "load_sharded_optimizer_state_dict")
