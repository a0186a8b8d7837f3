"""Names of groups of processes, which are not supported."""

from .._inert import declare_unsupported
from . import WHY

__all__ = declare_unsupported(globals(), WHY, "_get_default_group _get_default_store _find_pg_by_ranks_and_tag")

from . import Backend, GroupMember, ProcessGroup, ReduceOp, Store, Work, is_initialized, is_nccl_available  # noqa: F401
