"""Names of functions over groups of processes that autograd records, which are not supported."""

from ..._inert import refuse
from .. import WHY
from . import functional

__all__ = ["functional"]
__all__ += refuse(globals(), WHY, "RemoteModule")
