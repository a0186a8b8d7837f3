"""Names of functions over groups of processes that autograd records, which are not supported."""

from ..._inert import declare_unsupported
from .. import WHY

__all__ = declare_unsupported(
    globals(), WHY, "all_gather all_reduce all_to_all all_to_all_single broadcast gather reduce reduce_scatter scatter"
)
