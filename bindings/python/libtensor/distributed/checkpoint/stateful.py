"""The name of a protocol of objects with a state."""

from ..._inert import declare_unsupported
from .. import WHY

__all__ = declare_unsupported(globals(), WHY, "Stateful")
