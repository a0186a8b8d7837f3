"""Shapes of parts of tensors that are spread over processes."""

from ..._inert import refuse
from .. import WHY

__all__ = refuse(globals(), WHY, "compute_local_shape_and_global_offset")
