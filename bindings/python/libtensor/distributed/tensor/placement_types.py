"""How tensors are spread over processes."""

from ..._inert import refuse
from .. import WHY

__all__ = refuse(globals(), WHY, "Placement Shard Replicate Partial _StridedShard DTensorSpec TensorMeta")
