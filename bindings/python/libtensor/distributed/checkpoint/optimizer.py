"""Names of files of optimizers in several processes, which are not supported."""

from ..._inert import declare_unsupported
from .. import WHY

__all__ = declare_unsupported(globals(), WHY, "load_sharded_optimizer_state_dict")
