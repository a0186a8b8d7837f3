"""The name of a protocol of objects with a state."""

from ..._inert import refuse
from .. import WHY

__all__ = refuse(globals(), WHY, "Stateful")
