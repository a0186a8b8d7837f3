"""How tensors are spread over processes."""

from ..._inert import declare_unsupported
from .. import WHY

__all__ = declare_unsupported(globals(), WHY, "Placement Shard Replicate Partial _StridedShard DTensorSpec TensorMeta")
