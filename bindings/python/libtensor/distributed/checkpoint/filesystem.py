"""Names of files of several processes, which are not supported."""

from ..._inert import declare_unsupported
from .. import WHY

__all__ = declare_unsupported(globals(), WHY, "FileSystemReader FileSystemWriter")
