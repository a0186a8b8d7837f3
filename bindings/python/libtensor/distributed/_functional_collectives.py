"""Names of functions over groups of processes, which are not supported."""

from .._inert import declare_unsupported
from . import WHY

__all__ = declare_unsupported(
    globals(), WHY, "all_gather_tensor all_reduce all_to_all_single all_to_all_single_autograd all_gather_tensor_autograd broadcast"
)
__all__ += declare_unsupported(globals(), WHY, "reduce_scatter_tensor wait_tensor AsyncCollectiveTensor")
