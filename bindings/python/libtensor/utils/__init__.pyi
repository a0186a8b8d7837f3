from . import checkpoint as checkpoint
from . import dlpack as dlpack
from . import hooks as hooks
