"""Names of state dictionaries of several processes, which are not supported: state_dict() of a module returns its own."""

from ..._inert import declare_unsupported
from .. import WHY

__all__ = declare_unsupported(globals(), WHY, "StateDictOptions get_state_dict set_state_dict get_model_state_dict set_model_state_dict")
__all__ += declare_unsupported(globals(), WHY, "get_optimizer_state_dict set_optimizer_state_dict")
