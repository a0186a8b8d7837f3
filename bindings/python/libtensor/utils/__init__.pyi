from . import checkpoint as checkpoint
from . import deterministic as deterministic
from . import dlpack as dlpack
from . import hooks as hooks
