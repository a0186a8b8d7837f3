"""Shapes of parts of tensors that are spread over processes."""

from ..._inert import declare_unsupported
from .. import WHY

__all__ = declare_unsupported(globals(), WHY, "compute_local_shape_and_global_offset")
