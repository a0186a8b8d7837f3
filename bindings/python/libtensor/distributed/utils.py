"""Helpers of modules in several processes, which are not supported."""

from .._inert import declare_unsupported
from . import WHY

__all__ = declare_unsupported(globals(), WHY, "_sync_module_states _replace_by_prefix _apply_to_tensors")
