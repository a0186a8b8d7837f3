"""Experimental names of tensors that are spread over processes."""

from ..._inert import refuse
from .. import WHY

__all__ = refuse(globals(), WHY, "context_parallel implicit_replication local_map register_sharding")
