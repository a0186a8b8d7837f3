"""The earlier name of torch.distributed.tensor.experimental."""

from ..tensor.experimental import *  # noqa: F403
from ..tensor.experimental import __all__  # noqa: F401
