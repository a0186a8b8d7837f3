"""Names of tensors that are spread over processes, which are not supported."""

from ..._inert import refuse
from .. import WHY

__all__ = refuse(globals(), WHY, "DTensor DeviceMesh Placement Shard Replicate Partial distribute_tensor distribute_module init_device_mesh zeros")
__all__ += refuse(globals(), WHY, "ones empty full rand randn")
