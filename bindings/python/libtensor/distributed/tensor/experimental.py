"""Experimental names of tensors that are spread over processes."""

from ..._inert import declare_unsupported
from .. import WHY

__all__ = declare_unsupported(globals(), WHY, "context_parallel implicit_replication local_map register_sharding")
