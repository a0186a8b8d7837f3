"""Names of files of several processes, which are not supported."""

from ..._inert import refuse
from .. import WHY

__all__ = refuse(globals(), WHY, "FileSystemReader FileSystemWriter")
