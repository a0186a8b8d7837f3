"""Names of modules that are spread over processes, which are not supported."""

from ..._inert import refuse
from .. import WHY

__all__ = refuse(globals(), WHY, "checkpoint contract replicate")
