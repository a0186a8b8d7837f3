"""Names of the launcher of processes, which is not supported."""

from .._inert import refuse
from . import WHY

__all__ = refuse(globals(), WHY, "launch main")
