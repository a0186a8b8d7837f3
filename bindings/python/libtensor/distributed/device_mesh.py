"""Names of arrangements of processes, which are not supported."""

from .._inert import refuse
from . import WHY

__all__ = refuse(globals(), WHY, "DeviceMesh init_device_mesh _mesh_resources")
