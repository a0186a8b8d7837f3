"""Names of arrangements of processes, which are not supported."""

from .._inert import declare_unsupported
from . import WHY

__all__ = declare_unsupported(globals(), WHY, "DeviceMesh init_device_mesh _mesh_resources")
