"""Names of conversions of files of several processes, which are not supported."""

from ..._inert import declare_unsupported
from .. import WHY

__all__ = declare_unsupported(globals(), WHY, "dcp_to_torch_save torch_save_to_dcp")
