"""Names of files that several processes write, which are not supported: torch.save() writes files."""

from ..._inert import declare_unsupported
from .. import WHY

__all__ = declare_unsupported(
    globals(), WHY, "save load async_save save_state_dict load_state_dict FileSystemReader FileSystemWriter StorageReader"
)
__all__ += declare_unsupported(globals(), WHY, "StorageWriter DefaultLoadPlanner DefaultSavePlanner LoadPlan SavePlan CheckpointException")
