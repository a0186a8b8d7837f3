"""The earlier name of torch.distributed.tensor.placement_types."""

from ..tensor.placement_types import *  # noqa: F403
from ..tensor.placement_types import __all__  # noqa: F401
