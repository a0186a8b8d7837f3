"""Names of plans of writing files, which are not supported."""

from ..._inert import refuse
from .. import WHY

__all__ = refuse(globals(), WHY, "DefaultLoadPlanner DefaultSavePlanner")
