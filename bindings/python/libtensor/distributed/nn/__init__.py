"""Names of functions over groups of processes that autograd records, which are not supported."""

from ..._inert import declare_unsupported
from .. import WHY
from . import functional

__all__ = ["functional"]
__all__ += declare_unsupported(globals(), WHY, "RemoteModule")
