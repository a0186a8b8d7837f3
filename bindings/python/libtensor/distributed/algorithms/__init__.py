"""Names of algorithms of several processes, which are not supported."""

from ..._inert import refuse
from .. import WHY
from . import join as join

__all__ = refuse(globals(), WHY, "Join JoinHook Joinable")
