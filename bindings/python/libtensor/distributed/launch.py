"""Names of the launcher of processes, which is not supported."""

from .._inert import declare_unsupported
from . import WHY

__all__ = declare_unsupported(globals(), WHY, "launch main")
