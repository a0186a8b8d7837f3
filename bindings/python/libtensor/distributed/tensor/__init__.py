"""Names of tensors that are spread over processes, which are not supported."""

from typing import Any

from ..._inert import declare_unsupported
from .. import WHY

DTensor: Any
distribute_tensor: Any
distribute_module: Any

__all__ = declare_unsupported(
    globals(), WHY, "DTensor DeviceMesh Placement Shard Replicate Partial distribute_tensor distribute_module init_device_mesh zeros"
)
__all__ += declare_unsupported(globals(), WHY, "ones empty full rand randn")
